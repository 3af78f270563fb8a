/**
 * Translation: from Kubernetes objects to the data-plane model, to statuses and to the writes that are due.
 *
 * Here the tables are wired; what happens in a row is in the other files. The order is that of the data:
 *
 *                               Secrets ─► certificates ─────────────────► secrets
 *                                   ▲          ▼
 *       EnvoyFleet ─► fleets
 *                       ▼
 *     GatewayClass ─► classes ─► gateways ─► states ─► listening ─► ports ─► listeners
 *                    ListenerSet ─► sets ───────┘          └────┐
 *     routes of all kinds ─► routes ─► resolved ─► attachments ─► placements ─► served ─► virtual hosts, clusters
 *                                                                    └─► contributions          └─► endpoints
 *
 * `placements` and `contributions` say what is meant; `served` is what remains once the proxies' rejections are
 * heeded.
 *
 * @module
 */
import type { ReferenceGrant } from "../../crds/mod.ts";
import type { GatewayKey, Ir } from "../ir/mod.ts";
import type { Graph, Group, Read, Table } from "../runtime/graph.ts";
import { kept } from "../runtime/kept.ts";
import { attach } from "./attach.ts";
import { modelPolicy } from "./backend_tls.ts";
import { modelClass } from "./classes.ts";
import { clustersByGateway, deriveClusters } from "./clusters.ts";
import type { Config } from "./config.ts";
import { deriveContributions } from "./contributions.ts";
import { deriveInstalled } from "./definitions.ts";
import type { StatusWrite } from "./due.ts";
import { stateOfGateway } from "./gateway_state.ts";
import { deriveFinalizers, type FinalizerWrite } from "./finalizers.ts";
import { modelGateway, unreadableGateway } from "./gateways.ts";
import { modelFleet, unreadableFleet } from "./fleets.ts";
import { type Infrastructure, infrastructureOf } from "./infrastructure.ts";
import { listeningOf, placeOfListener, type Rejections } from "./listening.ts";
import { namespaceOf, originOfPiece, split, splitOrigin, within } from "./keys.ts";
import { modelListenerSet, unreadableListenerSet } from "./listener_sets.ts";
import type { RouteObject } from "./objects.ts";
import { placeRoute, serve } from "./placements.ts";
import { resolveClientCertificate, resolveListenerTls } from "./listener_tls.ts";
import { chainOf, irListener, portOf } from "./ports.ts";
import { modelRoute, unreadableRoute } from "./route_kind.ts";
import { descriptionOf, routeKinds } from "./route_kinds.ts";
import { originOf, resolveRoute, unresolvableRoute } from "./rules.ts";
import { deriveSecrets, type ListenerOwner, readSecrets, secretContent } from "./secrets.ts";
import { deriveDue, deriveStatuses } from "./derive_statuses.ts";
import type { DesiredStatus } from "./statuses.ts";
import { deriveVirtualHosts } from "./virtual_hosts.ts";
import type { World } from "./world.ts";

export { timeStep } from "./certificates.ts";
export { type Config, defaultConfig } from "./config.ts";
export { type PatchOperation, stamp, type StatusWrite } from "./due.ts";
export type { Fleet } from "./fleet.ts";
export {
  type FinalizerWrite,
  gatewayExists,
  gatewayFinalizer,
  skipTeardown,
  withFinalizer,
} from "./finalizers.ts";
export type { Infrastructure } from "./infrastructure.ts";
export type { DesiredStatus } from "./statuses.ts";
export {
  type Addresses,
  createSources,
  createWorld,
  kinds,
  metadataOnly,
  type PortState,
  type Refusal,
  type Sources,
  type ToldWorld,
  type World,
} from "./world.ts";

export interface Translation {
  readonly ir: Ir;
  /** Desired statuses of the objects that are ours. Row key: `Kind/namespace/name`. */
  readonly statuses: Table<DesiredStatus>;
  /** The writes that make observed statuses the desired ones. Row key: `Kind/namespace/name`. */
  readonly due: Table<StatusWrite>;
  /** The finalizers that are to be added or removed. Row key: as above. */
  readonly finalizers: Table<FinalizerWrite>;
  /** The Gateways that are ours, with what has to exist around their proxies. */
  readonly gateways: Table<Infrastructure>;
}

