/**
 * Wires the tables of statuses and of the writes that are due.
 *
 * @module
 */
import type { Gateway, GatewayClass } from "../../crds/mod.ts";
import type { GatewayKey } from "../ir/mod.ts";
import type { Graph, Group, Read, Table } from "../runtime/graph.ts";
import type { Attachment } from "./attach.ts";
import type { Policy } from "./backend_tls.ts";
import type { Class } from "./classes.ts";
import type { GatewayCluster } from "./clusters.ts";
import type { Config } from "./config.ts";
import { dueForOwn, dueForPolicy, dueForRoute, type StatusWrite } from "./due.ts";
import type { GatewayModel } from "./gateways.ts";
import { within } from "./keys.ts";
import type { RouteObject } from "./objects.ts";
import type { Served } from "./placements.ts";
import { ancestorsOf } from "./policy_status.ts";
import { type GatewayState, rejectionOf, type Rejections } from "./ports.ts";
import type { RouteModel } from "./route_kind.ts";
import { routeKinds } from "./route_kinds.ts";
import { originOf, type ResolvedRoute } from "./rules.ts";
import { classStatus, type DesiredStatus, gatewayStatus, routeStatus } from "./statuses.ts";
import type { World } from "./world.ts";

export interface StatusTables {
  readonly classes: Table<Class>;
  readonly gateways: Table<GatewayModel>;
  readonly states: Table<GatewayState>;
  readonly rejectionsIn: (gateway: GatewayKey, read: Read) => Rejections;
  readonly routesByKind: readonly (readonly [prefix: string, routes: Table<RouteModel>])[];
  readonly resolved: Table<ResolvedRoute>;
  readonly attachments: Table<Attachment>;
  readonly policies: Table<Policy>;
  readonly policiesByService: Table<Group<Policy>>;
  /** The clusters that Gateways are meant to have. */
  readonly meant: Table<GatewayCluster>;
  readonly served: Table<Served>;
}

/** Derives the desired statuses. Row key: `Kind/namespace/name`. */
export function deriveStatuses(graph: Graph, world: World, tables: StatusTables): Table<DesiredStatus> {
  const { classes, routesByKind, resolved, attachments, served } = tables;
  return graph.union<DesiredStatus>("statuses", [
    ["GatewayClass/", graph.derive("statuses of classes", classes, (model) => classStatus(model))],
    ["Gateway/", deriveGatewayStatuses(graph, world, tables)],
    ["BackendTLSPolicy/", derivePolicyStatuses(graph, world, tables)],
    ...routesByKind.map(([prefix, routes]) => {
      const own = graph.derive(`statuses of ${routes.name}`, routes, (route, read) => {
        const origin = originOf(route);
        const attachment = read(attachments, origin), rules = read(resolved, origin);
        return attachment && rules && routeStatus(attachment, {
          resolved: rules,
          verdict: (gateway) => read(world.verdicts, within(gateway, origin)),
          served: (gateway) => read(served, within(gateway, origin)),
          proxies: (gateway) => read(world.proxies, gateway)?.length,
        });
      });
      return [prefix, own] as const;
    }),
  ]);
}

function deriveGatewayStatuses(graph: Graph, world: World, tables: StatusTables): Table<DesiredStatus> {
  const { gateways, states, attachments, rejectionsIn } = tables;
  const byListener = graph.index("attachments by listener", attachments, ({ parents }) => {
    const accepted = parents.filter(({ refused }) => refused === undefined);
    const listeners = accepted.flatMap(({ gateway, listeners }) =>
      listeners.map(({ name }) => `${gateway}/${name}`)
    );
    return [...new Set(listeners)];
  });
  const attached = graph.derive("attached routes", byListener, (group) => group.size);
  return graph.derive("statuses of gateways", states, (state, read, key) => {
    const model = read(gateways, key);
    const origin = within(key, `Gateway/${key}`);
    const rejections = rejectionsIn(key, read);
    return model && gatewayStatus(model, {
      listeners: state.listeners,
      addresses: read(world.addresses, key),
      clientCertificate: state.clientCertificate,
      verdict: read(world.verdicts, origin),
      proxies: read(world.proxies, key)?.length,
      attached: (listener) => read(attached, `${key}/${listener}`) ?? 0,
      rejection: (listener) => rejectionOf(state, listener, rejections),
    });
  });
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
        return found && new Map(found.spec.ports?.map(({ port, name = "" }) => [port, name]));
      },
      clusters: (service) => read(byService, service),
      verdict: (gateway, service) => read(world.verdicts, within(gateway, `Service/${service}`)),
    }),
  }));
}

/** Derives the writes that are due. Row key: `Kind/namespace/name`. */
export function deriveDue(
  graph: Graph,
  { objects }: World,
  statuses: Table<DesiredStatus>,
  config: Config,
): Table<StatusWrite> {
  const own = (["GatewayClass", "Gateway"] as const).map((kind) => {
    const source: Table<GatewayClass | Gateway> = objects[kind];
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
