/**
 * The listeners of a Gateway that are served, and on which ports of which addresses.
 *
 * @module
 */
import type { GatewayKey, Listener as IrListener, Origin, Rejection } from "../ir/mod.ts";
import { equal } from "../runtime/equal.ts";
import type { Group, Key } from "../runtime/graph.ts";
import { enumerate, type Fault } from "./conditions.ts";
import { within } from "./keys.ts";
import type { ListenerTls } from "./listener_tls.ts";
import { covering } from "./hostnames.ts";
import type { GatewayModel } from "./gateways.ts";
import { inOrder, type ListenerSetModel } from "./listener_sets.ts";
import { type Listener, protocols } from "./listeners.ts";
import { mergeListeners } from "./merged_listeners.ts";
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
  /** Why it is not Accepted, since none of its listeners is. */
  readonly nothingValid?: Fault;
  readonly bind: readonly string[];
  readonly listeners: readonly ListenerState[];
}

/** A Gateway with all that is added to it. Row key: the Gateway. Absent while it is being deleted. */
export interface GatewayState {
  readonly gateway: GatewayKey;
  readonly bind: readonly string[];
  /** The Gateway itself and then its ListenerSets, in order of precedence, by origin. */
  readonly owners: ReadonlyMap<Origin, OwnerState>;
  /** How many ListenerSets are accepted. */
  readonly attachedListenerSets: number;
  /** The Secret with the certificate that backends are shown. */
  readonly clientCertificate?: Key | Fault;
}

/** What is served of a Gateway and its ListenerSets. Row key: the Gateway. */
export interface Listening {
  /** Every listener that is served, with the certificates that proxies take, by id. */
  readonly served: ReadonlyMap<Key, ListenerState>;
  /**
   * Those that are accepted but have no certificate. Their hostnames stay theirs: requests for them must not fall to a
   * listener with a wider one, whose routes were not meant for them.
   */
  readonly silent: readonly ListenerState[];
  /** Both by {@linkcode ListenerState.portKey}. */
  readonly ports: ReadonlyMap<Key, {
    readonly served: readonly ListenerState[];
    readonly silent: readonly ListenerState[];
  }>;
  /** The Secret with the certificate that backends are shown, unless proxies refuse it. */
  readonly clientCertificate?: Key;
}

/** One port with the listeners that share it. Row key: {@linkcode ListenerState.portKey}. */
export interface Port {
  readonly gateway: GatewayKey;
  readonly bind: readonly string[];
  readonly bound: number;
  readonly protocol: string;
  /** Their ids by hostname, those of silent ones included. */
  readonly listeners: ReadonlyMap<string, string>;
}

/** What there is to know about a Gateway besides the objects' specs. */
export interface Surroundings {
  readonly addresses: Addresses | undefined;
  readonly tlsOf: (listener: Listener) => ListenerTls | undefined;
  readonly clientCertificate: Key | Fault | undefined;
}

/** Decides which listeners are accepted, given those who add to the Gateway and the ports that were really bound. */
export function stateOfGateway(
  gateway: GatewayKey,
  model: GatewayModel,
  added: Iterable<ListenerSetModel>,
  { addresses, tlsOf, clientCertificate }: Surroundings,
): GatewayState | undefined {
  if (model.terminating) return undefined;
  const bind = addresses?.bind ?? [];
  const sets = inOrder(added);
  const merged = mergeListeners([model.listeners, ...sets.map(({ listeners }) => listeners)]);
  const states = merged.map((listeners) =>
    listeners.map((listener) => stateOf(gateway, listener, addresses, tlsOf))
  );
  const ports = firstByPort(states.flat());
  const [own = [], ...others] = states.map((listeners) =>
    listeners.map((state) => withoutCollision(state, ports))
  );
  const itself = ownerState(
    { gateway, origin: `Gateway/${gateway}`, generation: model.generation, bind, listeners: own },
    model.refused,
    noneValid(own, ({ refused }) => refused === undefined),
  );
  const owners = new Map<Origin, OwnerState>([[itself.origin, itself]]);
  let attachedListenerSets = 0;
  for (const [i, { origin, generation, refused }] of sets.entries()) {
    const listeners = others[i] ?? [];
    const state = ownerState(
      { gateway, origin, generation, bind, listeners },
      refused ?? (refusalOf(itself) && parentNotAccepted),
      noneValid(listeners, isServable),
    );
    if (refusalOf(state) === undefined) attachedListenerSets++;
    owners.set(origin, state);
  }
  return {
    gateway,
    bind,
    owners,
    attachedListenerSets,
    ...clientCertificate !== undefined && { clientCertificate },
  };
}

