/**
 * The infrastructure of Gateways on a cluster: what each is to have, and the writes that bring it about.
 *
 *     Gateways (translation) ─► plans ─► objects of each kind ─► due
 *     observed objects ─────────────────────────┴──► unwanted ─────┘
 *
 * Nothing is written for a Gateway that is refused or terminating, or in a namespace that is: what is there stays until the
 * garbage collector takes it.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import type { Gateway, Namespace, Service } from "../../crds/mod.ts";
import type { GatewayKey } from "../ir/mod.ts";
import type { Graph, Table } from "../runtime/graph.ts";
import { namespaceOf } from "../translate/keys.ts";
import type { Fleet, Sources, Translation } from "../translate/mod.ts";
import { childName, ownerOf } from "./child_names.ts";
import { autoscaler, configMap, disruptionBudget, service, serviceAccount, workload } from "./children.ts";
import { type ChildWrite, dueFor, hashOf } from "./due.ts";
import { annotations, authorityKey, paths } from "./names.ts";
import { type Child, type ChildKind, type Plan, planOf } from "./plan.ts";
import { quantity } from "./quantities.ts";
import { firstPods, gatewaysOf, isAvailable } from "./workloads.ts";
import type { ClusterWorld } from "./world.ts";

export type { ChildWrite } from "./due.ts";
export type { Child, ChildKind } from "./plan.ts";
export { deriveAddresses } from "./addresses.ts";
export { deriveProxies, type Proxies, type ProxyPod } from "./proxies.ts";
export { clusterKinds, type ClusterWorld, createClusterWorld } from "./world.ts";

/** What the proxies of a Gateway are started for. */
export interface ProxyInput {
  readonly gateway: GatewayKey;
  readonly fleet: Fleet;
  /** The folder with the files, and with {@linkcode authorityKey}. */
  readonly configuration: string;
  /** The folder with the `token`. */
  readonly token: string;
  /** A folder that can be written to. */
  readonly run: string;
  /** The node id, `NAMESPACE/POD`, of references to the container's environment. */
  readonly node: string;
  /** Ports for `/ready` and for `/stats/prometheus`, on every address. */
  readonly readiness: number;
  readonly metrics: number;
  /** Threads; absent for as many as the node has CPUs. */
  readonly concurrency?: number;
  /** The limit of memory, in bytes. */
  readonly memory?: number;
}

/** What the proxies of a Gateway are started with. */
export interface ProxyStart {
  /** Contents of the ConfigMap, by key. */
  readonly files: { readonly [key: string]: string };
  /** Arguments of Envoy. */
  readonly args: readonly string[];
}

export interface InfrastructureOptions {
  readonly controllerName: string;
  /** The image of Envoy where no EnvoyFleet names one. */
  readonly image: string;
  /** Pure. */
  readonly start: (input: ProxyInput) => ProxyStart;
  /** PEM: the authorities of the xDS server, under {@linkcode authorityKey}. Without that row no proxy is started. */
  readonly authorities: Table<string>;
}

export interface InfrastructureTables {
  /** Row key: Gateway; none for one that nothing is to be written for. */
  readonly plans: Table<Plan>;
  /** The objects as they should be. Row key: `Kind/GATEWAY`. */
  readonly children: Table<Child>;
  /** Row key: `Kind/GATEWAY`, or `unwanted Kind/namespace/name` for what is to be deleted. */
  readonly due: Table<ChildWrite>;
}

