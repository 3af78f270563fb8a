/**
 * Services, each with one like it that Kubernetes refuses.
 *
 * @module
 */
import { service } from "../../../crds/mod.ts";
import type { Json } from "./case.ts";
import { label, of } from "./core_case.ts";

/** A Service with these ports. */
const ports = (...list: readonly Json[]): Json => ({ spec: { ports: list } });
const spec = (fields: Json): Json => ({ spec: fields });
const web = { port: 80 };
const range = "must be between 1 and 65535, inclusive";

export const serviceCases = of(service, [
  [`spec.ports[0].port: Invalid value: 0: ${range}`, ports({ port: 1 }), ports({ port: 0, targetPort: 1 })],
  [
    `spec.ports[0].port: Invalid value: 65536: ${range}`,
    ports({ port: 65535 }),
    ports({ port: 65536, targetPort: 1 }),
  ],
  [
    'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
    ports({ port: 80, protocol: "SCTP" }),
    ports({ port: 80, protocol: "ICMP" }),
  ],
  [
    "spec.ports[0].name: Required value",
    ports({ port: 1, name: "a" }, { port: 2, name: "b" }),
    ports({ port: 1 }, { port: 2, name: "b" }),
  ],
  [
    'spec.ports[1].name: Duplicate value: "a"',
    ports({ port: 1, name: "a" }, { port: 2, name: "b" }),
    ports({ port: 1, name: "a" }, { port: 2, name: "a" }),
  ],
  [
    'spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}',
    ports({ port: 1, name: "a" }, { port: 1, name: "b", protocol: "UDP" }),
    ports({ port: 1, name: "a" }, { port: 1, name: "b" }),
  ],
  [
    `spec.ports[0].targetPort: Invalid value: 70000: ${range}`,
    ports({ port: 1, targetPort: 7000 }),
    ports({ port: 1, targetPort: 70000 }),
  ],
  [
    'spec.ports[0].targetPort: Invalid value: "-a": must be a port\'s name: at most 15 characters of a-z, 0-9 and ' +
    "'-', with a letter",
    ports({ port: 1, targetPort: "a-1" }),
    ports({ port: 1, targetPort: "-a" }),
  ],
  [
    'spec.ports[0].targetPort: Invalid value: "boolean": spec.ports[0].targetPort in body must be of type ' +
    'integer,string: "boolean"',
    ports({ port: 1, targetPort: "true" }),
    ports({ port: 1, targetPort: true }),
  ],
  [
    'spec.ports[0].name: Invalid value: "A": must be a lowercase RFC 1123 label',
    ports({ port: 1, name: "a" }),
    ports({ port: 1, name: "A" }),
  ],
  ["spec.ports: Required value", { spec: { clusterIP: "None", selector: { app: "a" } } }, ports()],
  ["spec.ports: Required value", ports(web), { spec: {} }],
  [
    "spec.externalName: Required value",
    { spec: { type: "ExternalName", externalName: "a.example" } },
    { spec: { type: "ExternalName" } },
  ],
  [
    'spec.type: Unsupported value: "Nonsense": supported values: "ClusterIP", "ExternalName", "LoadBalancer", ' +
    '"NodePort"',
    { spec: { type: "ClusterIP", ports: [web] } },
    { spec: { type: "Nonsense", ports: [web] } },
  ],
  [
    'spec.sessionAffinity: Unsupported value: "Nonsense": supported values: "ClientIP", "None"',
    { spec: { sessionAffinity: "ClientIP", ports: [web] } },
    { spec: { sessionAffinity: "Nonsense", ports: [web] } },
  ],
  [
    'spec.clusterIPs[0]: Invalid value: "None": may not be None for NodePort services',
    spec({ type: "NodePort", ports: [web] }),
    spec({ type: "NodePort", clusterIP: "None", ports: [web] }),
  ],
  [
    'spec.externalName: Invalid value: "A_b": must be a DNS name',
    spec({ type: "ExternalName", externalName: "a.example." }),
    spec({ type: "ExternalName", externalName: "A_b" }),
  ],
  [
    'spec.externalIPs[0]: Invalid value: "nonsense": must be an IP address',
    spec({ externalIPs: ["10.0.0.1"], ports: [web] }),
    spec({ externalIPs: ["nonsense"], ports: [web] }),
  ],
  [
    [
      'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range',
      'spec.externalIPs[1]: Invalid value: "0.0.0.0": may not be unspecified',
      'spec.externalIPs[2]: Invalid value: "169.254.1.1": may not be in the link-local range',
      'spec.externalIPs[3]: Invalid value: "224.0.0.1": may not be in the link-local multicast range',
    ],
    spec({ externalIPs: ["2001:db8::1"], ports: [web] }),
    spec({ externalIPs: ["127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1"], ports: [web] }),
  ],
  [
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for services that can be reached from outside',
    spec({ type: "NodePort", externalTrafficPolicy: "Local", ports: [web] }),
    spec({ externalTrafficPolicy: "Local", ports: [web] }),
  ],
  [
    'spec.internalTrafficPolicy: Unsupported value: "Nonsense": supported values: "Cluster", "Local"',
    spec({ internalTrafficPolicy: "Local", ports: [web] }),
    spec({ internalTrafficPolicy: "Nonsense", ports: [web] }),
  ],
  [
    'spec.ports[0].nodePort: Forbidden: may not be used when type is "ClusterIP"',
    spec({ type: "NodePort", ports: [{ port: 80, nodePort: 30123 }] }),
    spec({ ports: [{ port: 80, nodePort: 30123 }] }),
  ],
  [
    "spec.loadBalancerClass: Forbidden: may only be used when type is LoadBalancer",
    spec({ type: "LoadBalancer", loadBalancerClass: "a/b", ports: [web] }),
    spec({ loadBalancerClass: "a/b", ports: [web] }),
  ],
  [
    'spec.loadBalancerClass: Invalid value: "a b": must be a name, perhaps with a DNS prefix',
    spec({ type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [web] }),
    spec({ type: "LoadBalancer", loadBalancerClass: "a b", ports: [web] }),
  ],
  [
    "spec.LoadBalancerSourceRanges: Forbidden: may only be used when type is LoadBalancer",
    spec({ type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8"], ports: [web] }),
    spec({ loadBalancerSourceRanges: ["10.0.0.0/8"], ports: [web] }),
  ],
  [
    'spec.LoadBalancerSourceRanges[0]: Invalid value: "nonsense": must be a range of addresses, such as 10.0.0.0/8',
    spec({ type: "LoadBalancer", loadBalancerSourceRanges: ["2001:db8::/32"], ports: [web] }),
    spec({ type: "LoadBalancer", loadBalancerSourceRanges: ["nonsense"], ports: [web] }),
  ],
  [
    "spec.healthCheckNodePort: Invalid value: 30125: may only be set when type is LoadBalancer and externalTrafficPolicy is Local",
    spec({ type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 30125, ports: [web] }),
    spec({ type: "LoadBalancer", healthCheckNodePort: 30125, ports: [web] }),
  ],
  [
    "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when type is LoadBalancer",
    spec({ type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [web] }),
    spec({ allocateLoadBalancerNodePorts: false, ports: [web] }),
  ],
  [
    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: spec.sessionAffinityConfig.clientIP.timeoutSeconds in body should be less than or equal to 86400",
    spec({
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
      ports: [web],
    }),
    spec({
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 90000 } },
      ports: [web],
    }),
  ],
  [
    'spec.selector: Invalid value: "a b": must be the name of a label',
    spec({ selector: { "a.example/b": "c" }, ports: [web] }),
    spec({ selector: { "a b": "c" }, ports: [web] }),
  ],
  [
    'spec.selector: Invalid value: "b c": must be the value of a label',
    spec({ selector: {}, ports: [web] }),
    spec({ selector: { a: "b c" }, ports: [web] }),
  ],
  [
    'spec.ipFamilies[1]: Duplicate value: "IPv4"',
    spec({ ipFamilies: ["IPv6"], ports: [web] }),
    spec({ ipFamilies: ["IPv4", "IPv4"], ports: [web] }),
  ],
  [
    'spec.ipFamilyPolicy: Invalid value: "SingleStack": must be RequireDualStack or PreferDualStack when there are several ipFamilies',
    spec({ ipFamilyPolicy: "PreferDualStack", ports: [web] }),
    spec({ ipFamilies: ["IPv4", "IPv6"], ports: [web] }),
  ],
  [
    'spec.ipFamilyPolicy: Unsupported value: "Nonsense": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    spec({ ipFamilyPolicy: "RequireDualStack", ports: [web] }),
    spec({ ipFamilyPolicy: "Nonsense", ports: [web] }),
  ],
  [
    'spec.ipFamilies[0]: Unsupported value: "Nonsense": supported values: "IPv4", "IPv6"',
    spec({ clusterIP: "None", ports: [web] }),
    spec({ ipFamilies: ["Nonsense"], ports: [web] }),
  ],
  [
    'spec.ports[0].appProtocol: Invalid value: "a b": must be a name, perhaps with a DNS prefix, such as "kubernetes.io/h2c"',
    ports({ port: 80, appProtocol: "kubernetes.io/h2c" }),
    ports({ port: 80, appProtocol: "a b" }),
  ],
  [
    "spec.ports[0].targetPort: Invalid value: \"a--b\": must be a port's name: at most 15 characters of a-z, 0-9 and '-', with a letter",
    ports({ port: 80, targetPort: "" }),
    ports({ port: 80, targetPort: "a--b" }),
  ],
  [
    "spec.ports[0].targetPort: Invalid value: \"80\": must be a port's name: at most 15 characters of a-z, 0-9 and '-', with a letter",
    ports({ port: 80, protocol: "" }),
    ports({ port: 80, targetPort: "80" }),
  ],
  [
    'spec.trafficDistribution: Unsupported value: "Nonsense": supported values: "PreferClose", "PreferSameNode", "PreferSameZone"',
    spec({ trafficDistribution: "PreferSameZone", ports: [web] }),
    spec({ trafficDistribution: "Nonsense", ports: [web] }),
  ],
  [
    `metadata.name: Invalid value: "a.b": ${label}`,
    { metadata: { name: "1a" }, spec: { clusterIP: "None", selector: { app: "a" } } },
    { metadata: { name: "a.b" }, spec: { clusterIP: "None", selector: { app: "a" } } },
  ],
]);
