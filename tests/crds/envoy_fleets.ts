/**
 * EnvoyFleets that are valid, with what they are once they are stored, and ones that are not.
 *
 * @module
 */

export interface ValidCase {
  readonly name: string;
  readonly spec: unknown;
  /** With the server's defaults; as it came if absent. */
  readonly stored?: unknown;
}

export const valid: readonly ValidCase[] = [
  { name: "nothing", spec: undefined, stored: {} },
  {
    name: "empty objects",
    spec: { workload: {}, pod: {}, service: {}, drain: {}, accessLog: {}, stats: {} },
  },
  { name: "a number of Envoys", spec: { workload: { kind: "Deployment", replicas: 3 } } },
  { name: "no Envoys", spec: { workload: { replicas: 0 } } },
  { name: "one on each node", spec: { workload: { kind: "DaemonSet" } } },
  {
    name: "autoscaling",
    spec: { workload: { autoscaling: { minReplicas: 2, maxReplicas: 2, cpuUtilization: 70 } } },
  },
  { name: "a share that may be missing", spec: { workload: { disruption: { maxUnavailable: "50%" } } } },
  { name: "a number that has to stay", spec: { workload: { disruption: { minAvailable: 0 } } } },
  {
    name: "resources as numbers and as texts",
    spec: {
      pod: { resources: { requests: { cpu: 2, memory: "1.5Gi" }, limits: { cpu: "1500m", memory: "2G" } } },
    },
  },
  {
    name: "placement",
    spec: {
      pod: {
        nodeSelector: { "example.com/edge": "true" },
        tolerations: [{ operator: "Exists" }, {
          key: "a",
          operator: "Equal",
          value: "b",
          effect: "NoExecute",
        }],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }],
            },
          },
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [{
              weight: 100,
              podAffinityTerm: { topologyKey: "a", labelSelector: { matchLabels: { a: "b" } } },
            }],
          },
        },
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
        priorityClassName: "system-cluster-critical",
      },
    },
  },
  {
    name: "a pod",
    spec: {
      pod: {
        labels: { "example.com/a": "b", c: "" },
        annotations: { "example.com/a": "anything at all" },
        image: "registry.example.com:5000/envoy@sha256:0123",
        imagePullPolicy: "IfNotPresent",
        imagePullSecrets: [{ name: "a" }, { name: "b" }],
        securityContext: { runAsUser: 101, runAsGroup: 101, fsGroup: 101 },
      },
    },
  },
  {
    name: "a load balancer",
    spec: {
      service: {
        type: "LoadBalancer",
        externalTrafficPolicy: "Local",
        loadBalancerClass: "example.com/lb",
        loadBalancerSourceRanges: ["10.0.0.0/8", "2001:db8::/32"],
        allocateLoadBalancerNodePorts: false,
        ipFamilyPolicy: "PreferDualStack",
        ipFamilies: ["IPv6", "IPv4"],
        annotations: { a: "b" },
      },
    },
  },
  { name: "ports of nodes", spec: { service: { type: "NodePort", externalTrafficPolicy: "Local" } } },
  { name: "a Service in the cluster", spec: { service: { type: "ClusterIP" } } },
  { name: "bounds", spec: { drain: { seconds: 3600 }, concurrency: 128, logLevel: "off" } },
  { name: "no access log", spec: { accessLog: { enabled: false } } },
  {
    name: "fields of an access log",
    spec: {
      accessLog: {
        fields: {
          agent: "%REQ(USER-AGENT):64%",
          path: "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
          time: "%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)%",
          status: "%GRPC_STATUS(NUMBER)% 100%% %RESPONSE_FLAGS_LONG%",
          pod: "%ENVIRONMENT(POD_NAME)%",
          host: "",
        },
      },
    },
  },
  { name: "an access log of text", spec: { accessLog: { text: "%PROTOCOL% %UPSTREAM_CLUSTER%" } } },
  { name: "statistics", spec: { stats: { all: false, prefixes: ["cluster.", "vhost."] } } },
  {
    name: "tracing to a Service",
    spec: { tracing: { collector: { service: { name: "otel", namespace: "tracing" } } } },
  },
  {
    name: "tracing to a host",
    spec: {
      tracing: {
        collector: { host: "otel.example.com", port: 4317 },
        sampling: { numerator: 5 },
        attributes: { "deployment.environment": "production" },
        headers: { tenant: "x-tenant" },
        serviceName: "edge",
      },
    },
    stored: {
      tracing: {
        collector: { host: "otel.example.com", port: 4317 },
        sampling: { numerator: 5, denominator: 100 },
        attributes: { "deployment.environment": "production" },
        headers: { tenant: "x-tenant" },
        serviceName: "edge",
      },
    },
  },
  { name: "tracing to a name with digits", spec: { tracing: { collector: { host: "1st.example.2nd" } } } },
  { name: "tracing to an old address", spec: { tracing: { collector: { host: "192.0.2.1" } } } },
  { name: "tracing to an address", spec: { tracing: { collector: { host: "2001:db8::1" } } } },
];