function ownerState(
  state: OwnerState,
  refused: Fault | undefined,
  nothingValid: Fault | undefined,
): OwnerState {
  return { ...state, ...refused && { refused }, ...nothingValid && { nothingValid } };
}

/** Why a Gateway or a ListenerSet is not Accepted. */
export function refusalOf({ refused, nothingValid }: OwnerState): Fault | undefined {
  return refused ?? nothingValid;
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

/** What the proxies are told because of a listener; what a rejection of it is compared with. */
export function listenerContent(
  state: Pick<GatewayState, "bind">,
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

/** The origin of what a Secret puts into proxies, which is one piece; also that piece. */
export function secretOrigin(secret: Key): Key {
  return `Secret/${secret}`;
}

/** The listeners of an owner that are meant to be served: those that are accepted and have a certificate. */
export function meantListeners(owner: OwnerState): readonly ListenerState[] {
  return owner.refused ? [] : owner.listeners.filter(isServable);
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
  const served = new Map<Key, ListenerState>(), silent: ListenerState[] = [];
  const ports = new Map<Key, { readonly served: ListenerState[]; readonly silent: ListenerState[] }>();
  for (const owner of state.owners.values()) {
    if (owner.refused) continue;
    for (const listener of owner.listeners) {
      if (listener.refused || ownRejection(owner, listener, rejections)) continue;
      const shown = withAcceptedCertificates(state, listener, rejections);
      const port = ports.get(listener.portKey) ?? { served: [], silent: [] };
      ports.set(listener.portKey, port);
      if (isServable(shown)) {
        served.set(shown.listener.id, shown);
        port.served.push(shown);
      } else {
        silent.push(listener);
        port.silent.push(listener);
      }
    }
  }
  const { clientCertificate: shown } = state;
  const usable = typeof shown === "string" && !secretRejection(state, shown, rejections);
  return { served, silent, ports, ...usable && { clientCertificate: shown } };
}

/** A listener without the certificates that the proxies refuse. */
function withAcceptedCertificates(
  state: GatewayState,
  listener: ListenerState,
  rejections: Rejections,
): ListenerState {
  const { tls } = listener;
  if (tls === undefined) return listener;
  const certificates = tls.certificates.filter((secret) => !secretRejection(state, secret, rejections));
  return { ...listener, tls: { ...tls, certificates } };
}

/** The rejection that keeps a listener from being served: its own, or those of all its certificates. */
export function rejectionOf(
  owner: OwnerState,
  listener: ListenerState,
  rejections: Rejections,
): Rejection | undefined {
  const own = ownRejection(owner, listener, rejections);
  if (own || listener.tls === undefined) return own;
  const all = listener.tls.certificates.map((secret) => secretRejection(owner, secret, rejections));
  return all.includes(undefined)
    ? undefined
    : all.find((rejection) => rejection?.message !== undefined) ?? all[0];
}

function ownRejection(
  owner: OwnerState,
  listener: ListenerState,
  rejections: Rejections,
): Rejection | undefined {
  const rejection = rejections.of(owner.origin)?.get(within(owner.gateway, listener.listener.id));
  return rejection && equal(rejection.content, listenerContent(owner, listener, rejections.contentOf))
    ? rejection
    : undefined;
}

function secretRejection(
  { gateway }: Pick<GatewayState, "gateway">,
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
): { readonly id: Key; readonly hostname: string } | undefined {
  for (const candidate of covering(hostname)) {
    const id = port.listeners.get(candidate);
    if (id !== undefined) return { id, hostname: candidate };
  }
  return undefined;
}

/** One port of a Gateway; `undefined` if none of its listeners is served. */
export function portOf(portKey: Key, state: GatewayState, { ports }: Listening): Port | undefined {
  const { served = [], silent = [] } = ports.get(portKey) ?? {};
  const [first] = served;
  if (first === undefined) return undefined;
  return {
    gateway: state.gateway,
    bind: state.bind,
    bound: first.bound,
    protocol: first.listener.protocol,
    listeners: new Map([...served, ...silent].map(({ listener }) => [listener.hostname, listener.id])),
  };
}

export function irListener(portKey: Key, port: Port, { ports }: Listening): IrListener {
  const own = ports.get(portKey)?.served ?? [];
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
