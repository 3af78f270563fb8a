/**
 * Which listeners of a Gateway and of the ListenerSets that add to it are accepted.
 *
 * @module
 */
import type { GatewayKey, Origin } from "../ir/mod.ts";
import type { Key } from "../runtime/graph.ts";
import { enumerate, type Fault } from "./conditions.ts";
import type { GatewayModel } from "./gateways.ts";
import { inOrder, type ListenerSetModel } from "./listener_sets.ts";
import type { ListenerTls } from "./listener_tls.ts";
import { insecurePlaces, type Listener, protocols } from "./listeners.ts";
import { mergeListeners } from "./merged_listeners.ts";
import { type Telemetry, telemetryOf } from "./telemetry.ts";
import type { Addresses } from "./world.ts";

/** How things are with one listener, before the proxies have their say. */
export interface ListenerState {
  readonly listener: Listener;
  /** Names its port: `namespace/name/80`, with `/udp` appended for UDP. */
  readonly portKey: Key;
  /** The port that is bound. */
  readonly bound: number;
  /** Why it is not Accepted. */
  readonly refused?: Fault;
  /** The certificates that it shows; absent where TLS does not end here. */
  readonly tls?: ListenerTls;
}

/** The listeners of a Gateway, or of a ListenerSet that adds to it. Row key: `GATEWAY|ORIGIN`. */
export interface OwnerState {
  readonly gateway: GatewayKey;
  readonly origin: Origin;
  readonly generation: number;
  /** Why the whole of it is not Accepted, whatever its listeners are like: none of them is served. */
  readonly refused?: Fault;
  /** Why it is not Accepted, since it is not known how proxies are to be run. Those that run serve it all the same. */
  readonly unmanaged?: Fault;
  /** Why it is not Accepted, since none of its listeners is. */
  readonly nothingValid?: Fault;
  readonly bind: readonly string[];
  readonly telemetry: Telemetry;
  readonly listeners: readonly ListenerState[];
}

/** A Gateway with all that is added to it. Row key: the Gateway. Absent while it is being deleted. */
export interface GatewayState {
  readonly gateway: GatewayKey;
  readonly bind: readonly string[];
  readonly telemetry: Telemetry;
  /** The Gateway itself and then its ListenerSets, in order of precedence, by origin. */
  readonly owners: ReadonlyMap<Origin, OwnerState>;
  /** How many ListenerSets are accepted. */
  readonly attachedListenerSets: number;
  /** The Secret with the certificate that backends are shown. */
  readonly clientCertificate?: Key | Fault;
  /** The addresses that are asked for. */
  readonly requested: readonly string[];
  /** Where clients without a valid certificate are let in. */
  readonly insecure: readonly string[];
}

/** What there is to know about a Gateway besides the objects' specs. */
export interface Surroundings {
  readonly addresses: Addresses | undefined;
  readonly tlsOf: (listener: Listener) => ListenerTls | undefined;
  readonly clientCertificate: Key | Fault | undefined;
  /** How many listeners a Gateway may have, with those of ListenerSets. */
  readonly mostListeners: number;
}

/** Decides which listeners are accepted, given those who add to the Gateway and the ports that were really bound. */
export function stateOfGateway(
  gateway: GatewayKey,
  model: GatewayModel,
  added: Iterable<ListenerSetModel>,
  { addresses, tlsOf, clientCertificate, mostListeners }: Surroundings,
): GatewayState | undefined {
  if (model.terminating) return undefined;
  const bind = addresses?.bind ?? [], telemetry = telemetryOf(gateway, model.fleet);
  const sets = inOrder(added);
  const merged = mergeListeners(
    [model.listeners, ...sets.map(({ listeners }) => listeners)],
    mostListeners,
  );
  const states = merged.map((listeners) =>
    listeners.map((listener) => stateOf(gateway, listener, addresses, tlsOf))
  );
  const ports = firstByPort(states.flat());
  const [own = [], ...others] = states.map((listeners) =>
    listeners.map((state) => withoutCollision(state, ports))
  );
  const itself = ownerState(
    { gateway, origin: `Gateway/${gateway}`, generation: model.generation, bind, telemetry, listeners: own },
    model,
    noneValid(own, ({ refused }) => refused === undefined),
  );
  const owners = new Map<Origin, OwnerState>([[itself.origin, itself]]);
  let attachedListenerSets = 0;
  for (const [i, { origin, generation, refused }] of sets.entries()) {
    const listeners = others[i] ?? [];
    const state = ownerState(
      { gateway, origin, generation, bind, telemetry, listeners },
      {
        ...(refused || itself.refused || itself.nothingValid) && { refused: refused ?? parentNotAccepted },
        ...itself.unmanaged && { unmanaged: parentNotAccepted },
      },
      noneValid(listeners, isServable),
    );
    if (refusalOf(state) === undefined) attachedListenerSets++;
    owners.set(origin, state);
  }
  return {
    gateway,
    bind,
    telemetry,
    owners,
    attachedListenerSets,
    requested: model.requested,
    insecure: insecurePlaces(model.frontend),
    ...clientCertificate !== undefined && { clientCertificate },
  };
}

