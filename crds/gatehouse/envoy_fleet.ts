/**
 * EnvoyFleet: how the Envoys of Gateways are run.
 *
 * A GatewayClass and a Gateway can name one each by their `parametersRef`, and the two are merged. Therefore nothing
 * has a default here that merging would mistake for a wish: what is absent is as the class says, and then as
 * `controllers/translate/fleets.ts` has it.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import type { Column } from "../kind.ts";
import { conditions, pending } from "../meta.ts";
import * as k from "../schema/build.ts";
import { subdomainPattern } from "../schema/formats.ts";
import type { Infer } from "../schema/types.ts";
import { affinity, toleration, topologySpreadConstraint } from "./placement.ts";
import { accessLog, stats, tracing } from "./telemetry.ts";

export const gatehouseGroup = "gatehouse.dev";

const columns: readonly Column[] = [
  { name: "Accepted", type: "string", jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
  age,
];

const text = k.string();
const seconds = k.integer({ format: "int32", minimum: 0, maximum: 3600 });
const percent = k.integer({ format: "int32", minimum: 1, maximum: 1000 });

const name = "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]";
const keyPattern = `^(${subdomainPattern.slice(1, -1)}/)?${name}$`;

/** Keys of labels and annotations. */
const keyRules = [{
  rule: `self.all(key, key.size() <= 317 && key.matches('${keyPattern.replaceAll("\\", "\\\\")}'))`,
  message:
    'keys must be names of at most 63 characters, perhaps with a DNS prefix, such as "example.com/name"',
  holds: (entries: { readonly [key: string]: string }) =>
    Object.keys(entries).every((key) => key.length <= 317 && new RegExp(keyPattern).test(key)),
}];

const labels = k.map(
  k.string({ maxLength: 63, pattern: "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$" }),
  { maxProperties: 16, rules: keyRules },
);
const annotations = k.map(k.string({ maxLength: 4096 }), { maxProperties: 32, rules: keyRules });

/** A number or a share, as in a PodDisruptionBudget. */
const amount = k.intOrString({
  rules: [{
    rule: "type(self) == string ? string(self).matches('^([0-9]|[1-9][0-9]|100)%$') : int(self) >= 0",
    message: 'must be a number of pods or a percentage, such as 1 or "50%"',
    holds: (value) => typeof value === "number" ? value >= 0 : /^([0-9]|[1-9][0-9]|100)%$/.test(value),
  }],
});

const quantity = k.intOrString({
  pattern: "^([0-9]+|[0-9]*[.][0-9]+|[0-9]+[.])(([KMGTPE]i)|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
});
const quantities = k.map(quantity, { maxProperties: 16 });

const autoscaling = k.object({
  minReplicas: k.optional(
    k.integer({ format: "int32", minimum: 1 }),
    "Envoys that there are at least; 1 if absent.",
  ),
  maxReplicas: k.optional(k.integer({ format: "int32", minimum: 1 }), "Envoys that there are at most."),
  cpuUtilization: k.optional(
    percent,
    "CPU that is to be in use on average, in per cent of the request; 80 if no target is set.",
  ),
  memoryUtilization: k.optional(
    percent,
    "Memory that is to be in use on average, in per cent of the request.",
  ),
}, {
  rules: [{
    rule: "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
    message: "minReplicas must be less than or equal to maxReplicas",
    holds: ({ minReplicas = 1, maxReplicas = minReplicas }) => minReplicas <= maxReplicas,
  }],
});

const disruption = k.object({
  minAvailable: k.optional(amount, "Envoys that have to stay."),
  maxUnavailable: k.optional(amount, "Envoys that may be missing."),
}, {
  rules: [{
    rule: "has(self.minAvailable) != has(self.maxUnavailable)",
    message: "exactly one of minAvailable and maxUnavailable must be set",
    holds: (one) => (one.minAvailable === undefined) !== (one.maxUnavailable === undefined),
  }],
});

