/**
 * What the status of an object has to say.
 *
 * @module
 */
import type { ParentReference } from "../../crds/mod.ts";
import type { Rejection, Verdict } from "../ir/mod.ts";
import type { Attachment, Parent } from "./attach.ts";
import type { Class } from "./classes.ts";
import { condition, type DesiredCondition, enumerate, type Fault, join } from "./conditions.ts";
import type { ListenerSetModel } from "./listener_sets.ts";
import type { RouteGroupKind } from "./listeners.ts";
import { overlapOf } from "./overlaps.ts";
import type { Placement, Served } from "./placements.ts";
import type { DesiredAncestor } from "./policy_status.ts";
import { isServable, type ListenerState, type OwnerState, refusalOf, summary } from "./ports.ts";
import type { RouteKindName } from "./route_kind.ts";
import type { ResolvedRoute } from "./rules.ts";
import type { Addresses } from "./world.ts";

/** The desired status of one object of ours. Row key: `Kind/namespace/name`. Says nothing about times. */
export type DesiredStatus =
  | {
    readonly kind: "GatewayClass";
    readonly generation: number;
    readonly conditions: readonly DesiredCondition[];
  }
  | {
    readonly kind: "Gateway";
    readonly generation: number;
    readonly conditions: readonly DesiredCondition[];
    readonly listeners: readonly DesiredListener[];
    readonly attachedListenerSets: number;
    /** Absent while it is not known: what is there stays. */
    readonly addresses?: Addresses["assigned"];
  }
  | {
    readonly kind: "ListenerSet";
    readonly generation: number;
    readonly conditions: readonly DesiredCondition[];
    readonly listeners: readonly DesiredListener[];
  }
  | {
    readonly kind: RouteKindName;
    readonly generation: number;
    readonly parents: readonly DesiredParent[];
  }
  | {
    readonly kind: "BackendTLSPolicy";
    readonly generation: number;
    readonly ancestors: readonly DesiredAncestor[];
  };

export interface DesiredListener {
  readonly name: string;
  readonly supportedKinds: readonly RouteGroupKind[];
  readonly attachedRoutes: number;
  readonly conditions: readonly DesiredCondition[];
}

export interface DesiredParent {
  readonly parentRef: ParentReference;
  readonly conditions: readonly DesiredCondition[];
}

const notAccepted = "Not programmed, since it is not accepted";

/** The state of what is not at fault, perhaps: it is only held back for a moment. */
const heldBack: Fault = {
  reason: "Pending",
  message: "Held back to find out which part of the configuration the proxies refuse",
};

export function classStatus(model: Class): DesiredStatus {
  return {
    kind: "GatewayClass",
    generation: model.generation,
    conditions: [
      condition("Accepted", model.refused, {
        reason: "Accepted",
        message: "Gateways of this class are served by Gatehouse",
      }),
    ],
  };
}

/** What the statuses of a Gateway's and a ListenerSet's listeners depend on, besides the listeners. */
export interface OwnerFacts {
  readonly verdict: Verdict | undefined;
  /** How many proxies the Gateway is expected to have; `undefined` if there is none yet. */
  readonly proxies: number | undefined;
  /** Number of attached routes by the id of the listener. */
  readonly attached: (listener: string) => number;
  /** The rejection that applies to a listener. */
  readonly rejection: (listener: ListenerState) => Rejection | undefined;
  /** All listeners of the Gateway and its ListenerSets on a port. */
  readonly onPort: (portKey: string) => readonly ListenerState[];
}

/** What the status of a Gateway depends on besides its listeners. */
export interface GatewayFacts extends OwnerFacts {
  readonly addresses: Addresses | undefined;
  readonly attachedListenerSets: number;
  /** The Secret with the certificate for backends, or why there is none; `undefined` if none is asked for. */
  readonly clientCertificate: string | Fault | undefined;
}

