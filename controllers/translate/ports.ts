/**
 * The listeners of a Gateway that are served, and on which ports of which addresses.
 *
 * @module
 */
import type { GatewayKey, Listener as IrListener, Rejection } from "../ir/mod.ts";
import { equal } from "../runtime/equal.ts";
import type { Group, Key } from "../runtime/graph.ts";
import type { Fault } from "./conditions.ts";
import { covering } from "./hostnames.ts";
import { type GatewayModel, type Listener, protocols } from "./gateways.ts";
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
}

/** The listeners of a Gateway. Row key: the Gateway. Absent while it is being deleted. */
export interface GatewayState {
  readonly gateway: GatewayKey;
  readonly generation: number;
  /** Why the whole of it is not Accepted: none of its listeners is served. */
  readonly refused?: Fault;
  readonly bind: readonly string[];
  readonly listeners: readonly ListenerState[];
}

/** One port with the listeners that share it. Row key: {@linkcode ListenerState.portKey}. */
export interface Port {
  readonly gateway: GatewayKey;
  readonly bind: readonly string[];
  readonly bound: number;
  readonly protocol: string;
  /** Their names by hostname. */
  readonly listeners: ReadonlyMap<string, string>;
}

/** Decides which listeners are accepted, given the ports that were really bound. */
export function stateOfGateway(
  gateway: GatewayKey,
  model: GatewayModel,
  addresses: Addresses | undefined,
): GatewayState | undefined {
  if (model.terminating) return undefined;
  const states = model.listeners.map((listener): ListenerState => {
    const suffix = protocols[listener.protocol]?.transport === "udp" ? "/udp" : "";
    const port = addresses?.ports?.[`${listener.port}${suffix}`];
    const refused = listener.refused ??
      (port?.state === "failed" ? { reason: "PortUnavailable", message: port.message } : undefined);
    return {
      listener,
      portKey: `${gateway}/${listener.port}${suffix}`,
      bound: port?.state === "bound" ? port.port : listener.port,
      ...refused && { refused },
    };
  });
  return {
    gateway,
    generation: model.generation,
    ...model.refused && { refused: model.refused },
    bind: addresses?.bind ?? [],
    listeners: states.map((state) => withoutCollision(state, states)),
  };
}

/** A port that was shifted may land on one that another listener asks for: that one keeps it. */
function withoutCollision(state: ListenerState, states: readonly ListenerState[]): ListenerState {
  const { listener, bound } = state;
  if (state.refused || bound === listener.port) return state;
  const owner = states.find((other) =>
    other.refused === undefined && other.portKey !== state.portKey && other.bound === bound &&
    (other.listener.port === bound || other.listener.port < listener.port)
  );
  if (owner === undefined) return state;
  const message =
    `Cannot bind port ${listener.port} as ${bound}: listener "${owner.listener.name}" has that port`;
  return { ...state, refused: { reason: "PortUnavailable", message } };
}

/** What the proxies are told because of a listener; what a rejection of it is compared with. */
export function listenerContent(state: GatewayState, { listener, bound }: ListenerState): unknown {
  return { bind: state.bind, port: bound, protocol: listener.protocol, hostname: listener.hostname };
}

/** The piece of the data plane that a listener is. */
export function listenerPiece(gateway: GatewayKey, listener: string): Key {
  return `Gateway/${gateway}/listener/${listener}`;
}

/** The listeners that are meant to be served: those that are accepted, of a Gateway that is. */
export function meantListeners(state: GatewayState): readonly ListenerState[] {
  return state.refused ? [] : state.listeners.filter(({ refused }) => refused === undefined);
}

/** The listeners that are served: what is meant, without what the proxies refuse. */
export function servedListeners(
  state: GatewayState,
  rejections: Group<Rejection> | undefined,
): readonly ListenerState[] {
  return meantListeners(state).filter((listener) => !rejectionOf(state, listener, rejections));
}

/** The rejection that applies to a listener. */
export function rejectionOf(
  state: GatewayState,
  listener: ListenerState,
  rejections: Group<Rejection> | undefined,
): Rejection | undefined {
  const key = `${state.gateway}|${listenerPiece(state.gateway, listener.listener.name)}`;
  const rejection = rejections?.get(key);
  return rejection && equal(rejection.content, listenerContent(state, listener)) ? rejection : undefined;
}

/** The name of the listener whose requests a hostname's are: the most specific one that covers it. */
export function ownerOf(port: Port, hostname: string): string | undefined {
  for (const candidate of covering(hostname)) {
    const listener = port.listeners.get(candidate);
    if (listener !== undefined) return listener;
  }
  return undefined;
}

export function irListener(key: Key, port: Port): IrListener {
  return {
    gateway: port.gateway,
    name: key,
    addresses: port.bind,
    port: port.bound,
    protocol: "http",
    routes: key,
  };
}

/** One port of a Gateway; `undefined` if none of its listeners is served. */
export function portOf(
  portKey: Key,
  state: GatewayState,
  served: readonly ListenerState[],
): Port | undefined {
  const own = served.filter((listener) => listener.portKey === portKey);
  const [first] = own;
  if (first === undefined) return undefined;
  return {
    gateway: state.gateway,
    bind: state.bind,
    bound: first.bound,
    protocol: first.listener.protocol,
    listeners: new Map(own.map(({ listener }) => [listener.hostname, listener.name])),
  };
}
