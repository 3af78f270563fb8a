/**
 * The listeners of a Gateway that are served, and on which ports of which addresses.
 *
 * @module
 */
import type { GatewayKey, Listener as IrListener, Rejection } from "../ir/mod.ts";
import { equal } from "../runtime/equal.ts";
import type { Group, Key } from "../runtime/graph.ts";
import type { Fault } from "./conditions.ts";
import { within } from "./keys.ts";
import type { ListenerTls } from "./listener_tls.ts";
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
  /** The certificates that it shows; absent where TLS does not end here. */
  readonly tls?: ListenerTls;
}

/** The listeners of a Gateway. Row key: the Gateway. Absent while it is being deleted. */
export interface GatewayState {
  readonly gateway: GatewayKey;
  readonly generation: number;
  /** Why the whole of it is not Accepted: none of its listeners is served. */
  readonly refused?: Fault;
  readonly bind: readonly string[];
  readonly listeners: readonly ListenerState[];
  /** The Secret with the certificate that backends are shown. */
  readonly clientCertificate?: Key | Fault;
}

/** What is served of a Gateway. Row key: the Gateway. */
export interface Listening {
  /** Every listener that is served, with the certificates that proxies take. */
  readonly served: readonly ListenerState[];
  /**
   * Those that are accepted but have no certificate. Their hostnames stay theirs: requests for them must not fall to a
   * listener with a wider one, whose routes were not meant for them.
   */
  readonly silent: readonly ListenerState[];
  /** The Secret with the certificate that backends are shown, unless proxies refuse it. */
  readonly clientCertificate?: Key;
}

/** One port with the listeners that share it. Row key: {@linkcode ListenerState.portKey}. */
export interface Port {
  readonly gateway: GatewayKey;
  readonly bind: readonly string[];
  readonly bound: number;
  readonly protocol: string;
  /** Their names by hostname, those of silent ones included. */
  readonly listeners: ReadonlyMap<string, string>;
}

