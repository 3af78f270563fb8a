/**
 * Translation: from Kubernetes objects to the data-plane model, to statuses and to the writes that are due.
 *
 * Here the tables are wired; what happens in a row is in the other files. The order is that of the data:
 *
 *     GatewayClass ─► classes ─► gateways ─► states ─► ports ───────────────► listeners
 *                                   │          │          └────┐
 *     routes of all kinds ─► routes ─► resolved ─► attachments ─► placements ─► served ─► virtual hosts, clusters
 *                                                                    └─► contributions          └─► endpoints
 *
 * `placements` and `contributions` say what is meant; `served` is what remains once the proxies' rejections are
 * heeded. Contributions do not depend on rejections, or a rejection would lift itself.
 *
 * @module
 */
import type { Contribution, Endpoints, GatewayKey, Ir, Rejection } from "../ir/mod.ts";
import type { Graph, Group, Key, Read, Table } from "../runtime/graph.ts";
import { attach, type Attachment } from "./attach.ts";
import type { ClusterSpec } from "./backends.ts";
import { modelClass } from "./classes.ts";
import type { Config } from "./config.ts";
import { dueForOwn, dueForRoute, type StatusWrite } from "./due.ts";
import { endpointsOf, serviceOf } from "./endpoints.ts";
import { type GatewayModel, modelGateway } from "./gateways.ts";
import { httpRoute } from "./http_route.ts";
import type { Gateway, GatewayClass, ReferenceGrant, RouteObject } from "./objects.ts";
import {
  claimKey,
  contributionOf,
  type Placement,
  placeRoute,
  serve,
  type Served,
  serviceContribution,
  serviceOrigin,
} from "./placements.ts";
import {
  type GatewayState,
  irListener,
  listenerContent,
  listenerPiece,
  rejectionOf,
  servedListeners,
  stateOfGateway,
} from "./ports.ts";
import { modelRoute, type RouteKind, type RouteModel } from "./route_kind.ts";
import { originOf, resolveRoute } from "./rules.ts";
import { classStatus, type DesiredStatus, gatewayStatus, routeStatus } from "./statuses.ts";
import { hostsOfListeners, hostsOfPlacement, portOf, splitHostKey, virtualHost } from "./virtual_hosts.ts";
import type { World } from "./world.ts";

export { type Config, defaultConfig } from "./config.ts";
export { type PatchOperation, stamp, type StatusWrite } from "./due.ts";
export type { DesiredStatus } from "./statuses.ts";
export { type Addresses, createWorld, kinds, type PortState, type World } from "./world.ts";

/** What has to exist so that a Gateway can be served. Row key: the Gateway. */
export interface Infrastructure {
  readonly uid: string;
  readonly generation: number;
  readonly className: string;
  /** Its deletion has begun: nothing is to be created or repaired, only taken down. */
  readonly terminating: boolean;
  /** Why nothing is to be created: the Gateway is not accepted. */
  readonly refused?: string;
  /** The ports of the accepted listeners, as the spec has them, sorted. */
  readonly ports: readonly { readonly port: number; readonly transport: "tcp" | "udp" }[];
  /** IP addresses that the spec asks for. */
  readonly requested: readonly string[];
  readonly labels: { readonly [name: string]: string };
  readonly annotations: { readonly [name: string]: string };
}

export interface Translation {
  readonly ir: Ir;
  /** Desired statuses of the objects that are ours. Row key: `Kind/namespace/name`. */
  readonly statuses: Table<DesiredStatus>;
  readonly due: Table<StatusWrite>;
  readonly gateways: Table<Infrastructure>;
}

/** The kinds of routes that are understood. A new one is a description here. */
const routeKinds: readonly RouteKind[] = [httpRoute];

const descriptions: ReadonlyMap<string, RouteKind> = new Map(
  routeKinds.map((description) => [description.kind, description]),
);