const workload = k.object({
  kind: k.optional(
    k.enumeration("Deployment", "DaemonSet"),
    "A number of Envoys, or one on each node. Deployment if absent.",
  ),
  replicas: k.optional(k.integer({ format: "int32", minimum: 0 }), "Number of Envoys; 1 if absent."),
  autoscaling: k.optional(autoscaling, "Lets a HorizontalPodAutoscaler choose the number of Envoys."),
  disruption: k.optional(
    disruption,
    "How many Envoys an eviction, as in an upgrade of nodes, leaves. One may be missing if absent.",
  ),
}, {
  rules: [
    {
      rule: "!(has(self.replicas) && has(self.autoscaling))",
      message: "replicas and autoscaling exclude one another",
      holds: (one) => one.replicas === undefined || one.autoscaling === undefined,
    },
    {
      rule: "!has(self.kind) || self.kind != 'DaemonSet' || " +
        "!(has(self.replicas) || has(self.autoscaling) || has(self.disruption))",
      message: "a DaemonSet has neither replicas nor autoscaling nor disruption",
      holds: (one) =>
        one.kind !== "DaemonSet" ||
        (one.replicas === undefined && one.autoscaling === undefined && one.disruption === undefined),
    },
  ],
});

const userId = k.integer({ format: "int64", minimum: 1 });

const pod = k.object({
  labels: k.optional(labels, "Further labels."),
  annotations: k.optional(annotations, "Further annotations."),
  image: k.optional(
    k.string({ minLength: 1, maxLength: 1024, pattern: "^[^\\s]+$" }),
    "Image of Envoy; that of the operator's settings if absent.",
  ),
  imagePullPolicy: k.optional(
    k.enumeration("Always", "IfNotPresent", "Never"),
    "When the image is pulled; as Kubernetes has it for its tag if absent.",
  ),
  imagePullSecrets: k.optional(
    k.mapList(
      ["name"],
      k.object({ name: k.required(k.string({ minLength: 1, maxLength: 253 }), "Name of the Secret.") }),
      {
        maxItems: 16,
      },
    ),
    "Secrets in the namespace of the Gateway that the image is pulled with.",
  ),
  resources: k.optional(
    k.object({
      requests: k.optional(
        quantities,
        "What Envoy is sure to get; 100m of CPU and 128Mi of memory if absent.",
      ),
      limits: k.optional(
        quantities,
        "What Envoy may use at most. Near to a limit of memory it sheds load; it has as many threads as a limit of CPU.",
      ),
    }),
    "Resources of the container of Envoy.",
  ),
  nodeSelector: k.optional(k.map(text, { maxProperties: 32 }), "Labels that a node has to have."),
  tolerations: k.optional(k.list(toleration, { maxItems: 32 }), "Taints that do not matter."),
  affinity: k.optional(affinity, "Nodes and pods to be near to or to keep away from."),
  topologySpreadConstraints: k.optional(
    k.list(topologySpreadConstraint, { maxItems: 8 }),
    "How Envoys are spread; if absent over nodes and zones, as far as that is possible.",
  ),
  priorityClassName: k.optional(k.string({ minLength: 1, maxLength: 253 }), "Name of a PriorityClass."),
  securityContext: k.optional(
    k.object({
      runAsUser: k.optional(userId, "User that Envoy runs as; that of the image if absent."),
      runAsGroup: k.optional(userId, "Group that Envoy runs as; that of the image if absent."),
      fsGroup: k.optional(userId, "Group that volumes belong to."),
    }),
    "Who Envoy runs as. It runs without privileges in any case.",
  ),
});

