/**
 * What the status of a route has to say, parent by parent.
 *
 * @module
 */
import type { Verdict } from "../ir/mod.ts";
import type { Attachment, Parent } from "./attach.ts";
import { condition, type DesiredCondition, enumerate, type Fault, join } from "./conditions.ts";
import type { Placement, Served } from "./placements.ts";
import { heldBack, notAccepted, pendingOf, programmed } from "./progress.ts";
import type { ResolvedRoute } from "./rules.ts";
import type { DesiredStatus } from "./statuses.ts";

/** What the status of a route depends on besides its attachment. */
export interface RouteFacts {
  readonly resolved: ResolvedRoute;
  readonly verdict: (gateway: string) => Verdict | undefined;
  readonly served: (gateway: string) => Served | undefined;
  readonly placement: (gateway: string) => Placement | undefined;
  /** Whether it is too large to be served for hostnames that other routes name. */
  readonly leftOut: (served: Served) => boolean;
  /** How many proxies a Gateway is expected to have; `undefined` if there is none yet. */
  readonly proxies: (gateway: string) => number | undefined;
}

export function routeStatus({ kind, generation, parents }: Attachment, facts: RouteFacts): DesiredStatus {
  return {
    kind,
    generation,
    parents: parents.map((parent) => ({
      parentRef: parent.ref,
      conditions: parentConditions(parent, generation, facts),
    })),
  };
}

function parentConditions(
  { gateway, refused, listeners }: Parent,
  generation: number,
  { resolved, verdict, served, placement, leftOut, proxies }: RouteFacts,
): readonly DesiredCondition[] {
  const { rules, unresolved } = resolved;
  const placed = placement(gateway)?.listeners.some(({ id }) => listeners.some((one) => one.id === id));
  const here = refused || !placed ? undefined : served(gateway);
  const progress = refused
    ? { reason: "Invalid", message: notAccepted }
    : here === undefined
    ? { reason: "Invalid", message: "Not programmed, since no listener that it is attached to is served" }
    : rejectionFault(here) ?? (leftOut(here) ? tooLarge : undefined) ??
      pendingOf(generation, verdict(gateway), proxies(gateway));
  const [first] = unresolved;
  const partial = refused ? undefined : partiallyInvalid(rules.length, droppedRules(resolved, here));
  return [
    condition("Accepted", refused, { reason: "Accepted", message: "The route is attached" }),
    condition(
      "ResolvedRefs",
      first && { reason: first.reason, message: join(unresolved.map(({ message }) => message)) },
      { reason: "ResolvedRefs", message: "Every reference is resolved" },
    ),
    condition("Programmed", progress, programmed(verdict(gateway))),
    ...partial ? [partial] : [],
  ];
}

const tooLarge: Fault = {
  reason: "Invalid",
  message:
    "Programmed for its own hostname alone: it is too large to be repeated for each hostname of other routes that it could " +
    "answer for, give it hostnames or divide it",
};

function rejectionFault({ rejected }: Served): Fault | undefined {
  const messages = rejected.flatMap(({ rule, backend, message }) =>
    message === undefined ? [] : [refusedRule(rule, message, backend)]
  );
  if (messages.length > 0) return { reason: "Invalid", message: join(messages) };
  return rejected.length > 0 ? heldBack : undefined;
}

function refusedRule(rule: number, words: string, backend?: string): string {
  const what = backend === undefined ? "" : ` backend "${backend}"`;
  return `spec.rules[${rule}]:${what} refused by the proxies: ${words}`;
}

/** The rules that 500s stand in for as long as the route is as it is, with the reason. */
function droppedRules({ rules }: ResolvedRoute, served: Served | undefined): ReadonlyMap<number, string> {
  const dropped = new Map<number, string>();
  for (const { index, faults } of rules) {
    if (faults.length > 0) dropped.set(index, join(faults.map(({ message }) => message)));
  }
  for (const { rule, backend, message } of served?.rejected ?? []) {
    if (backend === undefined && message !== undefined) dropped.set(rule, refusedRule(rule, message));
  }
  return dropped;
}

/** Set only where some rules work and others do not; its message begins as the specification demands. */
function partiallyInvalid(rules: number, dropped: ReadonlyMap<number, string>): DesiredCondition | undefined {
  if (dropped.size === 0 || dropped.size === rules) return undefined;
  const names = enumerate([...dropped.keys()].sort((a, b) => a - b).map(String));
  return {
    type: "PartiallyInvalid",
    status: "True",
    reason: "UnsupportedValue",
    message: `Dropped Rule${dropped.size > 1 ? "s" : ""} ${names}: ${join([...dropped.values()])}`,
  };
}
