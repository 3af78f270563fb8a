/**
 * Kubernetes' protobuf form of the core kinds, for reading only: Go's typed clients, and kubectl with them, send it
 * unasked (`kubectl create secret`, `kubectl auth can-i`). Answers are always JSON, which they take as well.
 *
 * Field numbers are those of `generated.proto` in k8s.io/api and k8s.io/apimachinery.
 *
 * @module
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/**
 * `name type` by field number. A `?` marks what is a pointer in Go, where zero means something; other zero values are
 * sent although they are absent. `[]` is a list, `{}` a map from strings.
 */
type Message = { readonly [field: number]: string };

const messages: { readonly [name: string]: Message } = {
  ObjectMeta: {
    1: "name string",
    2: "generateName string",
    3: "namespace string",
    5: "uid string",
    6: "resourceVersion string",
    7: "generation int",
    8: "creationTimestamp Time",
    9: "deletionTimestamp Time",
    10: "deletionGracePeriodSeconds int?",
    11: "labels {}string",
    12: "annotations {}string",
    13: "ownerReferences []OwnerReference",
    14: "finalizers []string",
  },
  OwnerReference: {
    1: "kind string",
    3: "name string",
    4: "uid string",
    5: "apiVersion string",
    6: "controller bool?",
    7: "blockOwnerDeletion bool?",
  },
  Condition: {
    1: "type string",
    2: "status string",
    3: "observedGeneration int",
    4: "lastTransitionTime Time",
    5: "reason string",
    6: "message string",
  },
  DeleteOptions: {
    1: "gracePeriodSeconds int?",
    2: "preconditions Preconditions",
    3: "orphanDependents bool?",
    4: "propagationPolicy string?",
    5: "dryRun []string",
  },
  Preconditions: { 1: "uid string?", 2: "resourceVersion string?" },
  Namespace: { 1: "metadata ObjectMeta", 2: "spec NamespaceSpec", 3: "status NamespaceStatus" },
  NamespaceSpec: { 1: "finalizers []string" },
  NamespaceStatus: { 1: "phase string" },
  Secret: {
    1: "metadata ObjectMeta",
    2: "data {}bytes",
    3: "type string",
    4: "stringData {}string",
    5: "immutable bool?",
  },
  ConfigMap: { 1: "metadata ObjectMeta", 2: "data {}string", 3: "binaryData {}bytes", 4: "immutable bool?" },
  ServiceAccount: {
    1: "metadata ObjectMeta",
    2: "secrets []ObjectReference",
    3: "imagePullSecrets []LocalObjectReference",
    4: "automountServiceAccountToken bool?",
  },
  LocalObjectReference: { 1: "name string" },
  ObjectReference: {
    1: "kind string",
    2: "namespace string",
    3: "name string",
    4: "uid string",
    5: "apiVersion string",
    6: "resourceVersion string",
    7: "fieldPath string",
  },
  Service: { 1: "metadata ObjectMeta", 2: "spec ServiceSpec", 3: "status ServiceStatus" },
  ServiceSpec: {
    1: "ports []ServicePort",
    2: "selector {}string",
    3: "clusterIP string",
    4: "type string",
    5: "externalIPs []string",
    7: "sessionAffinity string",
    8: "loadBalancerIP string",
    9: "loadBalancerSourceRanges []string",
    10: "externalName string",
    11: "externalTrafficPolicy string",
    12: "healthCheckNodePort int",
    13: "publishNotReadyAddresses bool",
    14: "sessionAffinityConfig SessionAffinityConfig",
    17: "ipFamilyPolicy string?",
    18: "clusterIPs []string",
    19: "ipFamilies []string",
    20: "allocateLoadBalancerNodePorts bool?",
    21: "loadBalancerClass string?",
    22: "internalTrafficPolicy string?",
    23: "trafficDistribution string?",
  },
  ServicePort: {
    1: "name string",
    2: "protocol string",
    3: "port int",
    4: "targetPort IntOrString",
    5: "nodePort int",
    6: "appProtocol string?",
  },
  SessionAffinityConfig: { 1: "clientIP ClientIPConfig" },
  ClientIPConfig: { 1: "timeoutSeconds int?" },
  ServiceStatus: { 1: "loadBalancer LoadBalancerStatus", 2: "conditions []Condition" },
  LoadBalancerStatus: { 1: "ingress []LoadBalancerIngress" },
  LoadBalancerIngress: { 1: "ip string", 2: "hostname string", 3: "ipMode string?", 4: "ports []PortStatus" },
  PortStatus: { 1: "port int", 2: "protocol string", 3: "error string?" },
  Event: {
    1: "metadata ObjectMeta",
    2: "involvedObject ObjectReference",
    3: "reason string",
    4: "message string",
    5: "source EventSource",
    6: "firstTimestamp Time",
    7: "lastTimestamp Time",
    8: "count int",
    9: "type string",
    10: "eventTime MicroTime",
    11: "series EventSeries",
    12: "action string",
    13: "related ObjectReference",
    14: "reportingComponent string",
    15: "reportingInstance string",
  },
  EventSource: { 1: "component string", 2: "host string" },
  EventSeries: { 1: "count int", 2: "lastObservedTime MicroTime" },
  EndpointSlice: {
    1: "metadata ObjectMeta",
    2: "endpoints []Endpoint",
    3: "ports []EndpointPort",
    4: "addressType string",
  },
  Endpoint: {
    1: "addresses []string",
    2: "conditions EndpointConditions",
    3: "hostname string?",
    4: "targetRef ObjectReference",
    5: "deprecatedTopology {}string",
    6: "nodeName string?",
    7: "zone string?",
    8: "hints EndpointHints",
  },
  EndpointConditions: { 1: "ready bool?", 2: "serving bool?", 3: "terminating bool?" },
  EndpointHints: { 1: "forZones []ForZone" },
  ForZone: { 1: "name string" },
  EndpointPort: { 1: "name string?", 2: "protocol string?", 3: "port int?", 4: "appProtocol string?" },
  Lease: { 1: "metadata ObjectMeta", 2: "spec LeaseSpec" },
  LeaseSpec: {
    1: "holderIdentity string?",
    2: "leaseDurationSeconds int?",
    3: "acquireTime MicroTime",
    4: "renewTime MicroTime",
    5: "leaseTransitions int?",
    6: "strategy string?",
    7: "preferredHolder string?",
  },
  SelfSubjectAccessReview: { 1: "metadata ObjectMeta", 2: "spec SelfSubjectAccessReviewSpec" },
  SelfSubjectAccessReviewSpec: {
    1: "resourceAttributes ResourceAttributes",
    2: "nonResourceAttributes NonResourceAttributes",
  },
  ResourceAttributes: {
    1: "namespace string",
    2: "verb string",
    3: "group string",
    4: "version string",
    5: "resource string",
    6: "subresource string",
    7: "name string",
  },
  NonResourceAttributes: { 1: "path string", 2: "verb string" },
  SelfSubjectRulesReview: { 1: "metadata ObjectMeta", 2: "spec SelfSubjectRulesReviewSpec" },
  SelfSubjectRulesReviewSpec: { 1: "namespace string" },
  SelfSubjectReview: { 1: "metadata ObjectMeta" },
};

