/**
 * Routes with a wildcard for a hostname, or with none, where other routes name many hostnames.
 *
 * A proxy looks into one virtual host, so each of them repeats whatever its requests may fall through to. That multiplies the one by
 * the other: a route as large as the API takes it, next to 500 hostnames, would be more than a proxy or an operator can hold.
 *
 * @module
 */
import type { Graph, Key, Table } from "../runtime/graph.ts";
import { kept } from "../runtime/kept.ts";
import type { Served } from "./placements.ts";

/** The most that the virtual hosts of a Gateway repeat, in characters of JSON: some hundred megabytes to a proxy at the worst. */
const most = 128 * 1024 * 1024;

/**
 * The routes that are too large to be repeated, by what they claim: they answer where their own hostname is all that requests are
 * for, and not for hostnames that others name. What repeats most is left out first, so that it pushes out no others.
 *
 * @param widerThan what routes claim that requests for a virtual host fall through to
 */
export function deriveLeftOut<Host>(
  graph: Graph,
  served: Table<Served>,
  hosts: Table<Host>,
  widerThan: (host: Host, key: Key) => readonly Key[],
): Table<ReadonlySet<Key>> {
  const wide = graph.derive("wide routes", served, ({ gateway, claims, entries }) => {
    const wide = claims.filter(isWide);
    return wide.length > 0
      ? { gateway, claims: kept(wide), size: JSON.stringify(entries).length }
      : undefined;
  });
  const byClaim = graph.index("wide routes by claim", wide, ({ claims }) => claims);
  const claimed = graph.derive("wide claims", byClaim, () => true as const);
  const crowded = graph.derive("crowded hosts", hosts, (host, read, key) => {
    const wider = widerThan(host, key).filter((claim) => read(claimed, claim));
    return wider.length > 0 ? { wider: kept(wider) } : undefined;
  });
  // Rounded up to a power of two, so that one more changes nothing.
  const crowds = graph.derive(
    "crowds",
    graph.index("hosts by wide claim", crowded, ({ wider }) => wider),
    (group) => 2 ** Math.ceil(Math.log2(group.size)),
  );
  const leftOut = graph.derive(
    "routes left out by gateway",
    graph.index("wide routes by gateway", wide, ({ gateway }) => [gateway]),
    (group, read) => {
      const all = [...group].flatMap(([route, { claims, size }]) =>
        claims.map((claim) => ({ route, claim, cost: size * (read(crowds, claim) ?? 0) }))
      );
      if (all.reduce((sum, { cost }) => sum + cost, 0) <= most) return undefined;
      all.sort((a, b) => a.cost - b.cost || (a.route < b.route ? -1 : a.route > b.route ? 1 : 0));
      let left = most;
      const over = Map.groupBy(all.filter(({ cost }) => (left -= cost) < 0), ({ claim }) => claim);
      return new Map([...over].map(([claim, routes]) => [claim, new Set(routes.map(({ route }) => route))]));
    },
  );
  return graph.derive("routes left out", byClaim, (group, read, claim) => {
    const [first] = group.values();
    return first && read(leftOut, first.gateway)?.get(claim);
  });
}

function isWide(claim: Key): boolean {
  return claim[claim.lastIndexOf("|") + 1] === "*";
}
