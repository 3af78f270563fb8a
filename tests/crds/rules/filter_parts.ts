/**
 * Filters to make cases with.
 *
 * @module
 */
import { backend, cases, type Json, type RuleCase } from "./case.ts";

export const mirror = (filter: Json): Json => ({
  type: "RequestMirror",
  requestMirror: { backendRef: backend, ...filter },
});
export const headers: Json = { set: [{ name: "x", value: "y" }] };
export const requestHeaders: Json = { type: "RequestHeaderModifier", requestHeaderModifier: headers };
export const responseHeaders: Json = { type: "ResponseHeaderModifier", responseHeaderModifier: headers };
export const redirect = (path?: Json): Json => ({
  type: "RequestRedirect",
  requestRedirect: path ? { path } : {},
});
export const rewrite = (path?: Json): Json => ({ type: "URLRewrite", urlRewrite: path ? { path } : {} });
export const cors: Json = { type: "CORS", cors: {} };
export const extension: Json = { group: "example.com", kind: "Filter", name: "f" };
export const grpcAuth: Json = { protocol: "GRPC", backendRef: backend, grpc: {} };
export function unionCases(
  kinds: readonly string[],
  type: string,
  field: string,
  settings: Json,
  at: string,
  make: (filter: Json) => Json,
  other: Json,
): RuleCase[] {
  return cases(kinds, at, make as (parts: never) => Json, [
    [
      `filter.${field} must be nil if the filter.type is not ${type}`,
      other,
      { ...other, [field]: settings },
    ],
    [`filter.${field} must be specified for ${type} filter.type`, { type, [field]: settings }, { type }],
  ]);
}

export const auth = (externalAuth: Json): Json => ({ type: "ExternalAuth", externalAuth });

export const authTable = [
  ["grpc must be specified when protocol is set to 'GRPC'", grpcAuth, {
    protocol: "GRPC",
    backendRef: backend,
  }],
  [
    "protocol must be 'GRPC' when grpc is set",
    { protocol: "HTTP", backendRef: backend, http: {} },
    { protocol: "HTTP", backendRef: backend, http: {}, grpc: {} },
  ],
  [
    "http must be specified when protocol is set to 'HTTP'",
    { protocol: "HTTP", backendRef: backend, http: { path: "/auth" } },
    { protocol: "HTTP", backendRef: backend },
  ],
  ["protocol must be 'HTTP' when http is set", grpcAuth, { ...grpcAuth, http: {} }],
] as const;