export const protobufType = "application/vnd.kubernetes.protobuf";

/**
 * Reads an object from the envelope that Kubernetes puts around it.
 *
 * @throws {TypeError} if it is none, or of a kind that is not read here
 */
export function decodeProtobuf(bytes: Uint8Array): Record<string, unknown> {
  // "k8s\0", then runtime.Unknown
  if (bytes[0] !== 0x6b || bytes[1] !== 0x38 || bytes[2] !== 0x73 || bytes[3] !== 0) {
    throw new TypeError(
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  let [apiVersion, kind] = ["", ""];
  let raw: Uint8Array = new Uint8Array();
  each(bytes.subarray(4), (field, reader) => {
    if (field === 1) {
      each(reader.bytes(), (inner, typeMeta) => {
        if (inner === 1) apiVersion = typeMeta.string();
        else if (inner === 2) kind = typeMeta.string();
        else return false;
        return true;
      });
    } else if (field === 2) raw = reader.bytes();
    else return false;
    return true;
  });
  const message = messages[kind];
  if (!message?.[1]?.startsWith("metadata") && kind !== "DeleteOptions") {
    throw new TypeError(`no protobuf form of ${kind} (${apiVersion}) is read here: send application/json`);
  }
  return { apiVersion, kind, ...decode(raw, message!) };
}

/** Calls `read` for each field; skips those for which it returns false. */
function each(bytes: Uint8Array, read: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (!read(field, reader)) reader.skip(wireType, field);
  }
}

function decode(bytes: Uint8Array, message: Message): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  each(bytes, (field, reader) => {
    const [name, type] = message[field]?.split(" ") ?? [];
    if (name === undefined || type === undefined) return false;
    if (type.startsWith("[]")) {
      const list = object[name] as unknown[] | undefined ?? [];
      list.push(value(reader, type.slice(2)));
      object[name] = list;
    } else if (type.startsWith("{}")) {
      const [key, found] = entry(reader.bytes(), type.slice(2));
      object[name] = { ...object[name] as Record<string, unknown>, [key]: found };
    } else {
      const found = value(reader, type.replace(/\?$/, ""));
      if (found !== undefined && (type.endsWith("?") || !isZero(found))) object[name] = found;
    }
    return true;
  });
  return object;
}

function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false;
}

function entry(bytes: Uint8Array, type: string): readonly [string, unknown] {
  let key = "";
  let found: unknown = "";
  each(bytes, (field, reader) => {
    if (field === 1) key = reader.string();
    else if (field === 2) found = value(reader, type);
    else return false;
    return true;
  });
  return [key, found];
}

function value(reader: BinaryReader, type: string): unknown {
  switch (type) {
    case "string":
      return reader.string();
    case "bool":
      return reader.bool();
    case "int":
      return Number(reader.int64());
    case "bytes":
      return reader.bytes().toBase64();
    case "Time":
    case "MicroTime":
      return time(reader.bytes(), type);
    case "IntOrString":
      return intOrString(reader.bytes());
    default:
      return decode(reader.bytes(), messages[type]!);
  }
}

function numbers(bytes: Uint8Array): ReadonlyMap<number, number | string> {
  const found = new Map<number, number | string>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    found.set(field, wireType === WireType.LengthDelimited ? reader.string() : Number(reader.int64()));
  }
  return found;
}

function time(bytes: Uint8Array, type: "Time" | "MicroTime"): string | undefined {
  if (bytes.length === 0) return undefined;
  const found = numbers(bytes);
  const seconds = new Date(Number(found.get(1) ?? 0) * 1000).toISOString().slice(0, 19);
  if (type === "Time") return `${seconds}Z`;
  return `${seconds}.${String(Math.trunc(Number(found.get(2) ?? 0) / 1000)).padStart(6, "0")}Z`;
}

/** Type 0 is a number, 1 a string. A zero number is what Go has where nothing is given. */
function intOrString(bytes: Uint8Array): number | string | undefined {
  const found = numbers(bytes);
  if (found.get(1) === 1) return String(found.get(3) ?? "");
  return Number(found.get(2) ?? 0) || undefined;
}
