/**
 * Wires the tables of statuses and of the writes that are due.
 *
 * @module
 */
import type { EnvoyFleet, Gateway, GatewayClass, ListenerSet } from "../../crds/mod.ts";
import type { GatewayKey } from "../ir/mod.ts";
import type { Graph, Group, Key, Read, Table } from "../runtime/graph.ts";
import type { Attachment } from "./attach.ts";
import type { Policy } from "./backend_tls.ts";
import { classStatus } from "./class_status.ts";
import type { Class } from "./classes.ts";
import type { GatewayCluster } from "./clusters.ts";
import { type Fault, join } from "./conditions.ts";
import type { Config } from "./config.ts";
import { type Installed, installed, unseen } from "./definitions.ts";
import { tcpPorts } from "./endpoints.ts";
import { dueForOwn, dueForPolicy, dueForRoute, type StatusWrite } from "./due.ts";
import type { GatewayState, OwnerState } from "./gateway_state.ts";
import { deriveFleetStatuses } from "./fleet_status.ts";
import type { FleetModel } from "./fleets.ts";
import type { GatewayModel } from "./gateways.ts";
import { gatewayStatus, listenerSetStatus, refusedSetStatus } from "./gateway_status.ts";
import { within } from "./keys.ts";
import type { ListenerSetModel } from "./listener_sets.ts";
import type { OwnerFacts } from "./listener_status.ts";
import { rejectionOf, type Rejections } from "./listening.ts";
import type { RouteObject } from "./objects.ts";
import type { Placement, Served } from "./placements.ts";
import { tlsClaims } from "./overlaps.ts";
import { ancestorsOf } from "./policy_status.ts";

import type { RouteModel } from "./route_kind.ts";
import { routeKinds } from "./route_kinds.ts";
import { originOf, type ResolvedRoute } from "./rules.ts";
import { routeStatus } from "./route_status.ts";
import type { DesiredStatus } from "./statuses.ts";
import type { World } from "./world.ts";

export interface StatusTables {
  readonly fleets: Table<FleetModel>;
  readonly classes: Table<Class>;
  readonly gateways: Table<GatewayModel>;
  readonly installedApi: Installed;
  readonly listenerSets: Table<ListenerSetModel>;
  readonly states: Table<GatewayState>;
  readonly owners: Table<OwnerState>;
  readonly rejectionsIn: (gateway: GatewayKey, read: Read) => Rejections;
  readonly routesByKind: readonly (readonly [prefix: string, routes: Table<RouteModel>])[];
  readonly resolved: Table<ResolvedRoute>;
  readonly attachments: Table<Attachment>;
  readonly policies: Table<Policy>;
  readonly policiesByService: Table<Group<Policy>>;
  /** The clusters that Gateways are meant to have. */
  readonly meant: Table<GatewayCluster>;
  readonly placements: Table<Placement>;
  readonly served: Table<Served>;
  /** The routes that are too large to be repeated, by what they claim. */
  readonly leftOut: Table<ReadonlySet<Key>>;
}

/** Derives the desired statuses. Row key: `Kind/namespace/name`. */
export function deriveStatuses(
  graph: Graph,
  world: World,
  tables: StatusTables,
  config: Config,
): Table<DesiredStatus> {
  const { classes, installedApi, routesByKind, resolved, attachments, placements, served, leftOut } = tables;
  return graph.union<DesiredStatus>("statuses", [
    [
      "GatewayClass/",
      graph.derive(
        "statuses of classes",
        classes,
        (model, read) => classStatus(model, read(installedApi, installed) ?? unseen, config),
      ),
    ],
    ["EnvoyFleet/", deriveFleetStatuses(graph, { ...tables, verdicts: world.verdicts })],
    ...deriveOwnerStatuses(graph, world, tables),
    ["BackendTLSPolicy/", derivePolicyStatuses(graph, world, tables)],
    ...routesByKind.map(([prefix, routes]) => {
      const own = graph.derive(`statuses of ${routes.name}`, routes, (route, read) => {
        const origin = originOf(route);
        const attachment = read(attachments, origin), rules = read(resolved, origin);
        return attachment && rules && routeStatus(attachment, {
          resolved: rules,
          verdict: (gateway) => read(world.verdicts, within(gateway, origin)),
          placement: (gateway) => read(placements, within(gateway, origin)),
          served: (gateway) => read(served, within(gateway, origin)),
          leftOut: ({ gateway, claims }) =>
            claims.some((claim) => read(leftOut, claim)?.has(within(gateway, origin))),
          proxies: (gateway) => read(world.proxies, gateway)?.length,
        });
      });
      return [prefix, own] as const;
    }),
  ]);
}

