/**
 * Virtual hosts: for each hostname of a port the routes that may answer, in order of precedence.
 *
 * A proxy picks one virtual host, the most specific, and looks no further. So a virtual host holds, besides the routes
 * that name just its hostname, those with wider ones: what the first do not match falls through to the others.
 *
 * @module
 */
import type { Ir, Route, VirtualHost } from "../ir/mod.ts";
import type { Graph, Group, Key, Table } from "../runtime/graph.ts";
import { kept } from "../runtime/kept.ts";
import { entryAt } from "./actions.ts";
import { deriveLeftOut } from "./crowds.ts";
import { covering, intersect } from "./hostnames.ts";
import { compare, matchesAll } from "./matches.ts";
import { claimKey, type Placement, type Served } from "./placements.ts";
import { isEncrypted, type Port } from "./ports.ts";
import type { ListenerPlace } from "./listening.ts";

/** What a virtual host needs to know of its port. */
type HostPort = Omit<Port, "bind">;

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
export function hostsOfListener({ portKey, hostname }: ListenerPlace): Hosts {
  return { keys: [hostKey(portKey, hostname)] };
}

/** Splits the key of a virtual host: port, hostname. A hostname has no slash. */
export function splitHostKey(key: Key): readonly [portKey: Key, hostname: string] {
  const slash = key.lastIndexOf("/");
  return [key.slice(0, slash), key.slice(slash + 1)];
}

/** A virtual host with whom it belongs to: the most specific listener of its port that covers its hostname. */
interface Owned {
  readonly port: HostPort;
  readonly owner?: { readonly id: Key; readonly hostname: string };
}

/**
 * Makes a virtual host. `claims` looks up the routes with a given original hostname on a listener; it is not asked for hostnames
 * that nothing can fall through to. `leftOut` says which of these are too large to be repeated here.
 */
export function virtualHost(
  key: Key,
  { port, owner }: Owned,
  claims: (listener: Key, original: string) => Group<Served> | undefined,
  leftOut: (listener: Key, original: string) => ReadonlySet<Key> | undefined,
): VirtualHost {
  const [portKey, hostname] = splitHostKey(key);
  const routes: Route[] = [];
  const host = (): VirtualHost => ({
    routes: portKey,
    hostname,
    ...isEncrypted(port) && owner && { chain: owner.hostname },
    entries: kept(routes),
  });
  if (owner === undefined) return host();
  const seen = new Set<Key>();
  for (const original of covering(hostname)) {
    const members = claims(owner.id, original);
    if (members === undefined) continue;
    const without = isOwn(hostname, owner.hostname, original) ? undefined : leftOut(owner.id, original);
    const entries = [...members].flatMap(([route, served]) => {
      if (without?.has(route)) return [];
      if (seen.has(route)) return []; // Its rules are there already, for a more specific hostname.
      seen.add(route);
      return served.entries;
    });
    entries.sort(compare);
    for (const entry of entries) {
      routes.push(entryAt(entry, port.bound).route);
      if (matchesAll(entry.route.match)) return host();
    }
  }
  return host();
}

/** Whether it is what is left of a route's hostname on a listener. */
function isOwn(hostname: string, listener: string, original: string): boolean {
  return intersect(listener, original) === hostname;
}

function first(group: Group<unknown> | undefined): Key | undefined {
  return group?.keys().next().value;
}

export interface VirtualHostTables {
  readonly places: Table<ListenerPlace>;
  readonly ports: Table<Port>;
  readonly placements: Table<Placement>;
  readonly served: Table<Served>;
}

/** Derives virtual hosts and the route tables that list them. */
export function deriveVirtualHosts(
  graph: Graph,
  { places, ports, placements, served }: VirtualHostTables,
): Pick<Ir, "virtualHosts" | "routeTables"> & { readonly leftOut: Table<ReadonlySet<Key>> } {
  const hostsByListener = graph.derive("hosts of listeners", places, hostsOfListener);
  const listenersByHost = graph.index("listeners by host", hostsByListener, ({ keys }) => keys);
  const hosts = graph.union<Hosts>("hosts", [
    ["listeners ", hostsByListener],
    ["routes ", graph.derive("hosts of routes", placements, hostsOfPlacement)],
  ]);
  const byHost = graph.index("hosts by name", hosts, ({ keys }) => keys);
  const claims = graph.index("routes by claim", served, ({ claims }) => claims);
  // Where a port is bound is no business of theirs: addresses may come after thousands of virtual hosts.
  const unplaced = graph.derive("ports without addresses", ports, ({ bind: _, ...port }): HostPort => port);
  const owned = graph.derive("owned hosts", byHost, (_, read, key): Owned | undefined => {
    const [portKey, hostname] = splitHostKey(key), port = read(unplaced, portKey);
    if (!port) return undefined;
    for (const candidate of covering(hostname)) {
      const id = first(read(listenersByHost, hostKey(portKey, candidate)));
      if (id !== undefined) return { port, owner: { id, hostname: candidate } };
    }
    return { port };
  });
  const leftOut = deriveLeftOut(graph, served, owned, ({ port, owner }, key) => {
    if (!owner) return [];
    const [, hostname] = splitHostKey(key);
    const wider = covering(hostname).filter((one) => !isOwn(hostname, owner.hostname, one));
    return wider.map((original) => claimKey(port.gateway, owner.id, original));
  });
  const virtualHosts = graph.derive("ir.virtualHosts", owned, (host, read, key) => {
    const { gateway } = host.port;
    return virtualHost(
      key,
      host,
      (listener, original) => read(claims, claimKey(gateway, listener, original)),
      (listener, original) => read(leftOut, claimKey(gateway, listener, original)),
    );
  });
  const routeTables = graph.derive("ir.routeTables", ports, ({ gateway }, _, name) => ({ gateway, name }));
  return { virtualHosts, routeTables, leftOut };
}