export function deriveIr(graph: Graph, world: World, config: Config): Translation {
  const { objects } = world;

  // What objects say on their own. Statuses and resource versions end here.
  const classes = graph.derive("classes", objects.GatewayClass, (object) => modelClass(object, config));
  const gateways = graph.derive(
    "gateways",
    objects.Gateway,
    (object, read) => modelGateway(object, read, classes),
  );
  const routesByKind = routeKinds.map((description) => {
    const { kind } = description;
    const source: Table<RouteObject> = objects[kind];
    const table = graph.derive(
      `routes of kind ${kind}`,
      source,
      (object) => modelRoute(description, object, config),
    );
    return [`${kind}/`, table] as const;
  });
  const routes = graph.union("routes", routesByKind);
  const grants: Table<Group<ReferenceGrant>> = graph.index(
    "grants by namespace",
    objects.ReferenceGrant,
    ({ metadata }) => [metadata.namespace ?? ""],
  );

  // Routes meet backends and listeners.
  const resolved = graph.derive("resolved routes", routes, (route, read) => {
    const tables = { services: objects.Service, grants };
    return resolveRoute(route, descriptions.get(route.kind)!, read, tables);
  });
  const attachments = graph.derive("attachments", routes, (route, read, key) => {
    const tables = { gateways, namespaces: objects.Namespace };
    return attach(route, read(resolved, key)!, read, tables);
  });

  // Listeners meet addresses and rejections.
  const rejections = graph.index("rejections by origin", world.rejections, (_, key) => [originOfPiece(key)]);
  const states = graph.derive(
    "gateway states",
    gateways,
    (model, read, key) => stateOfGateway(key, model, read(world.addresses, key)),
  );
  const servedOf = (gateway: GatewayKey, state: GatewayState, read: Read) =>
    servedListeners(state, read(rejections, `${gateway}|Gateway/${gateway}`));
  const statesByPort = graph.index(
    "gateway states by port",
    states,
    ({ listeners }) => [...new Set(listeners.map(({ portKey }) => portKey))],
  );
  const ports = graph.derive("ports", statesByPort, (group, read, portKey) => {
    for (const state of group.values()) return portOf(portKey, state, servedOf(state.gateway, state, read));
  });
  const listeners = graph.derive("ir.listeners", ports, (port, _, key) => irListener(key, port));

  // What each route means to put into each Gateway, and what is served of it.
  const byGateway = graph.index(
    "attachments by gateway",
    attachments,
    (attachment) =>
      [...new Set(attachment.parents.filter(({ refused }) => !refused).map(({ gateway }) => gateway))]
        .map((gateway) => `${gateway}|${originOf(attachment)}`),
  );
  const placements = graph.derive("placements", byGateway, (group, read, key) => {
    const [gateway, origin] = splitKey(key);
    const state = read(states, gateway);
    if (state === undefined) return undefined;
    for (const attachment of group.values()) {
      return placeRoute(attachment, state, servedOf(gateway, state, read), origin);
    }
  });
  const served = graph.derive("served routes", placements, (placement, read) => {
    const { gateway, origin } = placement;
    return serve(placement, read(resolved, origin)!, (other) => read(rejections, `${gateway}|${other}`));
  });

  const virtualHosts = deriveVirtualHosts(graph, { states, servedOf, ports, placements, served });
  const membership = graph.derive("virtual hosts' names", virtualHosts, ({ routes }) => ({ routes }));
  const hostsByPort = graph.index("virtual hosts by port", membership, ({ routes }) => [routes]);
  const routeTables = graph.derive("ir.routeTables", ports, ({ gateway }, read, name) => ({
    gateway,
    name,
    virtualHosts: [...read(hostsByPort, name)?.keys() ?? []],
  }));

  // Clusters: those that are served, and for the contributions those that are meant.
  const used = clustersByGateway(
    graph,
    "used",
    graph.derive("used clusters", served, ({ gateway, clusters }) => ({ gateway, clusters })),
  );
  const clusterUses = graph.derive("ir.clusterUses", used, ({ gateway, cluster }) => ({
    gateway,
    cluster: cluster.name,
  }));
  const usesByCluster = graph.index("uses by cluster", used, ({ cluster }) => [cluster.name]);
  const specs = graph.derive("clusters", usesByCluster, (group): ClusterSpec | undefined => {
    for (const { cluster } of group.values()) return cluster;
  });
  const clusters = graph.derive("ir.clusters", specs, ({ name, protocol }) => ({ name, protocol }));
  const slices = graph.index("slices by service", objects.EndpointSlice, serviceOf);
  const endpoints = graph.derive(
    "ir.endpoints",
    specs,
    (cluster, read): Endpoints =>
      endpointsOf(cluster, read(objects.Service, cluster.service), read(slices, cluster.service)),
  );

  const contributions = deriveContributions(graph, { states, placements, resolved });
  const ir: Ir = { listeners, routeTables, virtualHosts, clusters, clusterUses, endpoints, contributions };

  // Statuses.
  const attached = graph.derive(
    "attached routes",
    graph.index(
      "attachments by listener",
      attachments,
      ({ parents }) => [
        ...new Set(
          parents.flatMap(({ gateway, listeners }) => listeners.map(({ name }) => `${gateway}/${name}`)),
        ),
      ],
    ),
    (group) => group.size,
  );
  const gatewayStatuses = graph.derive("statuses of gateways", states, (state, read, key) => {
    const model = read(gateways, key)!;
    const own = read(rejections, `${key}|Gateway/${key}`);
    return gatewayStatus(model, {
      listeners: state.listeners,
      addresses: read(world.addresses, key),
      verdict: read(world.verdicts, `${key}|Gateway/${key}`),
      proxies: read(world.proxies, key)?.length,
      attached: (listener) => read(attached, `${key}/${listener}`) ?? 0,
      rejected: (name) => {
        const listener = state.listeners.find(({ listener }) => listener.name === name);
        const rejection = listener && rejectionOf(state, listener, own);
        return rejection && (rejection.message ?? "");
      },
    });
  });
  const statuses = graph.union<DesiredStatus>("statuses", [
    ["GatewayClass/", graph.derive("statuses of classes", classes, (model) => classStatus(model))],
    ["Gateway/", gatewayStatuses],
    ...routesByKind.map(([prefix, table]) => {
      const own = graph.derive(`statuses of ${table.name}`, table, (route, read) => {
        const origin = originOf(route);
        const attachment = read(attachments, origin);
        return attachment && routeStatus(attachment, {
          resolved: read(resolved, origin)!,
          verdict: (gateway) => read(world.verdicts, `${gateway}|${origin}`),
          served: (gateway) => read(served, `${gateway}|${origin}`),
        });
      });
      return [prefix, own] as const;
    }),
  ]);

  const due = graph.union<StatusWrite>("due", [
    ...(["GatewayClass", "Gateway"] as const).map((kind) => {
      const objects: Table<GatewayClass | Gateway> = world.objects[kind];
      const table = graph.derive(`due for ${kind}`, objects, (object, read, key) => {
        const desired = read(statuses, `${kind}/${key}`);
        return desired?.kind === kind ? dueForOwn(object, key, desired) : undefined;
      });
      return [`${kind}/`, table] as const;
    }),
    ...routeKinds.map(({ kind }) => {
      const objects: Table<RouteObject> = world.objects[kind];
      const table = graph.derive(`due for ${kind}`, objects, (object, read, key) => {
        const desired = read(statuses, `${kind}/${key}`);
        const parents = desired && "parents" in desired ? desired.parents : [];
        return dueForRoute(object, key, kind, parents, config);
      });
      return [`${kind}/`, table] as const;
    }),
  ]);

  const infrastructure = graph.derive(
    "infrastructure",
    gateways,
    (model, read, key) => infrastructureOf(model, read(states, key)),
  );
  return { ir, statuses, due, gateways: infrastructure };
}

