/**
 * `core/v1`: the structures that we use, as tables.
 *
 * @module
 */
import type { ApiKind, JSONValue } from "./deps.ts";
import { conditionCodec, kind, type ListOf, listOf, type ObjectMeta, objectMetaCodec } from "./meta.ts";
import { bool, intOrString, list, map, num, opt, str, struct, time, type Value } from "./tables.ts";

export const objectReferenceCodec = struct({
  apiVersion: opt(str),
  fieldPath: opt(str),
  kind: opt(str),
  name: opt(str),
  namespace: opt(str),
  resourceVersion: opt(str),
  uid: opt(str),
});
/** Names an object, or a part of it. */
export interface ObjectReference extends Value<typeof objectReferenceCodec> {}
export const toObjectReference: (input: JSONValue) => ObjectReference = objectReferenceCodec.to;
export const fromObjectReference: (input: ObjectReference) => JSONValue = objectReferenceCodec.from;

export const eventSourceCodec = struct({ component: opt(str), host: opt(str) });
export interface EventSource extends Value<typeof eventSourceCodec> {}
export const toEventSource: (input: JSONValue) => EventSource = eventSourceCodec.to;
export const fromEventSource: (input: EventSource) => JSONValue = eventSourceCodec.from;

const localObjectReferenceCodec = struct({ name: opt(str) });
export interface LocalObjectReference extends Value<typeof localObjectReferenceCodec> {}

const configMapFields = struct({
  binaryData: opt(map(str)),
  data: opt(map(str)),
  immutable: opt(bool),
  metadata: opt(objectMetaCodec),
});
export interface ConfigMap extends Value<typeof configMapFields> {
  apiVersion?: "v1";
  kind?: "ConfigMap";
}
export interface ConfigMapList extends ListOf<ConfigMap> {
  apiVersion?: "v1";
  kind?: "ConfigMapList";
}
export const configMapCodec = kind<ConfigMap>("v1", "ConfigMap", configMapFields);
export const toConfigMap: (input: JSONValue) => ConfigMap & ApiKind = configMapCodec.to;
export const fromConfigMap: (input: ConfigMap) => JSONValue = configMapCodec.from;
export const toConfigMapList: (input: JSONValue) => ConfigMapList & ApiKind = listOf(
  "v1",
  "ConfigMapList",
  configMapCodec,
);

const secretFields = struct({
  data: opt(map(str)),
  immutable: opt(bool),
  metadata: opt(objectMetaCodec),
  stringData: opt(map(str)),
  type: opt(str),
});
export interface Secret extends Value<typeof secretFields> {
  apiVersion?: "v1";
  kind?: "Secret";
}
export interface SecretList extends ListOf<Secret> {
  apiVersion?: "v1";
  kind?: "SecretList";
}
export const secretCodec = kind<Secret>("v1", "Secret", secretFields);
export const toSecret: (input: JSONValue) => Secret & ApiKind = secretCodec.to;
export const fromSecret: (input: Secret) => JSONValue = secretCodec.from;
export const toSecretList: (input: JSONValue) => SecretList & ApiKind = listOf(
  "v1",
  "SecretList",
  secretCodec,
);

const serviceAccountFields = struct({
  automountServiceAccountToken: opt(bool),
  imagePullSecrets: opt(list(localObjectReferenceCodec)),
  metadata: opt(objectMetaCodec),
  secrets: opt(list(objectReferenceCodec)),
});
export interface ServiceAccount extends Value<typeof serviceAccountFields> {
  apiVersion?: "v1";
  kind?: "ServiceAccount";
}
export interface ServiceAccountList extends ListOf<ServiceAccount> {
  apiVersion?: "v1";
  kind?: "ServiceAccountList";
}
export const serviceAccountCodec = kind<ServiceAccount>("v1", "ServiceAccount", serviceAccountFields);
export const toServiceAccount: (input: JSONValue) => ServiceAccount & ApiKind = serviceAccountCodec.to;
export const fromServiceAccount: (input: ServiceAccount) => JSONValue = serviceAccountCodec.from;
export const toServiceAccountList: (input: JSONValue) => ServiceAccountList & ApiKind = listOf(
  "v1",
  "ServiceAccountList",
  serviceAccountCodec,
);

const servicePortCodec = struct({
  appProtocol: opt(str),
  name: opt(str),
  nodePort: opt(num),
  port: num,
  protocol: opt(str),
  targetPort: opt(intOrString),
});
export interface ServicePort extends Value<typeof servicePortCodec> {}

