/**
 * What a route puts into the proxies of one Gateway: first as it is meant, then without what they refuse.
 *
 * @module
 */
import type { Contribution, GatewayKey, Origin, Piece, Rejection, ResourceId } from "../ir/mod.ts";
import { equal } from "../runtime/equal.ts";
import type { Key } from "../runtime/graph.ts";
import { kept } from "../runtime/kept.ts";
import { within } from "./keys.ts";
import type { AttachedHostname, Attachment } from "./attach.ts";
import type { ClusterSpec } from "./backends.ts";
import type { Entry } from "./matches.ts";
import type { ListenerPlace, Rejections } from "./listening.ts";
import { withoutClusters } from "./actions.ts";
import { type ResolvedRoute, type ResolvedRule, safeStandIn } from "./rules.ts";

/** Where a route is served. Row key: `GATEWAY|ORIGIN`. No row: nowhere. */
export interface Placement {
  readonly gateway: GatewayKey;
  readonly origin: Origin;
  readonly generation: number;
  readonly listeners: readonly PlacedListener[];
}

export interface PlacedListener {
  /** The listener's id. */
  readonly id: Key;
  readonly portKey: Key;
  readonly bound: number;
  readonly hostnames: readonly AttachedHostname[];
}

/** What is served of a route. Row key: as {@linkcode Placement}. */
export interface Served {
  readonly gateway: GatewayKey;
  /** The hostnames that it claims, by {@linkcode claimKey}. */
  readonly claims: readonly Key[];
  readonly entries: readonly Entry[];
  readonly clusters: readonly ClusterSpec[];
  readonly rejected: readonly RejectedPart[];
}

/** What proxies refuse of a route: a whole rule, or just one backend of it. */
export interface RejectedPart {
  readonly rule: number;
  /** `namespace/name` of the Service, if it is the backend that they refuse. */
  readonly backend?: string;
  /** Their words; absent for as long as it is being found out which of several is at fault. */
  readonly message?: string;
}

/** The routes that may answer for a hostname on a listener, by the hostname as the routes have it. */
export function claimKey(gateway: GatewayKey, listener: Key, original: string): Key {
  return `${gateway}/${listener}|${original}`;
}

/** Places a route on the listeners that take it and are served; `placeOf` says where those are, by id. */
export function placeRoute(
  attachment: Attachment,
  gateway: GatewayKey,
  placeOf: (id: Key) => ListenerPlace | undefined,
  origin: Origin,
): Placement | undefined {
  const hostnames = new Map<Key, readonly AttachedHostname[]>();
  for (const parent of attachment.parents) {
    if (parent.gateway !== gateway) continue;
    for (const listener of parent.listeners) hostnames.set(listener.id, listener.hostnames);
  }
  const listeners = [...hostnames].flatMap(([id, hostnames]): PlacedListener[] => {
    const place = placeOf(id);
    return place?.served ? [{ id, portKey: place.portKey, bound: place.bound, hostnames }] : [];
  });
  if (listeners.length === 0) return undefined;
  return { gateway, origin, generation: attachment.generation, listeners: kept(listeners) };
}

/** What the route means to put into the proxies, rule by rule. */
export function contributionOf(placement: Placement, { rules }: ResolvedRoute): Contribution {
  const { gateway, origin, generation, listeners } = placement;
  const resources = [...new Set(listeners.map(({ portKey }): ResourceId => `routes:${portKey}`))].sort();
  return {
    gateway,
    origin,
    generation,
    pieces: rules.map((rule): Piece => ({
      id: rulePiece(origin, rule.index),
      content: ruleContent(placement, rule),
      resources,
    })),
  };
}

function rulePiece(origin: Origin, rule: number): Key {
  return `${origin}/rule/${rule}`;
}

/** Where the rule's routes go, and the routes: all that proxies are told because of a rule. */
function ruleContent({ listeners }: Placement, { entries }: ResolvedRule): unknown {
  const hosts = listeners.flatMap(({ portKey, bound, hostnames }) =>
    hostnames.map(({ effective }) => ({ routes: portKey, port: bound, hostname: effective }))
  );
  return { hosts: kept(hosts), routes: entries.map(({ route }) => route) };
}