export function gatewayStatus(owner: OwnerState, facts: GatewayFacts): DesiredStatus {
  const { addresses } = facts, refused = refusalOf(owner);
  const progress = refused
    ? { reason: "Invalid", message: "Not programmed, since the Gateway is not accepted" }
    : progressOf(owner, facts);
  return {
    kind: "Gateway",
    generation: owner.generation,
    conditions: [
      accepted(owner),
      condition(
        "Programmed",
        refused ? progress : addressFault(addresses) ?? progress,
        programmed(facts.verdict),
      ),
      ...clientCertificateCondition(facts.clientCertificate),
      ...insecureFrontend(owner.listeners),
    ],
    listeners: listenerStatuses(owner, progress, facts),
    attachedListenerSets: facts.attachedListenerSets,
    ...addresses && { addresses: addresses.assigned },
  };
}

export function listenerSetStatus(
  owner: OwnerState,
  facts: OwnerFacts & Pick<GatewayFacts, "addresses">,
): DesiredStatus {
  const { generation } = owner, refused = refusalOf(owner);
  const progress = refused ? notProgrammed(refused) : progressOf(owner, facts);
  const unaddressed = refused ? undefined : addressFault(facts.addresses);
  return {
    kind: "ListenerSet",
    generation,
    conditions: [
      accepted(owner),
      condition(
        "Programmed",
        unaddressed ? { reason: "ParentNotProgrammed", message: unaddressed.message } : progress,
        programmed(facts.verdict),
      ),
    ],
    listeners: listenerStatuses(
      owner,
      refused ? { reason: "Invalid", message: notAccepted } : progress,
      facts,
    ),
  };
}

/** The status of a ListenerSet that is refused as a whole, by a Gateway that is not even there any more, perhaps. */
export function refusedSetStatus({ generation }: ListenerSetModel, refused: Fault): DesiredStatus {
  return {
    kind: "ListenerSet",
    generation,
    conditions: [
      condition("Accepted", refused, allValid),
      condition("Programmed", notProgrammed(refused), allValid),
    ],
    listeners: [],
  };
}

/** Why a ListenerSet is not programmed if it is not accepted. */
function notProgrammed({ reason }: Fault): Fault {
  return { reason: reason === "ParentNotAccepted" ? "ParentNotProgrammed" : reason, message: notAccepted };
}

const allValid = { reason: "Accepted", message: "Every listener is valid" };

function accepted(owner: OwnerState): DesiredCondition {
  const invalid = owner.listeners.filter((listener) => !isServable(listener));
  return condition(
    "Accepted",
    refusalOf(owner),
    invalid.length > 0
      ? { reason: "ListenersNotValid", message: `Accepted without ${summary(invalid)}` }
      : allValid,
  );
}

/** Why an owner that is accepted is not programmed. */
function progressOf(
  { generation, listeners }: OwnerState,
  { verdict, proxies }: OwnerFacts,
): Fault | undefined {
  if (listeners.some(isServable)) return pendingOf(generation, verdict, proxies);
  return {
    reason: "Invalid",
    message: `Not programmed, since there is nothing to serve without ${summary(listeners)}`,
  };
}

function listenerStatuses(
  { listeners }: OwnerState,
  progress: Fault | undefined,
  facts: OwnerFacts,
): readonly DesiredListener[] {
  // Once it is known which listeners are refused, the verdict does not speak of the others.
  const culprits = listeners.some((listener) => facts.rejection(listener)?.message !== undefined);
  const others = culprits && facts.verdict?.state === "rejected" ? undefined : progress;
  return listeners.map((state) => listenerStatus(state, others, facts));
}

function clientCertificateCondition(found: string | Fault | undefined): readonly DesiredCondition[] {
  if (found === undefined) return [];
  const fault = typeof found === "string" ? undefined : found;
  return [
    condition("ResolvedRefs", fault, { reason: "ResolvedRefs", message: "Every reference is resolved" }),
  ];
}

/** A warning: there only while it is true. */
function insecureFrontend(listeners: readonly ListenerState[]): readonly DesiredCondition[] {
  const lax = listeners.filter(({ listener }) => listener.clients?.required === false);
  if (lax.length === 0) return [];
  const ports = enumerate([...new Set(lax.map(({ listener }) => String(listener.port)))]);
  return [{
    type: "InsecureFrontendValidationMode",
    status: "True",
    reason: "ConfigurationChanged",
    message: `Clients without a valid certificate may pass on port ${ports} (AllowInsecureFallback)`,
  }];
}