interface VirtualHostTables {
  readonly states: Table<GatewayState>;
  readonly servedOf: (gateway: GatewayKey, state: GatewayState, read: Read) => GatewayState["listeners"];
  readonly ports: Table<import("./ports.ts").Port>;
  readonly placements: Table<Placement>;
  readonly served: Table<Served>;
}

function deriveVirtualHosts(graph: Graph, tables: VirtualHostTables): Ir["virtualHosts"] {
  const { states, servedOf, ports, placements, served } = tables;
  const hosts = graph.union("hosts", [
    [
      "listeners ",
      graph.derive(
        "hosts of listeners",
        states,
        (state, read, gateway) => hostsOfListeners(servedOf(gateway, state, read)),
      ),
    ],
    ["routes ", graph.derive("hosts of routes", placements, hostsOfPlacement)],
  ]);
  const byHost = graph.index("hosts by name", hosts, ({ keys }) => keys);
  const claims = graph.index("routes by claim", served, ({ claims }) => claims);
  return graph.derive("ir.virtualHosts", byHost, (_, read, key) => {
    const port = read(ports, splitHostKey(key)[0]);
    return port &&
      virtualHost(
        key,
        port,
        (listener, original) => read(claims, claimKey(port.gateway, listener, original)),
      );
  });
}

interface GatewayCluster {
  readonly gateway: GatewayKey;
  readonly cluster: ClusterSpec;
}

