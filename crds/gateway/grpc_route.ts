/**
 * GRPCRoute: which calls go to which backends.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import { experimental, standardSince17 } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { extensionRef, headerModifier, onceRules, requestMirror, unionRules } from "./filters.ts";
import { matchType } from "./http_route_rule.ts";
import { gatewayGroup, headerName } from "./names.ts";
import { backendRefFacts, backendRefShape } from "./references.ts";
import {
  commonRouteShape,
  fewMatches,
  routeColumns,
  routeHostnames,
  routeStatus,
  ruleName,
  uniqueRuleNames,
} from "./route.ts";
import { sessionPersistence } from "./session_persistence.ts";

const servicePattern = String.raw`^(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$`;
const service = /^\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$/i;
const method = /^[A-Za-z_][A-Za-z_0-9]*$/;

const methodMatch = k.object({
  type: matchType,
  service: k.optional(k.string({ maxLength: 1024 }), "What the service has to be."),
  method: k.optional(k.string({ maxLength: 1024 }), "What the method has to be."),
}, {
  rules: [
    {
      message: "One or both of 'service' or 'method' must be specified",
      holds: (match) => match.service !== undefined || match.method !== undefined,
    },
    {
      message: `service must only contain valid characters (matching ${servicePattern})`,
      holds: (match) => match.type !== "Exact" || match.service === undefined || service.test(match.service),
    },
    {
      message: `method must only contain valid characters (matching ${method.source})`,
      holds: (match) => match.type !== "Exact" || match.method === undefined || method.test(match.method),
    },
  ],
});
export type GRPCMethodMatch = Infer<typeof methodMatch>;

const grpcRouteMatch = k.object({
  method: k.optional(methodMatch, "What service and method have to be."),
  headers: k.optional(
    k.mapList(
      ["name"],
      k.object({
        type: matchType,
        name: k.required(headerName, "Name of the header; case does not matter."),
        value: k.required(k.string({ minLength: 1, maxLength: 4096 }), "What the header has to be."),
      }),
      { maxItems: 16 },
    ),
    "Headers that all have to match.",
  ),
});
export type GRPCRouteMatch = Infer<typeof grpcRouteMatch>;

const grpcRouteFilter = k.object({
  type: k.required(
    k.enumeration("ResponseHeaderModifier", "RequestHeaderModifier", "RequestMirror", "ExtensionRef"),
    "Which one this is; the field of that name has its settings.",
  ),
  requestHeaderModifier: k.optional(headerModifier, "Changes headers of the request."),
  responseHeaderModifier: k.optional(headerModifier, "Changes headers of the response."),
  requestMirror: k.optional(requestMirror, "Sends copies of requests elsewhere."),
  extensionRef: k.optional(extensionRef, "A filter of the implementation."),
}, {
  rules: unionRules({
    RequestHeaderModifier: { field: "requestHeaderModifier" },
    ResponseHeaderModifier: { field: "responseHeaderModifier" },
    RequestMirror: { field: "requestMirror" },
    ExtensionRef: { field: "extensionRef" },
  }),
});
export type GRPCRouteFilter = Infer<typeof grpcRouteFilter>;

const grpcRouteFilters = k.list(grpcRouteFilter, {
  maxItems: 16,
  rules: onceRules("RequestHeaderModifier", "ResponseHeaderModifier"),
});

const grpcBackendRef = k.object({
  ...backendRefShape,
  filters: k.optional(grpcRouteFilters, "Filters for calls to this backend alone."),
}, backendRefFacts);
export type GRPCBackendRef = Infer<typeof grpcBackendRef>;

const grpcRouteRule = k.object({
  name: ruleName,
  matches: k.optional(
    k.list(grpcRouteMatch, { maxItems: 64 }),
    "Calls that the rule is for: those that fit one of these, or all if there are none.",
  ),
  filters: k.optional(grpcRouteFilters, "What is done with calls and answers."),
  backendRefs: k.optional(k.list(grpcBackendRef, { maxItems: 16 }), "Where calls go, by weight."),
  sessionPersistence: k.optional(sessionPersistence, "Keeps sessions with a backend.", experimental),
});
export type GRPCRouteRule = Infer<typeof grpcRouteRule>;

const schema = resource("GRPCRoute", {
  spec: k.required(
    k.object({
      ...commonRouteShape,
      hostnames: k.optional(
        routeHostnames,
        "Hostnames that the route is for; all of its listeners' if absent.",
      ),
      rules: k.optional(
        k.list(grpcRouteRule, {
          maxItems: 16,
          rules: [fewMatches, uniqueRuleNames(standardSince17)],
        }),
        "What is done with which calls.",
      ),
    }),
    "What is desired.",
  ),
  status: k.optional(routeStatus, "What controllers found."),
});

export type GRPCRoute = ObjectOf<typeof schema>;

export const grpcRoute = defineKind<GRPCRoute>(
  { group: gatewayGroup, kind: "GRPCRoute", plural: "grpcroutes", categories: ["gateway-api"] },
  version("v1", schema, { columns: routeColumns }),
);
