/**
 * Routes with a wildcard for a hostname, or with none, where other routes name many hostnames.
 *
 * A proxy looks into one virtual host, so each of them repeats whatever its requests may fall through to. That multiplies the one by
 * the other: a route as large as the API takes it, next to 500 hostnames, would be more than a proxy or an operator can hold.
 *
 * @module
 */
import type { GatewayKey } from "../ir/mod.ts";
import type { Graph, Key, Table } from "../runtime/graph.ts";
import type { Served } from "./placements.ts";

/** The most that the virtual hosts of a Gateway repeat, in characters of JSON: some hundred megabytes to a proxy at the worst. */
const most = 128 * 1024 * 1024;

/** A virtual host, as far as it is one of many. */
export interface Host {
  readonly gateway: GatewayKey;
}

/**
 * The routes that are too large to be repeated: they answer where their own hostname is all that requests are for, and not for
 * hostnames that others name. Row key: as `claimKey` has it. The largest are left out first, so that they push out no others.
 *
 * `hosts` has a row for each virtual host.
 */
export function deriveLeftOut(
  graph: Graph,
  served: Table<Served>,
  hosts: Table<Host>,
): Table<ReadonlySet<Key>> {
  // Rounded up to a power of two, so that one more changes nothing.
  const crowds = graph.derive(
    "crowds",
    graph.index("hosts by gateway", hosts, ({ gateway }) => [gateway]),
    (group) => 2 ** Math.ceil(Math.log2(group.size)),
  );
  const sizes = graph.derive(
    "sizes of wide routes",
    served,
    ({ claims, entries }) => claims.some(isWide) ? JSON.stringify(entries).length : undefined,
  );
  const byClaim = graph.index("wide routes by claim", served, ({ claims }) => claims.filter(isWide));
  return graph.derive("routes left out", byClaim, (group, read) => {
    const [first] = group.values(), hosts = first ? read(crowds, first.gateway) ?? 1 : 1;
    const bySize = [...group.keys()].map((key) => ({ key, size: read(sizes, key) ?? 0 }))
      .sort((a, b) => a.size - b.size || (a.key < b.key ? -1 : 1));
    let left = most / hosts;
    const over = bySize.filter(({ size }) => (left -= size) < 0);
    return over.length > 0 ? new Set(over.map(({ key }) => key)) : undefined;
  });
}

function isWide(claim: Key): boolean {
  return claim[claim.lastIndexOf("|") + 1] === "*";
}