/** Specs by the field that is wrong in them, without `spec.`, and a part of what is said of it. */
export const invalid: readonly (readonly [field: string, says: string, spec: unknown])[] = [
  ["workload", "replicas and autoscaling exclude", { workload: { replicas: 1, autoscaling: {} } }],
  ["workload", "a DaemonSet has neither", { workload: { kind: "DaemonSet", replicas: 1 } }],
  ["workload", "a DaemonSet has neither", { workload: { kind: "DaemonSet", autoscaling: {} } }],
  ["workload", "a DaemonSet has neither", {
    workload: { kind: "DaemonSet", disruption: { maxUnavailable: 1 } },
  }],
  ["workload.kind", "supported values", { workload: { kind: "StatefulSet" } }],
  ["workload.replicas", "greater than or equal to 0", { workload: { replicas: -1 } }],
  ["workload.autoscaling", "minReplicas must be less", {
    workload: { autoscaling: { minReplicas: 3, maxReplicas: 2 } },
  }],
  ["workload.autoscaling.minReplicas", "greater than or equal to 1", {
    workload: { autoscaling: { minReplicas: 0 } },
  }],
  ["workload.disruption", "exactly one of", { workload: { disruption: {} } }],
  ["workload.disruption", "exactly one of", {
    workload: { disruption: { minAvailable: 1, maxUnavailable: 1 } },
  }],
  ["workload.disruption.minAvailable", "a number of pods", {
    workload: { disruption: { minAvailable: "half" } },
  }],
  ["workload.disruption.minAvailable", "a number of pods", {
    workload: { disruption: { minAvailable: "101%" } },
  }],
  ["workload.disruption.minAvailable", "a number of pods", {
    workload: { disruption: { minAvailable: -1 } },
  }],
  ["pod.labels", "keys must be names", { pod: { labels: { "a b": "c" } } }],
  ["pod.labels.a", "should match", { pod: { labels: { a: "b c" } } }],
  ["service.annotations", "keys must be names", { service: { annotations: { "A/b/c": "d" } } }],
  ["pod.image", "should match", { pod: { image: "envoy latest" } }],
  ["pod.imagePullSecrets[1]", "Duplicate", { pod: { imagePullSecrets: [{ name: "a" }, { name: "a" }] } }],
  ["pod.resources.limits.memory", "should match", { pod: { resources: { limits: { memory: "a lot" } } } }],
  ["pod.tolerations[0].effect", "supported values", { pod: { tolerations: [{ effect: "Never" }] } }],
  ["pod.topologySpreadConstraints[0].topologyKey", "Required", {
    pod: { topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }] },
  }],
  ["pod.securityContext.runAsUser", "greater than or equal to 1", {
    pod: { securityContext: { runAsUser: 0 } },
  }],
  ["service", "externalTrafficPolicy is for", {
    service: { type: "ClusterIP", externalTrafficPolicy: "Local" },
  }],
  ["service", "are for the type LoadBalancer", {
    service: { type: "NodePort", loadBalancerSourceRanges: ["10.0.0.0/8"] },
  }],
  ["service.type", "supported values", { service: { type: "ExternalName" } }],
  ["service.loadBalancerSourceRanges[0]", "should match", {
    service: { loadBalancerSourceRanges: ["everywhere"] },
  }],
  ["service.ipFamilies[1]", "Duplicate", { service: { ipFamilies: ["IPv4", "IPv4"] } }],
  ["drain.seconds", "less than or equal to 3600", { drain: { seconds: 3601 } }],
  ["concurrency", "greater than or equal to 1", { concurrency: 0 }],
  ["concurrency", "must be of type integer", { concurrency: "2" }],
  ["logLevel", "supported values", { logLevel: "verbose" }],
  ["accessLog", "exclude one another", { accessLog: { fields: {}, text: "a" } }],
  ["accessLog.fields.a", "operators of Envoy's access log", { accessLog: { fields: { a: "%REQUEST_ID%" } } }],
  ["accessLog.fields.a", "operators of Envoy's access log", { accessLog: { fields: { a: "100%" } } }],
  ["accessLog.fields.a", "operators of Envoy's access log", { accessLog: { fields: { a: "%REQ%" } } }],
  ["accessLog.text", "operators of Envoy's access log", { accessLog: { text: "%START_TIME(%n)%" } }],
  ["accessLog.text", "operators of Envoy's access log", { accessLog: { text: "%REQ(A" } }],
  ["stats.prefixes[0]", "at least 1 chars", { stats: { prefixes: [""] } }],
  ["tracing.collector", "exactly one of service and host", { tracing: { collector: {} } }],
  ["tracing.collector", "exactly one of service and host", {
    tracing: { collector: { service: { name: "a" }, host: "b" } },
  }],
  ["tracing.collector.host", "should match", { tracing: { collector: { host: "http://otel:4317" } } }],
  ["tracing.collector.host", "should match", { tracing: { collector: { host: "10.0.0.256" } } }],
  ["tracing.collector.host", "should match", { tracing: { collector: { host: "cafe:4317" } } }],
  ["tracing.collector.port", "less than or equal to 65535", {
    tracing: { collector: { host: "a", port: 65536 } },
  }],
  ["tracing.sampling", "numerator must be less", { tracing: { sampling: { numerator: 101 } } }],
];