/** What remains of the route once rejections are heeded. `rejections` are those of a given origin. */
export function serve(
  placement: Placement,
  { rules }: ResolvedRoute,
  rejections: Rejections,
): Served {
  const { gateway, origin, listeners } = placement;
  const entries: Entry[] = [];
  const clusters = new Map<string, ClusterSpec>();
  const rejected: RejectedPart[] = [];
  const rejectionOf = (owner: Origin, piece: Key, content: () => unknown): Rejection | undefined => {
    const rejection = rejections.of(owner)?.get(within(gateway, piece));
    return rejection && equal(rejection.content, content()) ? rejection : undefined;
  };
  for (const rule of rules) {
    const rejection = rejectionOf(origin, rulePiece(origin, rule.index), () => ruleContent(placement, rule));
    if (rejection) {
      rejected.push(part({ rule: rule.index }, rejection));
      entries.push(...rule.entries.flatMap((entry) => safeStandIn(entry) ?? []));
      continue;
    }
    const refused = new Set<string>();
    for (const cluster of rule.clusters) {
      const owner = serviceOrigin(cluster);
      const rejection = rejectionOf(
        owner,
        clusterPiece(cluster),
        () => clusterContent(cluster, rejections.contentOf),
      );
      if (rejection) {
        refused.add(cluster.name);
        rejected.push(part({ rule: rule.index, backend: cluster.service }, rejection));
      } else clusters.set(cluster.name, cluster);
    }
    entries.push(...refused.size > 0 ? rule.entries.map((e) => withoutClusters(e, refused)) : rule.entries);
  }
  const claims = listeners.flatMap(({ id, hostnames }) =>
    hostnames.map(({ original }) => claimKey(gateway, id, original))
  );
  return {
    gateway,
    claims: kept(claims),
    entries: kept(entries),
    clusters: [...clusters.values()],
    rejected,
  };
}

function part(where: Omit<RejectedPart, "message">, { message }: Rejection): RejectedPart {
  return { ...where, ...message !== undefined && { message } };
}

/** The origin of what a backend puts into proxies. */
export function serviceOrigin({ service }: ClusterSpec): Origin {
  return `Service/${service}`;
}

/** A port may be the matter of several clusters, which the ends of their names tell apart. */
function clusterPiece(cluster: ClusterSpec): Key {
  return `${serviceOrigin(cluster)}/port/${cluster.name.slice(cluster.service.length + 1)}`;
}

/** What proxies are told about a cluster, the authorities that its certificate has to come from included. */
function clusterContent(
  { name, protocol, tls }: ClusterSpec,
  contentOf: Rejections["contentOf"],
): unknown {
  const secret = authoritiesOf(tls);
  return { name, protocol, ...tls && { tls }, ...secret !== undefined && { authorities: contentOf(secret) } };
}

/** The secret with the authorities that a backend's certificate has to come from. */
export function authoritiesOf(tls: ClusterSpec["tls"]): string | undefined {
  return tls === undefined || tls.authorities === "system" ? undefined : tls.authorities.secret;
}

/** What a Service means to put into the proxies of a Gateway. It has no generation. */
export function serviceContribution(
  gateway: GatewayKey,
  origin: Origin,
  clusters: readonly ClusterSpec[],
  contentOf: Rejections["contentOf"],
): Contribution {
  return {
    gateway,
    origin,
    generation: 0,
    pieces: clusters.map((cluster): Piece => {
      const secret = authoritiesOf(cluster.tls);
      return {
        id: clusterPiece(cluster),
        content: clusterContent(cluster, contentOf),
        resources: [
          `cluster:${cluster.name}`,
          `endpoints:${cluster.name}`,
          ...secret === undefined ? [] : [`secret:${secret}` as const],
        ],
      };
    }),
  };
}
