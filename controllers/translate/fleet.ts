/**
 * How the proxies of a Gateway are run: what the EnvoyFleets of its class and of itself say, merged, and for the rest
 * what is good for most.
 *
 * The class sets what its Gateways start from, and the Gateway has the last word (GEP-1867). Objects are merged field by
 * field, labels and other maps by key; lists are replaced, and so is what makes sense only as a whole. Of settings that
 * exclude one another the Gateway's stays, and what does not apply to the result is left out: two EnvoyFleets that are
 * valid are valid together.
 *
 * @module
 */
import type { Config } from "./config.ts";
import type { Affinity, EnvoyFleetSpec, Toleration, TopologySpreadConstraint } from "../../crds/mod.ts";

/** Settings that are complete: where something is absent, there is none. */
export interface Fleet {
  readonly workload: Workload;
  readonly pod: FleetPod;
  readonly service: FleetService;
  readonly drain: {
    /** How long connections of clients have to end. */
    readonly seconds: number;
  };
  /** Threads of each proxy; absent for as many as there are CPUs for it. */
  readonly concurrency?: number;
  readonly logLevel: "trace" | "debug" | "info" | "warning" | "error" | "critical" | "off";
  /** Absent for no access log. */
  readonly accessLog?: FleetAccessLog;
  readonly stats: {
    /** Every statistic is kept, not only those that somebody looks at. */
    readonly all: boolean;
    /** Beginnings of the names of further ones. */
    readonly prefixes: readonly string[];
  };
  /** Absent for no tracing. */
  readonly tracing?: FleetTracing;
}

export type Workload =
  | {
    readonly kind: "Deployment";
    /** Absent exactly if `autoscaling` is there. */
    readonly replicas?: number;
    readonly autoscaling?: Autoscaling;
    readonly disruption:
      | { readonly minAvailable: number | string }
      | { readonly maxUnavailable: number | string };
  }
  | { readonly kind: "DaemonSet" };

export interface Autoscaling {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** In per cent of the request; at least one of the two is there. */
  readonly cpuUtilization?: number;
  readonly memoryUtilization?: number;
}

type Texts = { readonly [name: string]: string };
type Quantities = { readonly [resource: string]: number | string };

export interface FleetPod {
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Absent for the image that the operator is set to. */
  readonly image?: string;
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
  readonly imagePullSecrets: readonly { readonly name: string }[];
  readonly resources: { readonly requests: Quantities; readonly limits: Quantities };
  readonly nodeSelector: Texts;
  readonly tolerations: readonly Toleration[];
  readonly affinity?: Affinity;
  /** One without a selector is for the proxies of the same Gateway. */
  readonly topologySpreadConstraints: readonly TopologySpreadConstraint[];
  readonly priorityClassName?: string;
  readonly securityContext: {
    readonly runAsUser?: number;
    readonly runAsGroup?: number;
    readonly fsGroup?: number;
  };
}

/** Only what applies to the type. */
export interface FleetService {
  readonly type: "LoadBalancer" | "NodePort" | "ClusterIP";
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly externalTrafficPolicy?: "Cluster" | "Local";
  readonly loadBalancerClass?: string;
  readonly loadBalancerSourceRanges?: readonly string[];
  readonly allocateLoadBalancerNodePorts?: boolean;
  readonly ipFamilyPolicy?: "SingleStack" | "PreferDualStack" | "RequireDualStack";
  readonly ipFamilies?: readonly ("IPv4" | "IPv6")[];
}

/** Texts are in the proxies' notation, such as `%REQ(USER-AGENT)%`. */
export type FleetAccessLog =
  /** JSON with these fields besides the default ones; an empty text leaves one of those out. */
  | { readonly fields: Texts }
  | { readonly text: string };

export interface FleetTracing {
  /** Where an OTLP collector takes spans by gRPC. */
  readonly collector: { readonly host: string; readonly port: number };
  /** Of the requests for which the client has not decided. */
  readonly sampling: { readonly numerator: number; readonly denominator: number };
  readonly attributes: Texts;
  /** Attributes by name with the request header that each is taken from. */
  readonly headers: Texts;
  /** Absent for the name of the Gateway. */
  readonly serviceName?: string;
}

/** One EnvoyFleet's part: what it says, and the namespace that names in it are for. */
export interface FleetSource {
  readonly namespace: string;
  readonly spec: EnvoyFleetSpec;
}

/** Merges what there is: that of the class first, then that of the Gateway. */
export function mergeFleet(
  sources: readonly FleetSource[],
  config: Pick<Config, "clusterDomain" | "accessLog">,
): Fleet {
  const spec = sources.map((one) => resolved(one, config.clusterDomain)).reduce(override, {});
  const { workload = {}, pod = {}, service = {}, accessLog = {}, stats = {}, tracing = {} } = spec;
  return {
    workload: workloadOf(workload),
    pod: podOf(pod),
    service: serviceOf(service),
    drain: { seconds: spec.drain?.seconds ?? 60 },
    ...spec.concurrency !== undefined && { concurrency: spec.concurrency },
    logLevel: spec.logLevel ?? "warning",
    ...(accessLog.enabled ??
      (config.accessLog || sources.some(({ spec }) => spec.accessLog !== undefined))) && {
      accessLog: accessLog.text === undefined ? { fields: accessLog.fields ?? {} } : { text: accessLog.text },
    },
    stats: { all: stats.all ?? false, prefixes: stats.prefixes ?? [] },
    ...tracing.collector?.host !== undefined && (tracing.enabled ?? true) && {
      tracing: {
        collector: { host: tracing.collector.host, port: tracing.collector.port ?? 4317 },
        sampling: tracing.sampling ?? { numerator: 100, denominator: 100 },
        attributes: tracing.attributes ?? {},
        headers: tracing.headers ?? {},
        ...tracing.serviceName !== undefined && { serviceName: tracing.serviceName },
      },
    },
  };
}