function addressFault(addresses: Addresses | undefined): Fault | undefined {
  const unusable = addresses?.unusable ?? [];
  if (unusable.length > 0) {
    const messages = unusable.map(({ value, message }) => `Address ${value}: ${message}`);
    return { reason: "AddressNotUsable", message: join(messages) };
  }
  if (addresses === undefined || addresses.assigned.length === 0) {
    return { reason: "AddressNotAssigned", message: "Waiting for an address" };
  }
  return undefined;
}

/** What there is to say about what is programmed, perhaps with proxies left out. */
function programmed(verdict: Verdict | undefined): { readonly reason: string; readonly message: string } {
  const words = verdict?.state === "programmed" ? verdict.message : "";
  return { reason: "Programmed", message: words || "Every proxy has the current configuration" };
}

/** Why something is not programmed yet, or not any more. */
function pendingOf(
  generation: number,
  verdict: Verdict | undefined,
  proxies: number | undefined,
): Fault | undefined {
  if (verdict?.state === "rejected") return { reason: "Invalid", message: verdict.message };
  if (verdict?.state === "programmed" && verdict.generation === generation) return undefined;
  if (!verdict && !proxies) return { reason: "Pending", message: "Waiting for a proxy to start" };
  return {
    reason: "Pending",
    message: verdict?.message || "Waiting for the proxies to take the configuration",
  };
}

function refusedListener(words: string): Fault {
  return { reason: "Invalid", message: `Refused by the proxies: ${words}` };
}

function listenerStatus(
  state: ListenerState,
  progress: Fault | undefined,
  facts: OwnerFacts,
): DesiredListener {
  const { listener, refused, bound, tls } = state;
  const rejection = facts.rejection(state);
  const unresolved = [...listener.unresolved ? [listener.unresolved] : [], ...tls?.faults ?? []];
  const overlap = overlapOf(state, facts.onPort(state.portKey));
  const unusable: Fault | undefined = refused
    ? { reason: listener.conflict ? refused.reason : "Invalid", message: notAccepted }
    : !isServable(state)
    ? { reason: "Invalid", message: "Not programmed, since it has no certificate that can be served" }
    : rejection && (rejection.message === undefined ? heldBack : refusedListener(rejection.message));
  const shifted = bound === listener.port
    ? ""
    : `; port ${listener.port} may not be bound here, it is ${bound}`;
  return {
    name: listener.name,
    supportedKinds: listener.kinds,
    attachedRoutes: facts.attached(listener.id),
    conditions: [
      condition("Accepted", refused, { reason: "Accepted", message: `The listener is valid${shifted}` }),
      listener.conflict ? { type: "Conflicted", status: "True", ...listener.conflict } : {
        type: "Conflicted",
        status: "False",
        reason: "NoConflicts",
        message: "No other listener is like it",
      },
      condition(
        "ResolvedRefs",
        unresolved[0] &&
          { reason: unresolved[0].reason, message: join(unresolved.map(({ message }) => message)) },
        { reason: "ResolvedRefs", message: "Every reference is resolved" },
      ),
      condition("Programmed", unusable ?? progress, programmed(facts.verdict)),
      // Of negative polarity: there only while it is true.
      ...overlap ? [{ type: "OverlappingTLSConfig", status: "True" as const, ...overlap }] : [],
    ],
  };
}

/** What the status of a route depends on besides its attachment. */
export interface RouteFacts {
  readonly resolved: ResolvedRoute;
  readonly verdict: (gateway: string) => Verdict | undefined;
  readonly served: (gateway: string) => Served | undefined;
  readonly placement: (gateway: string) => Placement | undefined;
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
  { resolved, verdict, served, placement, proxies }: RouteFacts,
): readonly DesiredCondition[] {
  const { rules, unresolved } = resolved;
  const placed = placement(gateway)?.listeners.some(({ id }) => listeners.some((one) => one.id === id));
  const here = refused || !placed ? undefined : served(gateway);
  const progress = refused
    ? { reason: "Invalid", message: notAccepted }
    : here === undefined
    ? { reason: "Invalid", message: "Not programmed, since no listener that it is attached to is served" }
    : rejectionFault(here) ?? pendingOf(generation, verdict(gateway), proxies(gateway));
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
