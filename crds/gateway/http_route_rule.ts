/**
 * The rules of an HTTPRoute: matches, filters, backends.
 *
 * @module
 */
import * as k from "../schema/build.ts";
import type { Rule } from "../schema/facts.ts";
import { durationMs } from "../schema/formats.ts";
import { experimental, experimentalUntil16, since17, standardSince17 } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { headerValue } from "./filters.ts";
import { httpMethod, type HTTPRouteFilter, httpRouteFilters } from "./http_filters.ts";
import { duration, headerName } from "./names.ts";
import { backendRefFacts, backendRefShape } from "./references.ts";
import { ruleName } from "./route.ts";
import { sessionPersistence } from "./session_persistence.ts";

interface PathMatch {
  readonly type: string;
  readonly value: string;
}

const literal = (path: PathMatch) => path.type === "Exact" || path.type === "PathPrefix";
const characters = "^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$";
const validCharacters = new RegExp(characters);

const must = (message: string, holds: (value: string) => boolean): Rule<PathMatch> => ({
  message,
  holds: (path) => !literal(path) || holds(path.value),
});

const pathMatch = k.object({
  type: k.defaulted(
    k.enumeration("Exact", "PathPrefix", "RegularExpression"),
    "PathPrefix",
    "How the value is compared with the path.",
  ),
  value: k.defaulted(k.string({ maxLength: 1024 }), "/", "The path, prefix or regular expression."),
}, {
  rules: [
    must(
      "value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']",
      (value) => value.startsWith("/"),
    ),
    ...["//", "/./", "/../", "%2f", "%2F", "#"].map((part) =>
      must(
        `must not contain '${part}' when type one of ['Exact', 'PathPrefix']`,
        (value) => !value.includes(part),
      )
    ),
    ...["/..", "/."].map((end) =>
      must(
        `must not end with '${end}' when type one of ['Exact', 'PathPrefix']`,
        (value) => !value.endsWith(end),
      )
    ),
    {
      message: "type must be one of ['Exact', 'PathPrefix', 'RegularExpression']",
      holds: (path) => literal(path) || path.type === "RegularExpression",
    },
    must(
      `must only contain valid characters (matching ${characters}) for types ['Exact', 'PathPrefix']`,
      (value) => validCharacters.test(value),
    ),
  ],
});
export type HTTPPathMatch = Infer<typeof pathMatch>;

/** How a header or a query parameter is compared. */
export const matchType = k.defaulted(
  k.enumeration("Exact", "RegularExpression"),
  "Exact",
  "How the value is compared.",
);

const httpRouteMatch = k.object({
  path: k.defaulted(pathMatch, { type: "PathPrefix", value: "/" }, "What the path has to be."),
  headers: k.optional(
    k.mapList(
      ["name"],
      k.object({
        type: matchType,
        name: k.required(headerName, "Name of the header; case does not matter."),
        value: k.required(headerValue, "What the header has to be."),
      }),
      { maxItems: 16 },
    ),
    "Headers that all have to match.",
  ),
  queryParams: k.optional(
    k.mapList(
      ["name"],
      k.object({
        type: matchType,
        name: k.required(headerName, "Name of the query parameter."),
        value: k.required(k.string({ minLength: 1, maxLength: 1024 }), "What the parameter has to be."),
      }),
      { maxItems: 16 },
    ),
    "Query parameters that all have to match.",
  ),
  method: k.optional(httpMethod, "What the method has to be."),
});
export type HTTPRouteMatch = Infer<typeof httpRouteMatch>;

const httpBackendRef = k.object({
  ...backendRefShape,
  filters: k.optional(httpRouteFilters, "Filters for requests to this backend alone."),
}, backendRefFacts);
export type HTTPBackendRef = Infer<typeof httpBackendRef>;

const timeouts = k.object({
  request: k.optional(duration, "For the whole answer; 0s for no limit."),
  backendRequest: k.optional(duration, "For each attempt of the backend; 0s for no limit."),
}, {
  rules: [{
    message: "backendRequest timeout cannot be longer than request timeout",
    holds: ({ request, backendRequest }) => {
      if (request === undefined || backendRequest === undefined) return true;
      const whole = durationMs(request) ?? 0;
      return whole === 0 || (durationMs(backendRequest) ?? 0) <= whole;
    },
  }],
});
export type HTTPRouteTimeouts = Infer<typeof timeouts>;

