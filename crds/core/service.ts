/**
 * Service.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import { condition, labelName, objectMeta } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import type { Infer } from "../schema/types.ts";
import { isExternal, serviceFaults, type ServiceSpecFields } from "./service_faults.ts";
import { appProtocol, flag, int32, isPortName, labelText, portNumber, protocol, text } from "./values.ts";

const nodePort = k.integer({ format: "int32", minimum: 0, maximum: 65535 });

const servicePort = k.object({
  name: k.optional(labelText, "Name of the port; wanted where there are several."),
  protocol: k.defaulted(protocol, "TCP", "TCP, UDP or SCTP."),
  appProtocol: k.optional(appProtocol, "What is spoken on the port, such as kubernetes.io/h2c."),
  port: k.required(portNumber, "Number of the port."),
  targetPort: k.optional(k.intOrString(), "Number or name of the pods' port; the same number if absent."),
  nodePort: k.optional(nodePort, "Port on every node."),
}, {
  normalize: (port) => port.targetPort ? port : { ...port, targetPort: port.port },
  faults: ({ targetPort }): readonly Fault[] => {
    if (targetPort === undefined) return [];
    const good = typeof targetPort === "string"
      ? isPortName(targetPort)
      : targetPort >= 1 && targetPort <= 65535;
    return good ? [] : [{
      reason: "Invalid",
      path: ["targetPort"],
      value: targetPort,
      detail: typeof targetPort === "string"
        ? "must be a port's name: at most 15 characters of a-z, 0-9 and '-', with a letter"
        : "must be between 1 and 65535, inclusive",
    }];
  },
});
export type ServicePort = Infer<typeof servicePort>;

/** What a Service has without saying so. */
function withDefaults<S extends ServiceSpecFields & Defaults>(spec: S): S {
  const { sessionAffinityConfig, selector, ...rest } = spec;
  const timeoutSeconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800;
  return {
    ...rest,
    ...selector && Object.keys(selector).length > 0 && { selector },
    ...spec.sessionAffinity === "ClientIP" && { sessionAffinityConfig: { clientIP: { timeoutSeconds } } },
    ...spec.type !== "ExternalName" && { internalTrafficPolicy: spec.internalTrafficPolicy ?? "Cluster" },
    ...isExternal(spec) && { externalTrafficPolicy: spec.externalTrafficPolicy ?? "Cluster" },
    ...spec.type === "LoadBalancer" && {
      allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true,
    },
  } as unknown as S;
}

interface Defaults {
  readonly sessionAffinity: string;
  readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } };
  readonly internalTrafficPolicy?: string;
}

const serviceSpec = k.object({
  type: k.defaulted(
    k.enumerationOrEmpty("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    "ClusterIP",
    "How the Service is reached.",
  ),
  ports: k.optional(k.mapList(["port", "protocol"], servicePort), "Ports of the Service."),
  selector: k.optional(k.map(text), "Labels of the pods."),
  clusterIP: k.optional(text, "Address in the cluster; None for a headless Service."),
  clusterIPs: k.optional(k.list(text), "Addresses in the cluster, by family."),
  externalIPs: k.optional(k.list(text), "Addresses of nodes that the Service takes too."),
  externalName: k.optional(text, "For ExternalName: the name that stands for the Service."),
  externalTrafficPolicy: k.optional(
    k.enumerationOrEmpty("Cluster", "Local"),
    "Whether traffic may leave its node.",
  ),
  internalTrafficPolicy: k.optional(
    k.enumeration("Cluster", "Local"),
    "The same for traffic of the cluster.",
  ),
  trafficDistribution: k.optional(
    k.enumeration("PreferClose", "PreferSameNode", "PreferSameZone"),
    "Which endpoints are preferred.",
  ),
  healthCheckNodePort: k.optional(nodePort, "Port that load balancers ask for health."),
  loadBalancerClass: k.optional(text, "Who makes the load balancer."),
  loadBalancerIP: k.optional(text, "Address of the load balancer; deprecated."),
  loadBalancerSourceRanges: k.optional(k.list(text), "Clients that may use the load balancer."),
  allocateLoadBalancerNodePorts: k.optional(flag, "Whether a load balancer gets node ports."),
  ipFamilies: k.optional(k.list(k.enumeration("IPv4", "IPv6")), "Families of the addresses."),
  ipFamilyPolicy: k.optional(
    k.enumeration("PreferDualStack", "RequireDualStack", "SingleStack"),
    "How many families there are.",
  ),
  publishNotReadyAddresses: k.optional(flag, "Whether endpoints that are not ready count."),
  sessionAffinity: k.defaulted(
    k.enumerationOrEmpty("ClientIP", "None"),
    "None",
    "Whether clients stay with a pod.",
  ),
  sessionAffinityConfig: k.optional(
    k.object({
      clientIP: k.optional(
        k.object({
          timeoutSeconds: k.optional(
            k.integer({ format: "int32", minimum: 1, maximum: 86400 }),
            "Seconds that an affinity lasts.",
          ),
        }),
        "For ClientIP.",
      ),
    }),
    "How clients stay with a pod.",
  ),
}, {
  normalize: withDefaults,
  faults: (spec) => [...serviceFaults(spec)],
});

export type ServiceSpec = Infer<typeof serviceSpec>;

const schema = resource("Service", {
  spec: k.defaulted(serviceSpec, {}, "What is desired."),
  status: k.initially(
    k.object({
      loadBalancer: k.defaulted(
        k.object({
          ingress: k.optional(
            k.list(k.object({
              ip: k.optional(text, "Address of the load balancer."),
              hostname: k.optional(text, "Name of the load balancer."),
              ipMode: k.optional(text, "Whether packets keep this address as their target."),
              ports: k.optional(
                k.list(k.object({
                  port: k.required(int32, "Number of the port."),
                  protocol: k.required(protocol, "Protocol of the port."),
                  error: k.optional(text, "Why it does not work."),
                })),
                "Ports of the load balancer.",
              ),
            })),
            "Where traffic is let in.",
          ),
        }),
        {},
        "The load balancer.",
      ),
      conditions: k.optional(k.mapList(["type"], condition), "How the Service fares."),
    }),
    {},
    "What was found.",
  ),
}, objectMeta(labelName));

export type Service = ObjectOf<typeof schema>;

export const service = defineKind<Service>(
  { group: "", kind: "Service", plural: "services", shortNames: ["svc"], categories: ["all"] },
  version("v1", schema, {
    columns: [
      { name: "Type", type: "string", jsonPath: ".spec.type" },
      { name: "Cluster-IP", type: "string", jsonPath: ".spec.clusterIP" },
      { name: "External-IP", type: "string", jsonPath: ".status.loadBalancer.ingress[*].ip" },
      { name: "Port(s)", type: "string", jsonPath: ".spec.ports[*].port" },
      age,
      { name: "Selector", type: "string", jsonPath: ".spec.selector", priority: 1 },
    ],
  }),
);