/** Without names that mean something else in another namespace. */
function resolved({ namespace, spec }: FleetSource, clusterDomain: string): EnvoyFleetSpec {
  const service = spec.tracing?.collector?.service;
  if (!spec.tracing || !service) return spec;
  const { port } = spec.tracing.collector ?? {};
  const host = `${service.name}.${service.namespace ?? namespace}.svc.${clusterDomain}`;
  const collector = { host, ...port !== undefined && { port } };
  return { ...spec, tracing: { ...spec.tracing, collector } };
}

/** What makes sense only as a whole. */
const wholes: ReadonlySet<string> = new Set(["disruption", "affinity", "collector", "sampling"]);

function override(base: EnvoyFleetSpec, own: EnvoyFleetSpec): EnvoyFleetSpec {
  return merge(yielding(base, own), own) as EnvoyFleetSpec;
}

/** What is left of `base` where `own` says something that excludes it. */
function yielding(base: EnvoyFleetSpec, own: EnvoyFleetSpec): EnvoyFleetSpec {
  const { replicas, autoscaling, ...workload } = base.workload ?? {};
  const { fields, text, ...accessLog } = base.accessLog ?? {};
  return {
    ...base,
    workload: {
      ...workload,
      ...replicas !== undefined && own.workload?.autoscaling === undefined && { replicas },
      ...autoscaling !== undefined && own.workload?.replicas === undefined && { autoscaling },
    },
    accessLog: {
      ...accessLog,
      ...fields !== undefined && own.accessLog?.text === undefined && { fields },
      ...text !== undefined && own.accessLog?.fields === undefined && { text },
    },
  };
}

function merge(base: object, own: object): object {
  const merged: { [field: string]: unknown } = { ...base };
  for (const [field, value] of Object.entries(own)) {
    const before = merged[field];
    const both = isObject(before) && isObject(value) && !wholes.has(field);
    merged[field] = both ? merge(before, value) : value;
  }
  return merged;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function workloadOf(spec: NonNullable<EnvoyFleetSpec["workload"]>): Workload {
  if (spec.kind === "DaemonSet") return { kind: "DaemonSet" };
  const { minAvailable, maxUnavailable = 1 } = spec.disruption ?? {};
  return {
    kind: "Deployment",
    ...spec.autoscaling ? { autoscaling: autoscalingOf(spec.autoscaling) } : { replicas: spec.replicas ?? 1 },
    disruption: minAvailable === undefined ? { maxUnavailable } : { minAvailable },
  };
}

function autoscalingOf(
  spec: NonNullable<NonNullable<EnvoyFleetSpec["workload"]>["autoscaling"]>,
): Autoscaling {
  const { minReplicas = 1, maxReplicas = 10, cpuUtilization, memoryUtilization } = spec;
  const target = cpuUtilization ?? (memoryUtilization === undefined ? 80 : undefined);
  return {
    minReplicas,
    maxReplicas: Math.max(minReplicas, maxReplicas),
    ...target !== undefined && { cpuUtilization: target },
    ...memoryUtilization !== undefined && { memoryUtilization },
  };
}

/** Over nodes and zones as far as that is possible: no pod waits for it. */
const spread: readonly TopologySpreadConstraint[] = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
  .map((topologyKey) => ({ maxSkew: 1, topologyKey, whenUnsatisfiable: "ScheduleAnyway" }));

function podOf({ resources, ...spec }: NonNullable<EnvoyFleetSpec["pod"]>): FleetPod {
  return {
    labels: {},
    annotations: {},
    imagePullSecrets: [],
    nodeSelector: {},
    tolerations: [],
    topologySpreadConstraints: spread,
    securityContext: {},
    ...spec,
    resources: {
      requests: { cpu: "100m", memory: "128Mi", ...resources?.requests },
      limits: resources?.limits ?? {},
    },
  };
}

function serviceOf(spec: NonNullable<EnvoyFleetSpec["service"]>): FleetService {
  const {
    type = "LoadBalancer",
    externalTrafficPolicy,
    loadBalancerClass,
    loadBalancerSourceRanges,
    allocateLoadBalancerNodePorts,
    ...others
  } = spec;
  return {
    labels: {},
    annotations: {},
    ...others,
    type,
    ...type !== "ClusterIP" && externalTrafficPolicy !== undefined && { externalTrafficPolicy },
    ...type === "LoadBalancer" && {
      ...loadBalancerClass !== undefined && { loadBalancerClass },
      ...loadBalancerSourceRanges !== undefined && { loadBalancerSourceRanges },
      ...allocateLoadBalancerNodePorts !== undefined && { allocateLoadBalancerNodePorts },
    },
  };
}