const retry = k.object({
  codes: k.optional(
    k.set(k.integer({ minimum: 400, maximum: 599 })),
    "Statuses that are worth another attempt.",
  ),
  attempts: k.varying(
    [
      experimentalUntil16,
      k.optional(k.integer({ minimum: 1 }), "How often to try again."),
    ],
    [
      since17,
      k.defaulted(k.integer({ minimum: 0 }), 1, "How often to try again; 0 for not at all."),
    ],
  ),
  backoff: k.optional(duration, "The least time between two attempts."),
});
export type HTTPRouteRetry = Infer<typeof retry>;

interface Replacing {
  readonly requestRedirect?: {
    readonly path?: { readonly type: string; readonly replacePrefixMatch?: string };
  };
  readonly urlRewrite?: { readonly path?: { readonly type: string; readonly replacePrefixMatch?: string } };
}

interface RuleParts {
  readonly matches: readonly { readonly path: PathMatch }[];
  readonly filters?: readonly Replacing[];
  readonly backendRefs?: readonly { readonly filters?: readonly Replacing[] }[];
}

/** CEL's `exists_one`. */
const existsOne = <T>(items: readonly T[] | undefined, test: (item: T) => boolean): boolean =>
  items?.filter(test).length === 1;

function replacesPrefix(filters: readonly Replacing[] | undefined, field: keyof Replacing): boolean {
  return existsOne(filters, (filter) => {
    const path = filter[field]?.path;
    return path?.type === "ReplacePrefixMatch" && path.replacePrefixMatch !== undefined;
  });
}

const onePrefix = (rule: RuleParts): boolean =>
  rule.matches.length === 1 && rule.matches[0]?.path?.type === "PathPrefix";

const exactlyOne = "path.replacePrefixMatch, exactly one PathPrefix match must be specified";

const prefixRules: readonly Rule<RuleParts>[] = [
  {
    message: `When using RequestRedirect filter with ${exactlyOne}`,
    holds: (rule) => !replacesPrefix(rule.filters, "requestRedirect") || onePrefix(rule),
  },
  {
    message: `When using URLRewrite filter with ${exactlyOne}`,
    holds: (rule) => !replacesPrefix(rule.filters, "urlRewrite") || onePrefix(rule),
  },
  {
    message: `Within backendRefs, when using RequestRedirect filter with ${exactlyOne}`,
    holds: (rule) =>
      !existsOne(rule.backendRefs, (ref) => replacesPrefix(ref.filters, "requestRedirect")) ||
      onePrefix(rule),
  },
  {
    message: `Within backendRefs, When using URLRewrite filter with ${exactlyOne}`,
    holds: (rule) =>
      !existsOne(rule.backendRefs, (ref) => replacesPrefix(ref.filters, "urlRewrite")) || onePrefix(rule),
  },
];

export const httpRouteRule = k.object({
  name: ruleName,
  matches: k.defaulted(
    k.list(httpRouteMatch, { maxItems: 64 }),
    [{ path: { type: "PathPrefix", value: "/" } }],
    "Requests that the rule is for: those that fit one of these.",
  ),
  filters: k.optional(httpRouteFilters, "What is done with requests and responses."),
  backendRefs: k.optional(k.list(httpBackendRef, { maxItems: 16 }), "Where requests go, by weight."),
  timeouts: k.optional(timeouts, "How long answers may take."),
  retry: k.optional(retry, "When requests are sent again.", standardSince17),
  sessionPersistence: k.optional(sessionPersistence, "Keeps sessions with a backend.", experimental),
}, {
  rules: [
    {
      message: "RequestRedirect filter must not be used together with backendRefs",
      holds: (rule) =>
        !rule.backendRefs?.length ||
        !rule.filters?.some((filter: HTTPRouteFilter) => filter.requestRedirect !== undefined),
    },
    ...prefixRules,
  ],
});
export type HTTPRouteRule = Infer<typeof httpRouteRule>;
