/**
 * Filters of HTTPRoute, GRPCRoute and listeners: one schema each, composed differently per kind.
 *
 * @module
 */
import * as k from "../schema/build.ts";
import type { Rule } from "../schema/facts.ts";
import {
  type Availability,
  experimental,
  experimentalSince17,
  experimentalUntil16,
  standardOnly,
} from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { headerName } from "./names.ts";
import { backendObjectReference, localObjectReference } from "./references.ts";

export const headerValuePattern = String.raw`^[!-~]+([\t ]?[!-~]+)*$`;

/** Visible characters with single blanks between them; the standard channel does not look at the characters. */
export const headerValue = k.varying(
  [
    experimental,
    k.string({
      minLength: 1,
      maxLength: 4096,
      pattern: headerValuePattern,
      safePattern: /^[!-~]+(?:[\t ][!-~]+)*$/,
    }),
  ],
  [standardOnly, k.string({ minLength: 1, maxLength: 4096 })],
);

const httpHeader = k.object({
  name: k.required(headerName, "Name of the header; case does not matter."),
  value: k.required(headerValue, "Value of the header."),
});

export const headerModifier = k.object({
  set: k.optional(k.mapList(["name"], httpHeader, { maxItems: 16 }), "Headers to overwrite."),
  add: k.optional(
    k.mapList(["name"], httpHeader, { maxItems: 16 }),
    "Headers to add to those that are there.",
  ),
  remove: k.optional(k.set(k.string(), { maxItems: 16 }), "Names of headers to take away."),
});
export type HTTPHeaderFilter = Infer<typeof headerModifier>;

export const requestMirror = k.object({
  backendRef: k.required(backendObjectReference, "Where copies of the requests go; its answers are ignored."),
  percent: k.optional(
    k.integer({ format: "int32", minimum: 0, maximum: 100 }),
    "Share of requests, in percent.",
  ),
  fraction: k.optional(
    k.object({
      numerator: k.required(k.integer({ format: "int32", minimum: 0 }), "How many"),
      denominator: k.defaulted(k.integer({ format: "int32", minimum: 1 }), 100, "of how many."),
    }, {
      rules: [{
        message: "numerator must be less than or equal to denominator",
        holds: (fraction) => fraction.numerator <= fraction.denominator,
      }],
    }),
    "Share of requests, as a fraction.",
  ),
}, {
  rules: [{
    message: "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
    holds: (mirror) => mirror.percent === undefined || mirror.fraction === undefined,
  }],
});
export type HTTPRequestMirrorFilter = Infer<typeof requestMirror>;

const allowedHeaders = k.set(k.string(), { maxItems: 64 });

export const externalAuth = k.object({
  protocol: k.required(k.enumeration("HTTP", "GRPC"), "How the authorization service is asked."),
  backendRef: k.required(backendObjectReference, "The authorization service."),
  grpc: k.optional(
    k.object({ allowedHeaders: k.optional(allowedHeaders, "Request headers that the service is told.") }),
    "For protocol GRPC: Envoy's ext_authz.",
  ),
  http: k.optional(
    k.object({
      path: k.optional(
        k.string({ maxLength: 1024, pattern: "^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$" }),
        "Prefix of the path that the service is asked with.",
      ),
      allowedHeaders: k.optional(allowedHeaders, "Request headers that the service is told."),
      allowedResponseHeaders: k.optional(
        allowedHeaders,
        "Response headers of the service that the request gets.",
      ),
    }),
    "For protocol HTTP: 200 allows, anything else is the answer.",
  ),
  forwardBody: k.optional(
    k.object({
      maxSize: k.optional(
        k.varying(
          [experimentalSince17, k.integer({ format: "int32", minimum: 0 })],
          [experimentalUntil16, k.integer()],
        ),
        "Bytes of the body that the service is told; 0 for none.",
      ),
    }),
    "Whether the service sees the body.",
  ),
}, {
  rules: [
    {
      message: "grpc must be specified when protocol is set to 'GRPC'",
      holds: (auth) => auth.protocol !== "GRPC" || auth.grpc !== undefined,
    },
    {
      message: "protocol must be 'GRPC' when grpc is set",
      holds: (auth) => auth.grpc === undefined || auth.protocol === "GRPC",
    },
    {
      message: "http must be specified when protocol is set to 'HTTP'",
      holds: (auth) => auth.protocol !== "HTTP" || auth.http !== undefined,
    },
    {
      message: "protocol must be 'HTTP' when http is set",
      holds: (auth) => auth.http === undefined || auth.protocol === "HTTP",
    },
  ],
});
export type HTTPExternalAuthFilter = Infer<typeof externalAuth>;

export const extensionRef = localObjectReference;

/** A filter has the field that its type names, and no other. */
export function unionRules(
  members: { readonly [type: string]: { readonly field: string; readonly in?: Availability } },
): Rule<{ readonly type: string }>[] {
  return Object.entries(members).flatMap(([type, { field, ...available }]) => {
    const has = (filter: object) => (filter as { readonly [name: string]: unknown })[field] !== undefined;
    return [
      {
        message: `filter.${field} must be nil if the filter.type is not ${type}`,
        holds: (filter) => !has(filter) || filter.type === type,
        ...available,
      },
      {
        message: `filter.${field} must be specified for ${type} filter.type`,
        holds: (filter) => has(filter) || filter.type !== type,
        ...available,
      },
    ] satisfies Rule<{ readonly type: string }>[];
  });
}

/** At most one filter of each of these types. */
export const onceRules = (...types: readonly string[]): Rule<readonly { readonly type: string }[]>[] =>
  types.map((type) => ({
    message: `${type} filter cannot be repeated`,
    holds: (filters) => filters.filter((filter) => filter.type === type).length <= 1,
  }));