const clientIpConfigCodec = struct({ timeoutSeconds: opt(num) });
export interface ClientIPConfig extends Value<typeof clientIpConfigCodec> {}

const sessionAffinityConfigCodec = struct({ clientIP: opt(clientIpConfigCodec) });
export interface SessionAffinityConfig extends Value<typeof sessionAffinityConfigCodec> {}

const serviceSpecCodec = struct({
  allocateLoadBalancerNodePorts: opt(bool),
  clusterIP: opt(str),
  clusterIPs: opt(list(str)),
  externalIPs: opt(list(str)),
  externalName: opt(str),
  externalTrafficPolicy: opt(str),
  healthCheckNodePort: opt(num),
  internalTrafficPolicy: opt(str),
  ipFamilies: opt(list(str)),
  ipFamilyPolicy: opt(str),
  loadBalancerClass: opt(str),
  loadBalancerIP: opt(str),
  loadBalancerSourceRanges: opt(list(str)),
  ports: opt(list(servicePortCodec)),
  publishNotReadyAddresses: opt(bool),
  selector: opt(map(str)),
  sessionAffinity: opt(str),
  sessionAffinityConfig: opt(sessionAffinityConfigCodec),
  trafficDistribution: opt(str),
  type: opt(str),
});
export interface ServiceSpec extends Value<typeof serviceSpecCodec> {}

const portStatusCodec = struct({ error: opt(str), port: num, protocol: str });
export interface PortStatus extends Value<typeof portStatusCodec> {}

const loadBalancerIngressCodec = struct({
  hostname: opt(str),
  ip: opt(str),
  ipMode: opt(str),
  ports: opt(list(portStatusCodec)),
});
export interface LoadBalancerIngress extends Value<typeof loadBalancerIngressCodec> {}

const loadBalancerStatusCodec = struct({ ingress: opt(list(loadBalancerIngressCodec)) });
export interface LoadBalancerStatus extends Value<typeof loadBalancerStatusCodec> {}

const serviceStatusCodec = struct({
  conditions: opt(list(conditionCodec)),
  loadBalancer: opt(loadBalancerStatusCodec),
});
export interface ServiceStatus extends Value<typeof serviceStatusCodec> {}

export interface Service {
  apiVersion?: "v1";
  kind?: "Service";
  metadata?: ObjectMeta | null;
  spec?: ServiceSpec | null;
  status?: ServiceStatus | null;
}
export interface ServiceList extends ListOf<Service> {
  apiVersion?: "v1";
  kind?: "ServiceList";
}
export const serviceCodec = kind<Service>(
  "v1",
  "Service",
  struct({ metadata: opt(objectMetaCodec), spec: opt(serviceSpecCodec), status: opt(serviceStatusCodec) }),
);
export const toService: (input: JSONValue) => Service & ApiKind = serviceCodec.to;
export const fromService: (input: Service) => JSONValue = serviceCodec.from;
export const toServiceList: (input: JSONValue) => ServiceList & ApiKind = listOf(
  "v1",
  "ServiceList",
  serviceCodec,
);

const namespaceConditionCodec = struct({
  lastTransitionTime: opt(time),
  message: opt(str),
  reason: opt(str),
  status: str,
  type: str,
});
export interface NamespaceCondition extends Value<typeof namespaceConditionCodec> {}

const namespaceSpecCodec = struct({ finalizers: opt(list(str)) });
export interface NamespaceSpec extends Value<typeof namespaceSpecCodec> {}

const namespaceStatusCodec = struct({ conditions: opt(list(namespaceConditionCodec)), phase: opt(str) });
export interface NamespaceStatus extends Value<typeof namespaceStatusCodec> {}

export interface Namespace {
  apiVersion?: "v1";
  kind?: "Namespace";
  metadata?: ObjectMeta | null;
  spec?: NamespaceSpec | null;
  status?: NamespaceStatus | null;
}
export interface NamespaceList extends ListOf<Namespace> {
  apiVersion?: "v1";
  kind?: "NamespaceList";
}
export const namespaceCodec = kind<Namespace>(
  "v1",
  "Namespace",
  struct({
    metadata: opt(objectMetaCodec),
    spec: opt(namespaceSpecCodec),
    status: opt(namespaceStatusCodec),
  }),
);
export const toNamespace: (input: JSONValue) => Namespace & ApiKind = namespaceCodec.to;
export const fromNamespace: (input: Namespace) => JSONValue = namespaceCodec.from;
export const toNamespaceList: (input: JSONValue) => NamespaceList & ApiKind = listOf(
  "v1",
  "NamespaceList",
  namespaceCodec,
);
