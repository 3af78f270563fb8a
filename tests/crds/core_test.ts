import { assertEquals } from "@std/assert";
import {
  type ApiObject,
  apiVersion,
  coreKinds,
  customResourceDefinition,
  endpointSlice,
  event,
  eventsEvent,
  type Kind,
  kindOf,
  namespace,
  pod,
  secret,
  service,
  serviceAccount,
} from "../../crds/mod.ts";
import { validate } from "../../crds/validate.ts";
import { coreCases, coreObject, newEvent, preciseEvent } from "./rules/core.ts";

type Json = { readonly [field: string]: unknown };

function judge<T extends ApiObject>(kind: Kind<T>, body: Json, metadata: Json = { name: "a" }) {
  const object = { apiVersion: apiVersion(kind as Kind), kind: kind.kind, metadata, ...body };
  return validate(kind, "v1", object, { fieldValidation: "Strict" });
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

Deno.test("a Secret's stringData become data", () => {
  const { object, errors } = judge(secret, {
    data: { a: "eA==", b: "eA==" },
    stringData: { a: "ä", c: "c" },
  });
  assertEquals(errors, []);
  assertEquals(object.data, { a: "w6Q=", b: "eA==", c: "Yw==" });
  assertEquals([object.stringData, object.type], [undefined, "Opaque"]);
});

Deno.test("ordinary objects of all kinds lose nothing", () => {
  const objects: readonly (readonly [Kind, Json])[] = [
    [namespace as Kind, { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }],
    [serviceAccount as Kind, { imagePullSecrets: [{ name: "a" }], automountServiceAccountToken: false }],
    [event as Kind, preciseEvent],
    [eventsEvent as Kind, newEvent],
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

for (const { kind, told: expected, keeps, breaks } of coreCases) {
  Deno.test(`${kind.kind} ${expected.join(", ")}`, () => {
    const judged = (body: Json) => {
      const { errors } = validate(kind, "v1", coreObject(kind, body), { fieldValidation: "Strict" });
      return errors.map(({ field, message }) => `${field}: ${message}`);
    };
    assertEquals(judged(keeps), []);
    assertEquals(judged(breaks), expected);
  });
}

Deno.test("an EndpointSlice may have loopback addresses, and gets the defaults of Kubernetes", () => {
  for (const [addressType, address] of [["IPv4", "127.0.0.1"], ["IPv6", "::1"]] as const) {
    const slice = { addressType, endpoints: [{ addresses: [address] }], ports: [{ port: 80 }] };
    assertEquals(judge(endpointSlice, slice).errors, []);
  }
  const { object } = judge(endpointSlice, { addressType: "IPv4", ports: [{ port: 80 }] });
  assertEquals(object.ports, [{ name: "", protocol: "TCP", port: 80 }]);
  assertEquals(object.endpoints, []);
});

Deno.test("a Namespace is active", () => {
  assertEquals(judge(namespace, {}).object.status, { phase: "Active" });
});
