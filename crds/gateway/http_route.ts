/**
 * HTTPRoute: which requests go to which backends.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import { standardSince17 } from "../schema/surface.ts";
import { httpRouteRule } from "./http_route_rule.ts";
import { gatewayGroup } from "./names.ts";
import {
  commonRouteShape,
  fewMatches,
  routeColumns,
  routeHostnames,
  routeStatus,
  uniqueRuleNames,
} from "./route.ts";

const schema = resource("HTTPRoute", {
  spec: k.required(
    k.object({
      ...commonRouteShape,
      hostnames: k.optional(
        routeHostnames,
        "Hostnames that the route is for; all of its listeners' if absent.",
      ),
      rules: k.defaulted(
        k.list(httpRouteRule, {
          minItems: 1,
          maxItems: 16,
          rules: [uniqueRuleNames(standardSince17), fewMatches],
        }),
        [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }],
        "What is done with which requests.",
      ),
    }),
    "What is desired.",
  ),
  status: k.optional(routeStatus, "What controllers found."),
});

export type HTTPRoute = ObjectOf<typeof schema>;

export const httpRoute = defineKind<HTTPRoute>(
  { group: gatewayGroup, kind: "HTTPRoute", plural: "httproutes", categories: ["gateway-api"] },
  version("v1", schema, { columns: routeColumns }),
  version("v1beta1", schema, { columns: routeColumns }),
);