/** From what each route needs of a Gateway to what they need together. Row key: `GATEWAY|CLUSTER`. */
function clustersByGateway(
  graph: Graph,
  name: string,
  needs: Table<{ readonly gateway: GatewayKey; readonly clusters: readonly ClusterSpec[] }>,
): Table<GatewayCluster> {
  const groups = graph.index(
    `${name} clusters by gateway`,
    needs,
    ({ gateway, clusters }) => clusters.map((cluster) => `${gateway}|${cluster.name}`),
  );
  return graph.derive(`${name} clusters of gateways`, groups, (group, _, key) => {
    const [gateway, name] = splitKey(key);
    for (const { clusters } of group.values()) {
      const cluster = clusters.find((cluster) => cluster.name === name);
      return cluster && { gateway, cluster };
    }
  });
}

interface ContributionTables {
  readonly states: Table<GatewayState>;
  readonly placements: Table<Placement>;
  readonly resolved: Table<import("./rules.ts").ResolvedRoute>;
}

function deriveContributions(graph: Graph, tables: ContributionTables): Ir["contributions"] {
  const { states, placements, resolved } = tables;
  const ofRoutes = graph.derive(
    "contributions of routes",
    placements,
    (placement, read) => contributionOf(placement, read(resolved, placement.origin)!),
  );
  const ofGateways = graph.derive("contributions of gateways", states, gatewayContribution);
  const needs = graph.derive("meant clusters", placements, ({ gateway, origin }, read) => ({
    gateway,
    clusters: read(resolved, origin)!.rules.flatMap(({ clusters }) => clusters),
  }));
  const byService = graph.index(
    "meant clusters by service",
    clustersByGateway(graph, "meant", needs),
    ({ gateway, cluster }) => [`${gateway}|${serviceOrigin(cluster)}`],
  );
  const ofServices = graph.derive("contributions of services", byService, (group, _, key) => {
    const [gateway, origin] = splitKey(key);
    return serviceContribution(gateway, origin, [...group.values()].map(({ cluster }) => cluster));
  });
  const all = graph.union<Contribution>("contributions by sort", [
    ["gateways ", ofGateways],
    ["routes ", ofRoutes],
    ["services ", ofServices],
  ]);
  const byOrigin = graph.index(
    "contributions by origin",
    all,
    ({ gateway, origin }) => [`${gateway}|${origin}`],
  );
  return graph.derive("ir.contributions", byOrigin, (group) => {
    for (const contribution of group.values()) return contribution;
  });
}

function gatewayContribution(state: GatewayState): Contribution {
  const { gateway, generation, listeners } = state;
  return {
    gateway,
    origin: `Gateway/${gateway}`,
    generation,
    pieces: listeners.filter(({ refused }) => !refused).map((listener) => ({
      id: listenerPiece(gateway, listener.listener.name),
      content: listenerContent(state, listener),
      resources: [`listener:${listener.portKey}`, `routes:${listener.portKey}`],
    })),
  };
}

function infrastructureOf(model: GatewayModel, state: GatewayState | undefined): Infrastructure {
  const { uid, generation, className, terminating, requested, infrastructure, refused } = model;
  const keys = new Map(
    (state?.listeners ?? []).filter(({ refused, listener: { refused: own } }) => !refused || !own)
      .map(({ portKey, listener }) => [portKey, listener.port]),
  );
  const ports = [...keys].map(([key, port]) => ({
    port,
    transport: key.endsWith("/udp") ? "udp" as const : "tcp" as const,
  })).sort((a, b) => a.port - b.port || (a.transport < b.transport ? -1 : 1));
  return {
    uid,
    generation,
    className,
    terminating,
    ...refused && { refused: refused.message },
    ports,
    requested,
    ...infrastructure,
  };
}

/** Splits `GATEWAY|REST`. */
function splitKey(key: Key): readonly [gateway: GatewayKey, rest: string] {
  const bar = key.indexOf("|");
  return [key.slice(0, bar), key.slice(bar + 1)];
}

/** From `GATEWAY|Kind/namespace/name/…`, the key of a rejection, to `GATEWAY|ORIGIN`. */
function originOfPiece(key: Key): Key {
  const [gateway, piece] = splitKey(key);
  return `${gateway}|${piece.split("/").slice(0, 3).join("/")}`;
}

export type { Attachment, Rejection, RouteModel };
