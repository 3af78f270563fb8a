import { assertEquals } from "@std/assert";
import {
  type ApiObject,
  apiVersion,
  configMap,
  coreKinds,
  customResourceDefinition,
  endpointSlice,
  event,
  eventsEvent,
  type Kind,
  kindOf,
  lease,
  namespace,
  pod,
  secret,
  service,
  serviceAccount,
} from "../../crds/mod.ts";
import { validate } from "../../crds/validate.ts";

type Json = { readonly [field: string]: unknown };

function judge<T extends ApiObject>(kind: Kind<T>, body: Json, metadata: Json = { name: "a" }) {
  const object = { apiVersion: apiVersion(kind as Kind), kind: kind.kind, metadata, ...body };
  return validate(kind, "v1", object, { fieldValidation: "Strict" });
}

function told<T extends ApiObject>(kind: Kind<T>, body: Json, metadata?: Json): string[] {
  return judge(kind, body, metadata).errors.map(({ field, message }) => `${field}: ${message}`);
}

Deno.test("every kind is found by its name", () => {
  assertEquals(kindOf("", "Service"), service as Kind);
  assertEquals(kindOf("events.k8s.io", "Event"), eventsEvent as Kind);
  assertEquals(kindOf("", "Gateway"), undefined);
  assertEquals(new Set(coreKinds.map((kind) => `${kind.plural}.${kind.group}`)).size, coreKinds.length);
});

Deno.test("a Service gets the defaults that Kubernetes gives it", () => {
  const { object, errors } = judge(service, { spec: { selector: { app: "a" }, ports: [{ port: 80 }] } });
  assertEquals(errors, []);
  assertEquals(object.spec, {
    type: "ClusterIP",
    ports: [{ protocol: "TCP", port: 80, targetPort: 80 }],
    selector: { app: "a" },
    sessionAffinity: "None",
    internalTrafficPolicy: "Cluster",
  });
  const balanced =
    judge(service, { spec: { type: "LoadBalancer", ports: [{ port: 80, targetPort: "http" }] } }).object;
  assertEquals(balanced.spec.externalTrafficPolicy, "Cluster");
  assertEquals(balanced.spec.allocateLoadBalancerNodePorts, true);
  assertEquals(balanced.spec.ports?.[0]?.targetPort, "http");
});

Deno.test("a Service is checked as Kubernetes checks it", () => {
  const ports = (...list: readonly Json[]) => told(service, { spec: { ports: list } });
  assertEquals(ports({ port: 0, targetPort: 1 }), [
    "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
  ]);
  assertEquals(ports({ port: 1, protocol: "ICMP" }), [
    'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
  ]);
  assertEquals(ports({ port: 1 }, { port: 2, name: "b" }), ["spec.ports[0].name: Required value"]);
  assertEquals(ports({ port: 1, name: "a" }, { port: 2, name: "a" }), [
    'spec.ports[1].name: Duplicate value: "a"',
  ]);
  assertEquals(ports({ port: 1, name: "a" }, { port: 1, name: "b" }), [
    'spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}',
  ]);
  assertEquals(ports({ port: 1, targetPort: 70000 }), [
    "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
  ]);
  assertEquals(ports({ port: 1, targetPort: "-a" }).length, 1);
  assertEquals(ports({ port: 1, targetPort: true }), [
    'spec.ports[0].targetPort: Invalid value: "boolean": spec.ports[0].targetPort in body must be of type ' +
    'integer,string: "boolean"',
  ]);
  assertEquals(ports(), ["spec.ports: Required value"]);
  assertEquals(told(service, { spec: { clusterIP: "None" } }), []);
  assertEquals(told(service, { spec: { type: "ExternalName" } }), ["spec.externalName: Required value"]);
  assertEquals(told(service, { spec: { clusterIP: "None" } }, { name: "a.b" }).length, 1);
  assertEquals(told(service, { spec: { clusterIP: "None" } }, { name: "1a" }), []);
});

