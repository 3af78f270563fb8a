/**
 * The listeners of a Gateway that are served: those that are meant, without what the proxies refuse.
 *
 * @module
 */
import type { Rejection } from "../ir/mod.ts";
import { equal } from "../runtime/equal.ts";
import type { Group, Key } from "../runtime/graph.ts";
import { within } from "./keys.ts";
import { hostnamePatternFault } from "./validate.ts";
import { type GatewayState, isServable, type ListenerState, type OwnerState } from "./gateway_state.ts";

/** What is served of a Gateway and its ListenerSets. Row key: the Gateway. */
export interface Listening {
  /** Every listener that is served, with the certificates that proxies take, by id. */
  readonly served: ReadonlyMap<Key, ListenerState>;
  /**
   * Those that keep their hostnames, although they are not served: they have no certificate, are refused, such as for filters
   * that are not supported, or are refused by proxies. Requests for them must not fall to a listener with a wider hostname,
   * whose routes were not meant for them and which may not ask of clients what they would.
   */
  readonly silent: ReadonlyMap<Key, ListenerState>;
  /** The first listener that is served on each port, by {@linkcode ListenerState.portKey}. */
  readonly ports: ReadonlyMap<Key, ListenerState>;
  /** The Secret with the certificate that backends are shown, unless proxies refuse it. */
  readonly clientCertificate?: Key;
}

/** Where a listener is that is served or keeps its hostname at least. Row key: the listener's id. */
export interface ListenerPlace extends Pick<ListenerState, "portKey" | "bound"> {
  readonly hostname: string;
  readonly served: boolean;
}

export function placeOfListener(id: Key, { served, silent }: Listening): ListenerPlace | undefined {
  const state = served.get(id) ?? silent.get(id);
  if (state === undefined) return undefined;
  const { portKey, bound, listener: { hostname } } = state;
  return { portKey, bound, hostname, served: served.has(id) };
}

/** What the proxies are told because of a listener; what a rejection of it is compared with. */
export function listenerContent(
  state: Pick<GatewayState, "bind" | "telemetry">,
  { listener, bound, tls }: ListenerState,
  contentOf: Rejections["contentOf"],
): unknown {
  const { protocol, hostname } = listener, { clients } = tls ?? {};
  return {
    bind: state.bind,
    port: bound,
    protocol,
    hostname,
    ...state.telemetry,
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
  const served = new Map<Key, ListenerState>(), unserved: ListenerState[] = [];
  const ports = new Map<Key, ListenerState>();
  for (const owner of state.owners.values()) {
    if (owner.refused) continue;
    for (const listener of owner.listeners) {
      const shown = withAcceptedCertificates(state, listener, rejections);
      if (!isServable(shown) || ownRejection(owner, listener, rejections)) {
        unserved.push(listener);
        continue;
      }
      const { listener: { id }, portKey } = shown;
      served.set(id, shown);
      if (!ports.has(portKey)) ports.set(portKey, shown);
    }
  }
  const { clientCertificate: shown } = state;
  const usable = typeof shown === "string" && !secretRejection(state, shown, rejections);
  return {
    served,
    silent: silentOf(unserved, served, ports),
    ports,
    ...usable && { clientCertificate: shown },
  };
}

/**
 * Of the listeners that are not served those that keep their hostnames. Not of another protocol than the port, which they
 * would not have been asked by; not if one that is served has the hostname, as the winner of a conflict does; not if the
 * Gateway has too many, or if proxies would refuse a virtual host of that name.
 */
function silentOf(
  unserved: readonly ListenerState[],
  served: Listening["served"],
  ports: Listening["ports"],
): Listening["silent"] {
  const place = ({ portKey, listener }: ListenerState) => `${portKey}/${listener.hostname}`;
  const taken = new Set([...served.values()].map(place));
  return new Map(
    unserved.filter((state) => {
      const { listener: { protocol, hostname }, portKey, refused } = state, port = ports.get(portKey);
      return port !== undefined && protocol === port.listener.protocol && !taken.has(place(state)) &&
        refused?.reason !== "TooManyListeners" && (hostname === "*" || !hostnamePatternFault(hostname));
    }).map((state) => [state.listener.id, state]),
  );
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
  return certificates.length < tls.certificates.length
    ? { ...listener, tls: { ...tls, certificates } }
    : listener;
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
