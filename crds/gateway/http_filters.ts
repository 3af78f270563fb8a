/**
 * The filters of HTTPRoute.
 *
 * @module
 */
import * as k from "../schema/build.ts";
import type { Rule } from "../schema/facts.ts";
import { experimental, standardOnly } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import {
  extensionRef,
  externalAuth,
  headerModifier,
  onceRules,
  requestMirror,
  unionRules,
} from "./filters.ts";
import { headerName, port, preciseHostname } from "./names.ts";

const pathModifier = k.object({
  type: k.required(
    k.enumeration("ReplaceFullPath", "ReplacePrefixMatch"),
    "How much of the path is replaced.",
  ),
  replaceFullPath: k.optional(k.string({ maxLength: 1024 }), "The new path."),
  replacePrefixMatch: k.optional(k.string({ maxLength: 1024 }), "What comes instead of the matched prefix."),
}, {
  rules: [
    {
      message: "replaceFullPath must be specified when type is set to 'ReplaceFullPath'",
      holds: (path) => path.type !== "ReplaceFullPath" || path.replaceFullPath !== undefined,
    },
    {
      message: "type must be 'ReplaceFullPath' when replaceFullPath is set",
      holds: (path) => path.replaceFullPath === undefined || path.type === "ReplaceFullPath",
    },
    {
      message: "replacePrefixMatch must be specified when type is set to 'ReplacePrefixMatch'",
      holds: (path) => path.type !== "ReplacePrefixMatch" || path.replacePrefixMatch !== undefined,
    },
    {
      message: "type must be 'ReplacePrefixMatch' when replacePrefixMatch is set",
      holds: (path) => path.replacePrefixMatch === undefined || path.type === "ReplacePrefixMatch",
    },
  ],
});
export type HTTPPathModifier = Infer<typeof pathModifier>;

const requestRedirect = k.object({
  scheme: k.optional(k.enumeration("http", "https"), "Scheme of the new location."),
  hostname: k.optional(preciseHostname, "Hostname of the new location."),
  path: k.optional(pathModifier, "Path of the new location."),
  port: k.optional(port, "Port of the new location."),
  statusCode: k.defaulted(k.integers(301, 302, 303, 307, 308), 302, "Status of the answer."),
});
export type HTTPRequestRedirectFilter = Infer<typeof requestRedirect>;

const urlRewrite = k.object({
  hostname: k.optional(preciseHostname, "The Host header that the backend sees."),
  path: k.optional(pathModifier, "The path that the backend sees."),
});
export type HTTPURLRewriteFilter = Infer<typeof urlRewrite>;

const loneStar = (message: string): Rule<readonly string[]> => ({
  message,
  holds: (values) => values.length <= 1 || !values.includes("*"),
});

export const httpMethods = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "CONNECT",
  "OPTIONS",
  "TRACE",
  "PATCH",
] as const;
export const httpMethod = k.enumeration(...httpMethods);

const cors = k.object({
  allowOrigins: k.optional(
    k.set(
      k.string({
        minLength: 1,
        maxLength: 253,
        pattern: String
          .raw`(^\*$)|(^(http(s)?):\/\/(((\*\.)?([a-zA-Z0-9\-]+\.)*[a-zA-Z0-9-]+|\*)(:([0-9]{1,5}))?)$)`,
      }),
      { maxItems: 64, rules: [loneStar("AllowOrigins cannot contain '*' alongside other origins")] },
    ),
    "Origins whose pages may call, perhaps with wildcards.",
  ),
  allowCredentials: k.optional(k.boolean(), "Whether cookies and other credentials may come along."),
  allowMethods: k.optional(
    k.set(k.enumeration(...httpMethods, "*"), {
      maxItems: 9,
      rules: [loneStar("AllowMethods cannot contain '*' alongside other methods")],
    }),
    "Methods that may be used.",
  ),
  allowHeaders: k.optional(
    k.set(headerName, {
      maxItems: 64,
      rules: [loneStar("AllowHeaders cannot contain '*' alongside other methods")],
    }),
    "Request headers that may be used.",
  ),
  exposeHeaders: k.optional(k.set(headerName, { maxItems: 64 }), "Response headers that pages may read."),
  maxAge: k.defaulted(
    k.integer({ format: "int32", minimum: 1 }),
    5,
    "Seconds for which a browser may remember the answer.",
  ),
});
export type HTTPCORSFilter = Infer<typeof cors>;

const standardTypes = [
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
  "RequestMirror",
  "RequestRedirect",
  "URLRewrite",
  "ExtensionRef",
  "CORS",
] as const;

const httpRouteFilter = k.object({
  type: k.required(
    k.varying(
      [experimental, k.enumeration(...standardTypes, "ExternalAuth")],
      [standardOnly, k.enumeration(...standardTypes)],
    ),
    "Which one this is; the field of that name has its settings.",
  ),
  requestHeaderModifier: k.optional(headerModifier, "Changes headers of the request."),
  responseHeaderModifier: k.optional(headerModifier, "Changes headers of the response."),
  requestMirror: k.optional(requestMirror, "Sends copies of requests elsewhere."),
  requestRedirect: k.optional(requestRedirect, "Answers with a redirect."),
  urlRewrite: k.optional(urlRewrite, "Changes what the backend sees of the URL."),
  cors: k.optional(cors, "Answers cross-origin requests."),
  externalAuth: k.optional(externalAuth, "Asks a service whether a request may pass.", experimental),
  extensionRef: k.optional(extensionRef, "A filter of the implementation."),
}, {
  rules: unionRules({
    CORS: { field: "cors" },
    RequestHeaderModifier: { field: "requestHeaderModifier" },
    ResponseHeaderModifier: { field: "responseHeaderModifier" },
    RequestMirror: { field: "requestMirror" },
    RequestRedirect: { field: "requestRedirect" },
    URLRewrite: { field: "urlRewrite" },
    ExtensionRef: { field: "extensionRef" },
    ExternalAuth: { field: "externalAuth", in: experimental },
  }),
});
export type HTTPRouteFilter = Infer<typeof httpRouteFilter>;

export const httpRouteFilters = k.list(httpRouteFilter, {
  maxItems: 16,
  rules: [
    {
      message:
        "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both",
      holds: (filters) =>
        !filters.some((one) => one.type === "RequestRedirect") ||
        !filters.some((one) => one.type === "URLRewrite"),
    },
    ...onceRules("CORS", "RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite"),
  ],
});
