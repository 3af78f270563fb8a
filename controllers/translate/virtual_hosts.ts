/**
 * Virtual hosts: for each hostname of a port the routes that may answer, in order of precedence.
 *
 * A proxy picks one virtual host, the most specific, and looks no further. So a virtual host holds, besides the routes
 * that name just its hostname, those with wider ones: what the first do not match falls through to the others.
 *
 * @module
 */
import type { Route, VirtualHost } from "../ir/mod.ts";
import type { Group, Key } from "../runtime/graph.ts";
import { covering } from "./hostnames.ts";
import { compare, matchesAll } from "./matches.ts";
import type { Placement, Served } from "./placements.ts";
import { type GatewayState, type ListenerState, ownerOf, type Port } from "./ports.ts";
import { entryAt } from "./rules.ts";

/** Hostnames that a route or a listener brings to ports. */
export interface Hosts {
  /** Keys of virtual hosts. */
  readonly keys: readonly Key[];
}

export function hostKey(portKey: Key, hostname: string): Key {
  return `${portKey}/${hostname}`;
}

export function hostsOfPlacement({ listeners }: Placement): Hosts {
  const keys = listeners.flatMap(({ portKey, hostnames }) =>
    hostnames.map(({ effective }) => hostKey(portKey, effective))
  );
  return { keys: [...new Set(keys)] };
}

/**
 * Every listener has a virtual host of its own hostname: one without routes keeps requests from wider listeners.
 */
export function hostsOfListeners(listeners: readonly ListenerState[]): Hosts {
  return { keys: listeners.map(({ portKey, listener }) => hostKey(portKey, listener.hostname)) };
}

/** Splits the key of a virtual host: port, hostname. A hostname has no slash. */
export function splitHostKey(key: Key): readonly [portKey: Key, hostname: string] {
  const slash = key.lastIndexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}

/**
 * Makes a virtual host. `claims` looks up the routes with a given original hostname on a listener; it is not asked
 * for hostnames that nothing can fall through to.
 */
export function virtualHost(
  key: Key,
  port: Port,
  claims: (listener: string, original: string) => Group<Served> | undefined,
): VirtualHost {
  const [portKey, hostname] = splitHostKey(key);
  const routes: Route[] = [];
  const listener = ownerOf(port, hostname);
  const seen = new Set<Key>();
  for (const original of listener === undefined ? [] : covering(hostname)) {
    const members = claims(listener!, original);
    if (members === undefined) continue;
    const entries = [...members].flatMap(([route, served]) => {
      if (seen.has(route)) return []; // Its rules are there already, for a more specific hostname.
      seen.add(route);
      return served.entries;
    });
    entries.sort(compare);
    for (const entry of entries) {
      routes.push(entryAt(entry, port.bound).route);
      if (matchesAll(entry.route.match)) return { routes: portKey, hostname, entries: routes };
    }
  }
  return { routes: portKey, hostname, entries: routes };
}

/** The port of a Gateway, from the one Gateway that has it. */
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