/** The statuses of Gateways and of ListenerSets, with those of their listeners. */
function deriveOwnerStatuses(
  graph: Graph,
  world: World,
  tables: StatusTables,
): readonly (readonly [prefix: string, statuses: Table<DesiredStatus>])[] {
  const { listenerSets, states, owners, attachments, rejectionsIn } = tables;
  const byListener = graph.index("attachments by listener", attachments, ({ parents }) => {
    const accepted = parents.filter(({ refused }) => refused === undefined);
    return [...new Set(accepted.flatMap(({ listeners }) => listeners.map(({ id }) => id)))];
  });
  const attached = graph.derive("attached routes", byListener, (group) => group.size);
  // Of those who claim the same by TLS two are enough to know whether another than oneself does.
  const claims = graph.derive("claims by TLS", owners, ({ listeners }) => {
    const keys = tlsClaims(listeners);
    return keys.length > 0 ? { keys } : undefined;
  });
  const claimants = graph.derive(
    "first claimants by TLS",
    graph.index("claimants by TLS", claims, ({ keys }) => keys),
    (group) => [...group.keys().take(2)],
  );
  const refusalsByGateway = graph.index("refusals by gateway", world.refusals, ({ gateway }) => [gateway]);
  const shortfall = (gateway: GatewayKey, read: Read): Fault | undefined => {
    const refusals = [...read(refusalsByGateway, gateway)?.values() ?? []], [first] = refusals;
    if (first) return { reason: first.reason, message: join(refusals.map(({ message }) => message)) };
    // One proxy is enough to be served.
    const served = (read(world.proxies, gateway)?.length ?? 0) > 0;
    const shortage = served || !world.shortages ? undefined : read(world.shortages, gateway);
    return shortage === undefined ? undefined : { reason: "NoResources", message: shortage };
  };
  const factsOf = (owner: OwnerState, read: Read): OwnerFacts => {
    const { gateway, origin } = owner, own = within(gateway, origin);
    const rejections = rejectionsIn(gateway, read);
    return {
      verdict: read(world.verdicts, own),
      proxies: read(world.proxies, gateway)?.length,
      attached: (listener) => read(attached, listener) ?? 0,
      rejection: (listener) => rejectionOf(owner, listener, rejections),
      elsewhere: (claim) => read(claimants, claim)?.some((key) => key !== own) ?? false,
    };
  };
  const ofGateways = graph.derive("statuses of gateways", states, (state, read, key) => {
    const owner = state.owners.get(`Gateway/${key}`);
    const { attachedListenerSets, clientCertificate, requested, insecure } = state;
    return owner && gatewayStatus(owner, {
      ...factsOf(owner, read),
      addresses: read(world.addresses, key),
      shortfall: shortfall(key, read),
      requested,
      attachedListenerSets,
      insecure,
      clientCertificate,
    });
  });
  const ofSets = graph.derive("statuses of listener sets", listenerSets, (model, read) => {
    const { gateway, origin, refused } = model;
    const owner = read(owners, within(gateway, origin));
    if (owner === undefined) return refused && refusedSetStatus(model, refused);
    return listenerSetStatus(owner, {
      ...factsOf(owner, read),
      addresses: read(world.addresses, gateway),
      shortfall: shortfall(gateway, read),
    });
  });
  return [["Gateway/", ofGateways], ["ListenerSet/", ofSets]];
}

function derivePolicyStatuses(graph: Graph, world: World, tables: StatusTables): Table<DesiredStatus> {
  const { policies, policiesByService, meant } = tables;
  const byService = graph.index("clusters by service", meant, ({ cluster }) => [cluster.service]);
  return graph.derive("statuses of policies", policies, (policy, read): DesiredStatus => ({
    kind: "BackendTLSPolicy",
    generation: policy.generation,
    ancestors: ancestorsOf(policy, {
      policies: (service) => read(policiesByService, service),
      ports: (service) => {
        const found = read(world.objects.Service, service);
        return found && new Map(tcpPorts(found).map(({ port, name = "" }) => [port, name]));
      },
      clusters: (service) => read(byService, service),
      verdict: (gateway, service) => read(world.verdicts, within(gateway, `Service/${service}`)),
      proxies: (gateway) => read(world.proxies, gateway)?.length,
    }),
  }));
}

/** Kinds whose statuses are ours alone. */
const ownKinds = ["EnvoyFleet", "GatewayClass", "Gateway", "ListenerSet"] as const;

/** All kinds whose statuses are written: what {@linkcode deriveDue} has rows of. */
export const statusKinds: readonly string[] = [
  ...ownKinds,
  ...routeKinds.map(({ kind }) => kind),
  "BackendTLSPolicy",
];

/** Derives the writes that are due. Row key: `Kind/namespace/name`. */
export function deriveDue(
  graph: Graph,
  { objects }: World,
  statuses: Table<DesiredStatus>,
  config: Config,
): Table<StatusWrite> {
  const own = ownKinds.map((kind) => {
    const source: Table<EnvoyFleet | GatewayClass | Gateway | ListenerSet> = objects[kind];
    const table = graph.derive(`due for ${kind}s`, source, (object, read, key) => {
      const desired = read(statuses, `${kind}/${key}`);
      return desired?.kind === kind ? dueForOwn(object, key, desired) : undefined;
    });
    return [`${kind}/`, table] as const;
  });
  const routes = routeKinds.map(({ kind }) => {
    const source: Table<RouteObject> = objects[kind];
    const table = graph.derive(`due for ${kind}s`, source, (object, read, key) => {
      const desired = read(statuses, `${kind}/${key}`);
      return dueForRoute(object, key, kind, desired && "parents" in desired ? desired.parents : [], config);
    });
    return [`${kind}/`, table] as const;
  });
  const policies = graph.derive(
    "due for BackendTLSPolicies",
    objects.BackendTLSPolicy,
    (object, read, key) => {
      const desired = read(statuses, `BackendTLSPolicy/${key}`);
      return dueForPolicy(object, key, desired && "ancestors" in desired ? desired.ancestors : [], config);
    },
  );
  return graph.union<StatusWrite>("due", [...own, ...routes, ["BackendTLSPolicy/", policies]]);
}