function ownerState(
  state: OwnerState,
  { refused, unmanaged }: Pick<OwnerState, "refused" | "unmanaged">,
  nothingValid: Fault | undefined,
): OwnerState {
  return {
    ...state,
    ...refused && { refused },
    ...unmanaged && { unmanaged },
    ...nothingValid && { nothingValid },
  };
}

/** Why a Gateway or a ListenerSet is not Accepted. */
export function refusalOf({ refused, unmanaged, nothingValid }: OwnerState): Fault | undefined {
  return refused ?? unmanaged ?? nothingValid;
}

const parentNotAccepted: Fault = {
  reason: "ParentNotAccepted",
  message: "The Gateway that it adds to is not accepted",
};

function stateOf(
  gateway: GatewayKey,
  listener: Listener,
  addresses: Addresses | undefined,
  tlsOf: Surroundings["tlsOf"],
): ListenerState {
  const suffix = protocols[listener.protocol]?.transport === "udp" ? "/udp" : "";
  const port = addresses?.ports?.[`${listener.port}${suffix}`];
  const tls = tlsOf(listener);
  const refused = listener.refused ?? tls?.refused ??
    (port?.state === "failed" ? { reason: "PortUnavailable", message: port.message } : undefined);
  return {
    listener,
    portKey: `${gateway}/${listener.port}${suffix}`,
    bound: port?.state === "bound" ? port.port : listener.port,
    ...refused && { refused },
    ...tls && { tls },
  };
}

/** Of the listeners that share a port one is enough to know where the port is. */
function firstByPort(states: readonly ListenerState[]): readonly ListenerState[] {
  const first = new Map<Key, ListenerState>();
  for (const state of states) {
    if (state.refused === undefined && !first.has(state.portKey)) first.set(state.portKey, state);
  }
  return [...first.values()];
}

/** A port that was shifted may land on one that another listener asks for: that one keeps it. */
function withoutCollision(state: ListenerState, ports: readonly ListenerState[]): ListenerState {
  const { listener, bound } = state;
  if (state.refused || bound === listener.port) return state;
  const holder = ports.find((other) =>
    other.portKey !== state.portKey && other.bound === bound &&
    (other.listener.port === bound || other.listener.port < listener.port)
  );
  if (holder === undefined) return state;
  const who = holder.listener.owner === listener.owner
    ? `listener "${holder.listener.name}"`
    : "another listener of the Gateway";
  const message = `Cannot bind port ${listener.port} as ${bound}: ${who} has that port`;
  return { ...state, refused: { reason: "PortUnavailable", message } };
}

function noneValid(
  all: readonly ListenerState[],
  isValid: (listener: ListenerState) => boolean,
): Fault | undefined {
  if (all.some(isValid)) return undefined;
  const message = all.length === 0 ? "There is no listener" : `No listener is valid: ${summary(all)}`;
  return { reason: "ListenersNotValid", message };
}

/** Names listeners that are not valid, with the reasons. */
export function summary(invalid: readonly ListenerState[]): string {
  const names = enumerate(invalid.map(({ listener }) => `"${listener.name}"`));
  const reasons = [...new Set(invalid.map(({ refused, tls }) => (refused ?? tls?.faults[0])?.reason ?? ""))];
  return `listener${invalid.length === 1 ? "" : "s"} ${names} (${reasons.join(", ")})`;
}

/** Whether a listener has what it takes to be served. */
export function isServable({ refused, tls }: ListenerState): boolean {
  return refused === undefined && (tls === undefined || tls.certificates.length > 0);
}