/** Wires the tables of translation. */
export function deriveIr(graph: Graph, world: World, config: Config): Translation {
  const { objects } = world;

  // What objects say on their own. Their statuses and resource versions end here.
  const installedApi = deriveInstalled(graph, objects.CustomResourceDefinition);
  const fleets = graph.derive("fleets", objects.EnvoyFleet, (object) => modelFleet(object), {
    failed: (error, object) => unreadableFleet(object, error),
  });
  const classes = graph.derive(
    "classes",
    objects.GatewayClass,
    (object, read) => modelClass(object, read, fleets, config),
  );
  const gateways = graph.derive(
    "gateways",
    objects.Gateway,
    (object, read) => modelGateway(object, read, { classes, fleets }, config),
    { failed: (error, object) => unreadableGateway(object, error, config) },
  );
  const listenerSets = graph.derive(
    "listener sets",
    objects.ListenerSet,
    (object, read) => modelListenerSet(object, read, { gateways, namespaces: objects.Namespace }),
    { failed: (error, object) => unreadableListenerSet(object, error) },
  );
  const setsByGateway = graph.index("listener sets by gateway", listenerSets, ({ gateway }) => [gateway]);
  const listenerOwners = graph.union<ListenerOwner>("owners of listeners", [
    ["Gateway/", gateways],
    ["ListenerSet/", listenerSets],
  ]);
  const routesByKind = routeKinds.map((description) => {
    const { kind } = description;
    const source: Table<RouteObject> = objects[kind];
    const table = graph.derive(`${kind}s`, source, (object) => modelRoute(description, object, config), {
      failed: (error, object) => unreadableRoute(description, object, error),
    });
    return [`${kind}/`, table] as const;
  });
  const routes = graph.union("routes", routesByKind);

  // Routes meet backends, then listeners.
  const grants: Table<Group<ReferenceGrant>> = graph.index(
    "grants by namespace",
    objects.ReferenceGrant,
    ({ metadata }) => [metadata.namespace ?? ""],
  );
  const secrets = readSecrets(graph, world, listenerOwners, config);
  const policies = graph.derive(
    "policies",
    objects.BackendTLSPolicy,
    (object, read) => modelPolicy(object, read, secrets.facts),
  );
  const policiesByService = graph.index(
    "policies by service",
    policies,
    ({ targets }) => [...new Set(targets.map(({ service }) => service))],
  );
  const backends = { services: objects.Service, grants, policies: policiesByService };
  const resolved = graph.derive(
    "resolved routes",
    routes,
    (route, read) => resolveRoute(route, descriptionOf(route), read, backends),
    { failed: (error, route) => unresolvableRoute(route, error) },
  );
  const attachments = graph.derive("attachments", routes, (route, read, key) => {
    const rules = read(resolved, key);
    return rules && attach(route, rules, read, { gateways, listenerSets, namespaces: objects.Namespace });
  });

  // Listeners meet their certificates, the ports that were really bound, and rejections.
  const rejectionsByOrigin = graph.index("rejections by origin", world.rejections, (_, key) => {
    const [gateway, piece] = split(key);
    return [within(gateway, originOfPiece(piece))];
  });
  const rejectionsIn = (gateway: GatewayKey, read: Read): Rejections => ({
    of: (origin) => read(rejectionsByOrigin, within(gateway, origin)),
    contentOf: (secret) => secretContent(secret, read, secrets),
  });
  const tls = { certificates: secrets.certificateFacts, authorities: secrets.facts, grants };
  const tlsByOwner = graph.derive("tls of listeners", listenerOwners, ({ listeners }, read, origin) => {
    const [kind, key] = splitOrigin(origin);
    const gateway = kind === "Gateway" ? key : read(listenerSets, key)?.gateway ?? "";
    const referrer = { kind: "Gateway", namespace: namespaceOf(gateway) } as const;
    return new Map(listeners.map((listener) => [
      listener.id,
      resolveListenerTls(listener, referrer, read, tls),
    ]));
  });
  const states = graph.derive("gateway states", gateways, (model, read, key) => {
    const from = { kind: "Gateway", namespace: namespaceOf(key) } as const;
    return stateOfGateway(key, model, read(setsByGateway, key)?.values() ?? [], {
      addresses: read(world.addresses, key),
      tlsOf: ({ id, owner }) => read(tlsByOwner, owner)?.get(id),
      clientCertificate: model.clientCertificate &&
        resolveClientCertificate(model.clientCertificate, from, read, tls),
      mostListeners: config.mostListeners,
    });
  });
  const statesByOwner = graph.index(
    "gateway states by owner",
    states,
    ({ gateway, owners }) => [...owners.keys()].map((origin) => within(gateway, origin)),
  );
  const owners = graph.derive("owner states", statesByOwner, (group, _, key) => {
    const [gateway, origin] = split(key);
    return group.get(gateway)?.owners.get(origin);
  });
  const listening = graph.derive(
    "served listeners",
    states,
    (state, read, key) => listeningOf(state, rejectionsIn(key, read)),
  );
  const listeningByPort = graph.index("gateways by port", listening, ({ ports }) => [...ports.keys()]);
  const ports = graph.derive("ports", listeningByPort, (group, read, key) => {
    for (const [gateway, here] of group) {
      const state = read(states, gateway);
      return state && portOf(key, state, here);
    }
  });
  const listeners = graph.derive("ir.listeners", ports, (port, read, key) => {
    const state = read(states, port.gateway);
    return state && irListener(key, port, state.telemetry);
  });

  // A row for each listener: routes depend on theirs, and not on what else the Gateway has.
  const listeningByListener = graph.index(
    "gateways by listener",
    listening,
    ({ served, silent }) => [...served.keys(), ...silent.keys()],
  );
  const places = graph.derive("places of listeners", listeningByListener, (group, _, id) => {
    for (const here of group.values()) return placeOfListener(id, here);
  });
  const chains = graph.derive("ir.chains", listeningByListener, (group, _, id) => {
    for (const { served } of group.values()) {
      const listener = served.get(id);
      return listener && chainOf(listener);
    }
  });

  // What each route means to put into each Gateway, and what is served of it.
  const byGateway = graph.index("attachments by gateway", attachments, (attachment) => {
    const taken = attachment.parents.filter(({ listeners }) => listeners.length > 0);
    const names = new Set(taken.map(({ gateway }) => gateway));
    return [...names].map((gateway) => within(gateway, originOf(attachment)));
  });
  const placements = graph.derive("placements", byGateway, (group, read, key) => {
    const [gateway, origin] = split(key);
    for (const attachment of group.values()) {
      return placeRoute(attachment, gateway, (id) => read(places, id), origin);
    }
  });
  const served = graph.derive("served routes", placements, (placement, read) => {
    const rules = read(resolved, placement.origin);
    return rules && serve(placement, rules, rejectionsIn(placement.gateway, read));
  });

  const meant = clustersByGateway(
    graph,
    "meant",
    graph.derive("meant clusters", placements, ({ gateway, origin }, read) => ({
      gateway,
      clusters: kept(read(resolved, origin)?.rules.flatMap(({ clusters }) => clusters) ?? []),
    })),
  );

  const tables = {
    fleets,
    meant,
    policies,
    policiesByService,
    classes,
    installedApi,
    gateways,
    routesByKind,
    resolved,
    attachments,
    rejectionsIn,
    secrets,
    listenerSets,
    states,
    owners,
    listening,
    places,
    ports,
    placements,
    served,
  };
  const { used, ...clusters } = deriveClusters(
    graph,
    world,
    { served, states },
    (gateway, read) => read(listening, gateway)?.clientCertificate,
    config.place,
  );
  const { leftOut, ...hosts } = deriveVirtualHosts(graph, tables);
  const ir: Ir = {
    listeners,
    chains,
    ...hosts,
    ...clusters,
    ...deriveSecrets(graph, secrets, { listening, used, clusterUses: clusters.clusterUses }),
    contributions: deriveContributions(graph, tables),
  };
  const statuses = deriveStatuses(graph, world, { ...tables, leftOut }, config);
  const due = deriveDue(graph, world, statuses, config);
  return {
    ir,
    statuses,
    due,
    finalizers: deriveFinalizers(graph, world, { ...tables, setsByGateway, due }, config),
    gateways: graph.derive(
      "infrastructure",
      gateways,
      (model, read, key) => infrastructureOf(model, read(states, key)),
    ),
  };
}