const service = k.object({
  type: k.optional(
    k.enumeration("LoadBalancer", "NodePort", "ClusterIP"),
    "How clients get in; LoadBalancer if absent.",
  ),
  labels: k.optional(labels, "Further labels."),
  annotations: k.optional(
    annotations,
    "Further annotations, by which providers of load balancers are told what to do.",
  ),
  externalTrafficPolicy: k.optional(
    k.enumeration("Cluster", "Local"),
    "Local keeps the addresses of clients and goes to Envoys on the same node alone.",
  ),
  loadBalancerClass: k.optional(k.string({ minLength: 1, maxLength: 253 }), "Which load balancer is used."),
  loadBalancerSourceRanges: k.optional(
    k.set(k.string({ minLength: 1, maxLength: 49, pattern: "^[0-9a-fA-F.:]+/[0-9]{1,3}$" }), {
      maxItems: 64,
    }),
    "Addresses (CIDR) of clients that may pass.",
  ),
  allocateLoadBalancerNodePorts: k.optional(
    k.boolean(),
    "Whether a load balancer gets ports of nodes, which some do without.",
  ),
  ipFamilyPolicy: k.optional(
    k.enumeration("SingleStack", "PreferDualStack", "RequireDualStack"),
    "Whether there are addresses of both families.",
  ),
  ipFamilies: k.optional(
    k.set(k.enumeration("IPv4", "IPv6"), { maxItems: 2 }),
    "Families of its addresses, the most important one first.",
  ),
}, {
  rules: [
    {
      rule: "!(has(self.externalTrafficPolicy) && has(self.type) && self.type == 'ClusterIP')",
      message: "externalTrafficPolicy is for the types LoadBalancer and NodePort",
      holds: (one) => one.externalTrafficPolicy === undefined || one.type !== "ClusterIP",
    },
    {
      rule: "!has(self.type) || self.type == 'LoadBalancer' || !(has(self.loadBalancerClass) || " +
        "has(self.loadBalancerSourceRanges) || has(self.allocateLoadBalancerNodePorts))",
      message:
        "loadBalancerClass, loadBalancerSourceRanges and allocateLoadBalancerNodePorts are for the type LoadBalancer",
      holds: (one) =>
        one.type === undefined || one.type === "LoadBalancer" ||
        (one.loadBalancerClass === undefined && one.loadBalancerSourceRanges === undefined &&
          one.allocateLoadBalancerNodePorts === undefined),
    },
  ],
});

const spec = k.object({
  workload: k.optional(workload, "How many Envoys there are."),
  pod: k.optional(pod, "The pods that Envoys run in."),
  service: k.optional(service, "The Service in front of them."),
  drain: k.optional(
    k.object({
      seconds: k.optional(seconds, "How long connections of clients have to end; 60 if absent."),
    }),
    "How an Envoy ends that has to go.",
  ),
  concurrency: k.optional(
    k.integer({ format: "int32", minimum: 1, maximum: 128 }),
    "Threads that serve connections; as many as there are CPUs for it if absent.",
  ),
  logLevel: k.optional(
    k.enumeration("trace", "debug", "info", "warning", "error", "critical", "off"),
    "What Envoy writes to its log; warning if absent.",
  ),
  accessLog: k.optional(accessLog, "A line for each request, on the standard output."),
  stats: k.optional(stats, "Statistics, which are in the form of Prometheus."),
  tracing: k.optional(tracing, "Spans for OpenTelemetry."),
});
/** What an EnvoyFleet says; everything may be absent. */
export type EnvoyFleetSpec = Infer<typeof spec>;

const body = resource("EnvoyFleet", {
  spec: k.defaulted(spec, {}, "What is desired. What is absent is as the GatewayClass has it."),
  status: k.initially(
    k.object({
      conditions: k.initially(conditions, [pending("Accepted")], "How the EnvoyFleet fares."),
    }),
    { conditions: [pending("Accepted")] },
    "What the controller found.",
  ),
});

const schema = k.required(
  body,
  "How the Envoys of Gateways are run. A GatewayClass names one by its parametersRef for all of its Gateways, and a " +
    "Gateway names one in its namespace by infrastructure.parametersRef, whose fields take precedence.",
);

export type EnvoyFleet = ObjectOf<typeof schema>;

export const envoyFleet = defineKind<EnvoyFleet>(
  {
    group: gatehouseGroup,
    kind: "EnvoyFleet",
    plural: "envoyfleets",
    shortNames: ["fleet"],
    categories: ["gatehouse"],
  },
  version("v1alpha1", schema, { columns }),
);