Deno.test("an EndpointSlice has addresses of its type; loopback is one of them", () => {
  const slice = (addressType: string, ...addresses: readonly string[]) =>
    told(endpointSlice, { addressType, endpoints: [{ addresses }], ports: [{ port: 80 }] });
  assertEquals(slice("IPv4", "127.0.0.1"), []);
  assertEquals(slice("IPv6", "::1"), []);
  assertEquals(slice("IPv6", "fe80::1:2", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8"), []);
  assertEquals(slice("FQDN", "a.example.com"), []);
  assertEquals(slice("IPv4", "::1"), [
    'endpoints[0].addresses: Invalid value: "::1": must be of address type IPv4',
  ]);
  assertEquals(slice("IPv4", "1.2.3"), [
    'endpoints[0].addresses[0]: Invalid value: "1.2.3": must be of address type IPv4',
  ]);
  for (const wrong of ["1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "1.2.3.4 "]) {
    assertEquals(slice("IPv4", wrong).length, 1, wrong);
  }
  for (
    const wrong of [
      "1::2::3",
      ":1",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1:2:3:4:5:6:7:8::",
      ":::",
      "g::",
      "12345::",
    ]
  ) {
    assertEquals(slice("IPv6", wrong).length, 1, wrong);
  }
  assertEquals(slice("IPv4"), ["endpoints[0].addresses: Required value: must contain at least 1 address"]);
  const { object } = judge(endpointSlice, { addressType: "IPv4", ports: [{ port: 80 }] });
  assertEquals(object.ports, [{ name: "", protocol: "TCP", port: 80 }]);
  assertEquals(object.endpoints, []);
});

Deno.test("a Secret's stringData become data", () => {
  const { object, errors } = judge(secret, {
    data: { a: "eA==", b: "eA==" },
    stringData: { a: "ä", c: "c" },
  });
  assertEquals(errors, []);
  assertEquals(object.data, { a: "w6Q=", b: "eA==", c: "Yw==" });
  assertEquals([object.stringData, object.type], [undefined, "Opaque"]);
});

Deno.test("a Secret is checked, and never shown", () => {
  assertEquals(told(secret, { type: "kubernetes.io/tls", data: { "tls.crt": "" } }), [
    "data[tls.key]: Required value",
  ]);
  assertEquals(told(secret, { data: { a: "hunter2!" } }), ["data.a: Invalid value: must be base64"]);
  assertEquals(told(secret, { data: { a: 12345 } }), [
    'data.a: Invalid value: "integer": data.a in body must be of type string: "integer"',
  ]);
  assertEquals(told(secret, { data: { "a/b": "eA==" } }).length, 1);
  assertEquals(told(secret, { data: { a: btoa("x".repeat(1024 * 1024 + 3)) } }), [
    "data: Too long: may not be more than 1048576 bytes",
  ]);
});

Deno.test("a ConfigMap has each key once", () => {
  assertEquals(told(configMap, { data: { a: "x" }, binaryData: { b: "eA==" }, immutable: true }), []);
  assertEquals(told(configMap, { data: { a: "x" }, binaryData: { a: "eA==" } }), [
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ]);
});

Deno.test("a Lease lasts", () => {
  const spec = { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2026-01-02T03:04:05.678901Z" };
  assertEquals(told(lease, { spec }), []);
  assertEquals(told(lease, { spec: { leaseDurationSeconds: 0 } }), [
    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
  ]);
  assertEquals(told(lease, { spec: { renewTime: "yesterday" } }), [
    'spec.renewTime: Invalid value: "yesterday": spec.renewTime in body must be of type date-time: "yesterday"',
  ]);
});

Deno.test("ordinary objects of all kinds lose nothing", () => {
  const now = "2026-01-02T03:04:05Z";
  const reference = { kind: "Gateway", namespace: "a", name: "b", uid: "c", apiVersion: "d/v1" };
  const objects: readonly (readonly [Kind, Json])[] = [
    [namespace as Kind, { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }],
    [serviceAccount as Kind, { imagePullSecrets: [{ name: "a" }], automountServiceAccountToken: false }],
    [event as Kind, {
      involvedObject: reference,
      reason: "A",
      message: "b",
      source: { component: "c" },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 2,
      type: "Warning",
      eventTime: now,
      reportingComponent: "c",
      reportingInstance: "d",
    }],
    [eventsEvent as Kind, {
      eventTime: now,
      series: { count: 2, lastObservedTime: now },
      reportingController: "a/b",
      reportingInstance: "c",
      action: "d",
      reason: "e",
      regarding: reference,
      note: "f",
      type: "Normal",
    }],
    [customResourceDefinition as Kind, {
      spec: {
        group: "example.com",
        names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
        scope: "Namespaced",
        versions: [{
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } },
          subresources: { status: {} },
        }],
      },
      status: { storedVersions: ["v1"] },
    }],
    [pod as Kind, {
      spec: { nodeName: "n", containers: [{ name: "a", image: "b" }] },
      status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], qosClass: "BestEffort" },
    }],
  ];
  for (const [kind, body] of objects) {
    const { object, errors } = judge(kind, body);
    assertEquals(errors, [], kind.kind);
    assertEquals({ ...object }, { ...object, ...body });
  }
});

Deno.test("a Namespace's name is a label", () => {
  assertEquals(told(namespace, {}, { name: "a.b" }).length, 1);
  assertEquals(judge(namespace, {}).object.status, { phase: "Active" });
});
