/**
 * What the statuses of the listeners of a Gateway or of a ListenerSet have to say.
 *
 * @module
 */
import type { Rejection, Verdict } from "../ir/mod.ts";
import type { Key } from "../runtime/graph.ts";
import { condition, type Fault, join } from "./conditions.ts";
import { isServable, type ListenerState, type OwnerState } from "./gateway_state.ts";
import { overlapOf } from "./overlaps.ts";
import { heldBack, notAccepted, programmed } from "./progress.ts";
import type { DesiredListener } from "./statuses.ts";

/** What the statuses of a Gateway's and a ListenerSet's listeners depend on, besides the listeners. */
export interface OwnerFacts {
  readonly verdict: Verdict | undefined;
  /** How many proxies the Gateway is expected to have; `undefined` if there is none yet. */
  readonly proxies: number | undefined;
  /** Number of attached routes by the id of the listener. */
  readonly attached: (listener: string) => number;
  /** The rejection that applies to a listener. */
  readonly rejection: (listener: ListenerState) => Rejection | undefined;
  /** Whether another owner of the same Gateway has a claim; see {@linkcode tlsClaims}. */
  readonly elsewhere: (claim: Key) => boolean;
}

export function listenerStatuses(
  { listeners }: OwnerState,
  progress: Fault | undefined,
  facts: OwnerFacts,
): readonly DesiredListener[] {
  // Once it is known which listeners are refused, the verdict does not speak of the others.
  const culprits = listeners.some((listener) => facts.rejection(listener)?.message !== undefined);
  const others = culprits && facts.verdict?.state === "rejected" ? undefined : progress;
  return listeners.map((state) => listenerStatus(state, listeners, others, facts));
}

/** What is wrong with the references of a listener. */
export function unresolvedOf({ listener, tls }: ListenerState): readonly Fault[] {
  return [...listener.unresolved ? [listener.unresolved] : [], ...tls?.faults ?? []];
}

function refusedListener(words: string): Fault {
  return { reason: "Invalid", message: `Refused by the proxies: ${words}` };
}

function listenerStatus(
  state: ListenerState,
  own: readonly ListenerState[],
  progress: Fault | undefined,
  facts: OwnerFacts,
): DesiredListener {
  const { listener, refused, bound } = state;
  const rejection = facts.rejection(state);
  const unresolved = unresolvedOf(state);
  const overlap = overlapOf(state, own, facts.elsewhere);
  const unusable: Fault | undefined = refused
    ? { reason: listener.conflict ? refused.reason : "Invalid", message: notAccepted }
    : !isServable(state)
    ? { reason: "Invalid", message: "Not programmed, since it has no certificate that can be served" }
    : rejection && (rejection.message === undefined ? heldBack : refusedListener(rejection.message));
  const shifted = bound === listener.port
    ? ""
    : `; port ${listener.port} may not be bound here, it is ${bound}`;
  const closed = "fault" in listener.namespaces
    ? `, but no route may attach: allowedRoutes.${listener.namespaces.fault}`
    : "";
  return {
    name: listener.name,
    supportedKinds: listener.kinds,
    attachedRoutes: facts.attached(listener.id),
    conditions: [
      condition("Accepted", refused, {
        reason: "Accepted",
        message: `The listener is valid${closed}${shifted}`,
      }),
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
