/**
 * TCPRoute and UDPRoute, and what TLSRoute has in common with them: one rule, which only names backends.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import { experimental } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { gatewayGroup } from "./names.ts";
import { backendRef } from "./references.ts";
import { commonRouteShape, routeStatus, ruleName, uniqueRuleNames } from "./route.ts";

const rule = k.object({
  name: ruleName,
  backendRefs: k.required(
    k.list(backendRef, { minItems: 1, maxItems: 16 }),
    "Where connections go, by weight.",
  ),
});
export type L4RouteRule = Infer<typeof rule>;

export const oneRule = k.required(k.list(rule, { minItems: 1, maxItems: 1 }), "Where connections go.");

/** What the alpha versions had, though nothing but the first rule ever mattered. */
export const severalRules = k.required(
  k.list(rule, { minItems: 1, maxItems: 16, rules: [uniqueRuleNames(experimental)] }),
  "Where connections go.",
);

export const routeStatusField = k.optional(routeStatus, "What controllers found.");

const schema = <const K extends "TCPRoute" | "UDPRoute", R extends typeof oneRule>(kind: K, rules: R) =>
  resource(kind, {
    spec: k.required(k.object({ ...commonRouteShape, rules }), "What is desired."),
    status: routeStatusField,
  });

const tcp = schema("TCPRoute", oneRule);
const udp = schema("UDPRoute", oneRule);

export type TCPRoute = ObjectOf<typeof tcp>;
export type UDPRoute = ObjectOf<typeof udp>;

export const alpha = { channel: "experimental", deprecated: true } as const;

export const tcpRoute = defineKind<TCPRoute>(
  { group: gatewayGroup, kind: "TCPRoute", plural: "tcproutes", categories: ["gateway-api"] },
  version("v1", tcp),
  version("v1alpha2", schema("TCPRoute", severalRules), alpha),
);

export const udpRoute = defineKind<UDPRoute>(
  { group: gatewayGroup, kind: "UDPRoute", plural: "udproutes", categories: ["gateway-api"] },
  version("v1", udp),
  version("v1alpha2", schema("UDPRoute", severalRules), alpha),
);
