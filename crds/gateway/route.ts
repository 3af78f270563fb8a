/**
 * What all kinds of routes share: parents, hostnames, names of rules, status.
 *
 * @module
 */
import { age } from "../define.ts";
import type { Column } from "../kind.ts";
import { conditions } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Rule } from "../schema/facts.ts";
import { type Availability, experimental } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { controllerName, hostname, sectionName } from "./names.ts";
import { parentReference, parentRefs } from "./references.ts";

export const commonRouteShape = {
  parentRefs: k.optional(parentRefs, "Gateways, listeners or ListenerSets to attach to."),
  useDefaultGateways: k.optional(
    k.enumeration("All", "None"),
    "Whether Gateways that offer themselves to all routes take this one.",
    experimental,
  ),
};

export const routeHostnames = k.list(hostname, { maxItems: 16 });

export const ruleName = k.optional(sectionName, "Name of the rule, unique in the route.");

export const uniqueRuleNames = (available?: Availability): Rule<readonly { readonly name?: string }[]> => ({
  message: "Rule name must be unique within the route",
  holds: (rules) => {
    const names = rules.flatMap((rule) => rule.name === undefined ? [] : [rule.name]);
    return new Set(names).size === names.length;
  },
  ...(available ? { in: available } : {}),
});

export const fewMatches: Rule<readonly { readonly matches?: readonly unknown[] }[]> = {
  message:
    "While 16 rules and 64 matches per rule are allowed, the total number of matches across all rules in a " +
    "route must be less than 128",
  holds: (rules) => rules.reduce((total, rule) => total + (rule.matches?.length ?? 0), 0) <= 128,
};

export const routeParentStatus = k.object({
  parentRef: k.required(parentReference, "The entry of spec.parentRefs that this is about."),
  controllerName: k.required(controllerName, "Who wrote this."),
  conditions: k.required(
    k.mapList(["type"], conditions.element, { minItems: 1, maxItems: 8 }),
    "How the route fares with this parent.",
  ),
});
export type RouteParentStatus = Infer<typeof routeParentStatus>;

export const routeStatus = k.object({
  parents: k.required(k.list(routeParentStatus, { maxItems: 32 }), "One entry per parent and controller."),
});
export type RouteStatus = Infer<typeof routeStatus>;

export const routeColumns: readonly Column[] = [
  { name: "Hostnames", type: "string", jsonPath: ".spec.hostnames" },
  age,
];