/** Decides which listeners are accepted, given the ports that were really bound. */
export function stateOfGateway(
  gateway: GatewayKey,
  model: GatewayModel,
  addresses: Addresses | undefined,
  tlsOf: (listener: Listener) => ListenerTls | undefined,
  clientCertificate: Key | Fault | undefined,
): GatewayState | undefined {
  if (model.terminating) return undefined;
  const states = model.listeners.map((listener): ListenerState => {
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
  });
  return {
    gateway,
    generation: model.generation,
    ...model.refused && { refused: model.refused },
    bind: addresses?.bind ?? [],
    listeners: states.map((state) => withoutCollision(state, states)),
    ...clientCertificate !== undefined && { clientCertificate },
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

/** Whether a listener has what it takes to be served. */
export function isServable({ refused, tls }: ListenerState): boolean {
  return refused === undefined && (tls === undefined || tls.certificates.length > 0);
}

/** What the proxies are told because of a listener; what a rejection of it is compared with. */
export function listenerContent(
  state: GatewayState,
  { listener, bound, tls }: ListenerState,
  contentOf: Rejections["contentOf"],
): unknown {
  const { protocol, hostname } = listener, { clients } = tls ?? {};
  return {
    bind: state.bind,
    port: bound,
    protocol,
    hostname,
    ...tls && { certificates: tls.certificates },
    ...clients && { clients, authorities: contentOf(clients.authorities) },
  };
}

/** The piece of the data plane that a listener is. */
export function listenerPiece(gateway: GatewayKey, listener: string): Key {
  return `Gateway/${gateway}/listener/${listener}`;
}

/** The origin of what a Secret puts into proxies, which is one piece; also that piece. */
export function secretOrigin(secret: Key): Key {
  return `Secret/${secret}`;
}

/** The listeners that are meant to be served: those that are accepted and have a certificate, of a Gateway that is. */
export function meantListeners(state: GatewayState): readonly ListenerState[] {
  return state.refused ? [] : state.listeners.filter(isServable);
}

/** What there is to know about rejections. */
export interface Rejections {
  /** The rejections of what an origin puts into a Gateway. */
  readonly of: (origin: Key) => Group<Rejection> | undefined;
  /** What a Secret is at the moment; what a rejection of it is compared with. */
  readonly contentOf: (secret: Key) => unknown;
}

/** What is served: what is meant, without what the proxies refuse. */
export function listeningOf(state: GatewayState, rejections: Rejections): Listening {
  const served = meantListeners(state).flatMap((listener): readonly ListenerState[] => {
    if (ownRejection(state, listener, rejections)) return [];
    const { tls } = listener;
    if (tls === undefined) return [listener];
    const certificates = tls.certificates.filter((secret) => !secretRejection(state, secret, rejections));
    return certificates.length > 0 ? [{ ...listener, tls: { ...tls, certificates } }] : [];
  });
  const names = new Set(served.map(({ listener }) => listener.name));
  const silent = state.refused
    ? []
    : state.listeners.filter((listener) =>
      listener.tls !== undefined && listener.refused === undefined && !names.has(listener.listener.name) &&
      !ownRejection(state, listener, rejections)
    );
  const { clientCertificate: shown } = state;
  const usable = typeof shown === "string" && !secretRejection(state, shown, rejections);
  return { served, silent, ...usable && { clientCertificate: shown } };
}

/** The rejection that keeps a listener from being served: its own, or those of all its certificates. */
export function rejectionOf(
  state: GatewayState,
  listener: ListenerState,
  rejections: Rejections,
): Rejection | undefined {
  const own = ownRejection(state, listener, rejections);
  if (own || listener.tls === undefined) return own;
  const all = listener.tls.certificates.map((secret) => secretRejection(state, secret, rejections));
  return all.includes(undefined)
    ? undefined
    : all.find((rejection) => rejection?.message !== undefined) ?? all[0];
}

function ownRejection(
  state: GatewayState,
  listener: ListenerState,
  rejections: Rejections,
): Rejection | undefined {
  const piece = listenerPiece(state.gateway, listener.listener.name);
  const rejection = rejections.of(`Gateway/${state.gateway}`)?.get(within(state.gateway, piece));
  return rejection && equal(rejection.content, listenerContent(state, listener, rejections.contentOf))
    ? rejection
    : undefined;
}

function secretRejection(
  { gateway }: GatewayState,
  secret: Key,
  { of, contentOf }: Rejections,
): Rejection | undefined {
  const origin = secretOrigin(secret);
  const rejection = of(origin)?.get(within(gateway, origin));
  return rejection && equal(rejection.content, contentOf(secret)) ? rejection : undefined;
}

/** The listener whose requests a hostname's are: the most specific one that covers it. */
export function ownerOf(
  port: Port,
  hostname: string,
): { readonly name: string; readonly hostname: string } | undefined {
  for (const candidate of covering(hostname)) {
    const name = port.listeners.get(candidate);
    if (name !== undefined) return { name, hostname: candidate };
  }
  return undefined;
}

/** One port of a Gateway; `undefined` if none of its listeners is served. */
export function portOf(portKey: Key, state: GatewayState, { served, silent }: Listening): Port | undefined {
  const first = served.find((listener) => listener.portKey === portKey);
  if (first === undefined) return undefined;
  const own = [...served, ...silent].filter((listener) => listener.portKey === portKey);
  return {
    gateway: state.gateway,
    bind: state.bind,
    bound: first.bound,
    protocol: first.listener.protocol,
    listeners: new Map(own.map(({ listener }) => [listener.hostname, listener.name])),
  };
}

export function irListener(portKey: Key, port: Port, { served }: Listening): IrListener {
  const own = served.filter((listener) => listener.portKey === portKey);
  const chains = own.flatMap(({ listener, tls }) =>
    tls
      ? [{
        hostname: listener.hostname,
        certificates: tls.certificates,
        ...tls.clients && { clients: tls.clients },
      }]
      : []
  );
  return {
    gateway: port.gateway,
    name: portKey,
    addresses: port.bind,
    port: port.bound,
    ...isEncrypted(port) ? { protocol: "https", chains } : { protocol: "http" },
    routes: portKey,
  };
}

export function isEncrypted({ protocol }: Port): boolean {
  return protocol === "HTTPS";
}