/** Derives the infrastructure of Gateways. To be called after `deriveIr`. */
export function deriveInfrastructure(
  graph: Graph,
  { objects }: Pick<Sources, "objects">,
  cluster: ClusterWorld,
  translation: Pick<Translation, "gateways">,
  options: InfrastructureOptions,
): InfrastructureTables {
  const { controllerName } = options;
  const terminating = graph.derive("terminating namespaces", objects.Namespace, isTerminating);
  const plans = graph.derive("plans", translation.gateways, (infrastructure, read, gateway) => {
    const ending = infrastructure.terminating || read(terminating, namespaceOf(gateway)) !== undefined;
    return ending || infrastructure.refused !== undefined ? undefined : planOf(gateway, infrastructure);
  });
  const starts = graph.derive("starts of proxies", plans, (plan) => options.start(inputOf(plan)));
  const observed: { readonly [K in ChildKind]: Table<ApiObject> } = {
    ServiceAccount: cluster.ServiceAccount,
    ConfigMap: objects.ConfigMap,
    Service: objects.Service,
    Deployment: cluster.Deployment,
    DaemonSet: cluster.DaemonSet,
    HorizontalPodAutoscaler: cluster.HorizontalPodAutoscaler,
    PodDisruptionBudget: cluster.PodDisruptionBudget,
  };

  const accounts = graph.derive("service accounts", plans, (plan) => serviceAccount(plan, controllerName));
  const configs = graph.derive("config maps", plans, (plan, read, gateway) => {
    const authorities = read(options.authorities, authorityKey), start = read(starts, gateway);
    if (authorities === undefined || start === undefined) return undefined;
    return configMap(plan, controllerName, { ...start.files, [authorityKey]: authorities });
  });
  const services = graph.derive("services", plans, (plan, read) => {
    // What there is matters for an address that is asked for, and changes too often to look at it without need.
    const found = plan.requested.length > 0 ? read(objects.Service, keyOf(plan)) : undefined;
    return service(plan, controllerName, found && ownedSpec(found, plan));
  });
  const workloads = graph.derive("workloads", plans, (plan, read, gateway) => {
    const start = read(starts, gateway);
    if (start === undefined || read(configs, gateway) === undefined) return undefined;
    const { args, files } = start;
    return workload(plan, controllerName, { image: options.image, args, config: hashOf(files) });
  });
  const ofKind = (kind: ChildKind) =>
    graph.derive(`${kind}s of gateways`, workloads, (child) => child.kind === kind ? child : undefined);
  const children: { readonly [K in ChildKind]: Table<Child> } = {
    ServiceAccount: accounts,
    ConfigMap: configs,
    Service: services,
    Deployment: ofKind("Deployment"),
    DaemonSet: ofKind("DaemonSet"),
    HorizontalPodAutoscaler: graph.derive("autoscalers", plans, (plan) => autoscaler(plan, controllerName)),
    PodDisruptionBudget: graph.derive("budgets", plans, (plan) => disruptionBudget(plan, controllerName)),
  };

  const workloadsOf = graph.index(
    "workloads by gateway",
    graph.union<ApiObject>("observed workloads", [
      ["Deployment/", observed.Deployment],
      ["DaemonSet/", observed.DaemonSet],
    ]),
    gatewaysOf,
  );
  const compared = (kind: ChildKind, needs: readonly Table<ChildWrite>[] = []) =>
    graph.derive(`due for ${kind}s of gateways`, children[kind], (child, read, gateway) => {
      const { metadata: { namespace, name } } = child, found = read(observed[kind], `${namespace}/${name}`);
      const plan = kind === "Deployment" ? read(plans, gateway) : undefined;
      const pods = plan && firstPods(plan, read(workloadsOf, gateway)?.values() ?? []);
      const write = dueFor(child, gateway, found, pods);
      // Pods that start before these are as they should be would start with something else.
      return needs.some((table) => read(table, gateway) !== undefined) ? undefined : write;
    });
  const account = compared("ServiceAccount"), config = compared("ConfigMap");
  const due: readonly (readonly [ChildKind, Table<ChildWrite>])[] = [
    ["ServiceAccount", account],
    ["ConfigMap", config],
    ["Service", compared("Service")],
    ["Deployment", compared("Deployment", [account, config])],
    ["DaemonSet", compared("DaemonSet", [account, config])],
    ["HorizontalPodAutoscaler", compared("HorizontalPodAutoscaler")],
    ["PodDisruptionBudget", compared("PodDisruptionBudget")],
  ];

  const gateways = graph.derive("gateways with children", objects.Gateway, childrenOf);
  const unwanted = (kind: ChildKind) =>
    graph.derive(`unwanted ${kind}s`, observed[kind], ({ metadata }, read): ChildWrite | undefined => {
      const { namespace = "", name, uid = "", resourceVersion = "", deletionTimestamp } = metadata;
      const owner = ownerOf(metadata);
      if (!owner || metadata.annotations?.[annotations.controller] !== controllerName) return undefined;
      const gateway = read(gateways, owner.gateway);
      // With a Gateway that is gone or about to go, the garbage collector sees to it.
      if (gateway?.uid !== owner.uid || gateway.terminating || read(terminating, namespace)) return undefined;
      if (deletionTimestamp !== undefined) return undefined;
      const plan = read(plans, owner.gateway);
      if (plan === undefined) {
        // Of a class that the Gateway has left for one of another controller. Else it is refused, and keeps what it has.
        if (name === gateway.child || read(translation.gateways, owner.gateway) !== undefined) {
          return undefined;
        }
      } else {
        if (name === plan.child && plan.kinds.has(kind)) return undefined;
        const successor = read(observed[plan.fleet.workload.kind], keyOf(plan));
        if (isWhatServes(kind, name, plan) && !isAvailable(successor, plan)) return undefined;
      }
      return { action: "delete", gateway: owner.gateway, kind, namespace, name, uid, resourceVersion };
    });

  return {
    plans,
    children: graph.union(
      "children",
      due.map(([kind]) => [`${kind}/`, children[kind]]),
    ),
    due: graph.union("due for infrastructure", [
      ...due.map(([kind, table]) => [`${kind}/`, table] as const),
      ...due.map(([kind]) => [`unwanted ${kind}/`, unwanted(kind)] as const),
    ]),
  };
}

const isTerminating = ({ metadata }: Namespace): true | undefined =>
  metadata.deletionTimestamp === undefined ? undefined : true;

const keyOf = ({ namespace, child }: Plan): string => `${namespace}/${child}`;

function childrenOf({ metadata, spec }: Gateway) {
  const { name, uid, deletionTimestamp } = metadata;
  return { uid, child: childName(name, spec.gatewayClassName), terminating: deletionTimestamp !== undefined };
}

function ownedSpec({ metadata, spec }: Service, { uid }: Plan): Service["spec"] | undefined {
  return ownerOf(metadata)?.uid === uid ? spec : undefined;
}

function inputOf(plan: Plan): ProxyInput {
  const { gateway, fleet, own } = plan, { limits } = fleet.pod.resources;
  const cpu = quantity(limits.cpu), memory = quantity(limits.memory);
  const concurrency = fleet.concurrency ?? (cpu === undefined ? undefined : Math.max(1, Math.ceil(cpu)));
  return {
    gateway,
    fleet,
    configuration: paths.config,
    token: paths.token,
    run: paths.run,
    node: "$(POD_NAMESPACE)/$(POD_NAME)",
    ...own,
    ...concurrency !== undefined && { concurrency },
    ...memory !== undefined && { memory },
  };
}

/** Whether an object that is wanted no longer is one that requests go through until its successor is there. */
function isWhatServes(kind: ChildKind, name: string, plan: Plan): boolean {
  return kind === "Deployment" || kind === "DaemonSet" || name !== plan.child;
}
