/**
 * What the status of a Gateway, or of a ListenerSet that adds to one, has to say.
 *
 * @module
 */
import { condition, type DesiredCondition, enumerate, type Fault, join } from "./conditions.ts";
import { isServable, type ListenerState, type OwnerState, refusalOf, summary } from "./gateway_state.ts";
import type { ListenerSetModel } from "./listener_sets.ts";
import { listenerStatuses, type OwnerFacts, unresolvedOf } from "./listener_status.ts";
import { notAccepted, pendingOf, programmed } from "./progress.ts";
import type { DesiredStatus } from "./statuses.ts";
import type { Addresses } from "./world.ts";

/** What the status of a Gateway depends on besides its listeners. */
export interface GatewayFacts extends OwnerFacts {
  readonly addresses: Addresses | undefined;
  /** Why the Gateway does not have what it needs, which nobody could be told to wait for. */
  readonly shortfall: Fault | undefined;
  /** The addresses that it asks for. */
  readonly requested: readonly string[];
  readonly attachedListenerSets: number;
  /** Where clients without a valid certificate are let in. */
  readonly insecure: readonly string[];
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
        refused ? progress : facts.shortfall ?? addressFault(addresses) ?? progress,
        programmed(facts.verdict),
      ),
      resolvedRefs(owner.listeners, facts.clientCertificate),
      ...addressesAssigned(facts),
      ...insecureFrontend(facts.insecure),
    ],
    listeners: listenerStatuses(owner, progress, facts),
    attachedListenerSets: facts.attachedListenerSets,
    ...addresses && { addresses: addresses.assigned },
  };
}

export function listenerSetStatus(
  owner: OwnerState,
  facts: OwnerFacts & Pick<GatewayFacts, "addresses" | "shortfall">,
): DesiredStatus {
  const { generation } = owner, refused = refusalOf(owner);
  const progress = refused ? notProgrammed(refused) : progressOf(owner, facts);
  const missing = refused ? undefined : facts.shortfall ?? addressFault(facts.addresses);
  return {
    kind: "ListenerSet",
    generation,
    conditions: [
      accepted(owner),
      condition(
        "Programmed",
        missing ? { reason: "ParentNotProgrammed", message: missing.message } : progress,
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

/** Tells of the references of the Gateway itself, and sums up those of its listeners. */
function resolvedRefs(
  listeners: readonly ListenerState[],
  clientCertificate: string | Fault | undefined,
): DesiredCondition {
  const faults = typeof clientCertificate === "object" ? [clientCertificate] : [];
  const unresolved = listeners.filter((listener) => unresolvedOf(listener).length > 0);
  if (unresolved.length > 0) {
    const names = enumerate(unresolved.map(({ listener }) => `"${listener.name}"`));
    const title = unresolved.length === 1 ? "listener" : "listeners";
    faults.push({
      reason: "ListenersNotResolved",
      message: `Cannot resolve references of ${title} ${names}`,
    });
  }
  return condition(
    "ResolvedRefs",
    faults[0] && { reason: faults[0].reason, message: join(faults.map(({ message }) => message)) },
    { reason: "ResolvedRefs", message: "Every reference is resolved" },
  );
}

/** Whether the addresses that are asked for have been assigned; nothing where none is. */
function addressesAssigned({ addresses, requested }: GatewayFacts): readonly DesiredCondition[] {
  if (requested.length === 0) return [];
  const assigned = (addresses?.assigned.length ?? 0) > 0;
  const missing = requested.filter((value) =>
    !assigned || addresses?.unusable?.some((one) => one.value === value)
  );
  const fault = missing.length > 0
    ? {
      reason: missing.length < requested.length ? "PartiallyAssigned" : "NotAssigned",
      message: `Not assigned: ${enumerate(missing)}`,
    }
    : undefined;
  return [
    condition("AddressesAssigned", fault, {
      reason: "AddressesAssigned",
      message: "Every requested address is assigned",
    }),
  ];
}

/** A warning: there for as long as the spec says so. */
function insecureFrontend(places: readonly string[]): readonly DesiredCondition[] {
  if (places.length === 0) return [];
  return [{
    type: "InsecureFrontendValidationMode",
    status: "True",
    reason: "ConfigurationChanged",
    message: `Clients without a valid certificate may pass ${enumerate(places)} (AllowInsecureFallback)`,
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
