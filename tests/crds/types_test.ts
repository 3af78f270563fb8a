/**
 * What the types promise; most of it is checked by the compiler.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import {
  type ApiObject,
  type Condition,
  type Gateway,
  type HTTPRoute,
  httpRoute,
  type Kind,
  type ParentReference,
  type Service,
} from "../../crds/mod.ts";

const takesObject = (object: ApiObject): string => object.metadata.name;

Deno.test("objects made by hand need what the API wants, and no more", () => {
  const route: HTTPRoute = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "web" },
    spec: { rules: [{ matches: [{ path: { type: "Exact", value: "/" } }] }] },
  };
  const gateway: Gateway = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { name: "gw" },
    spec: {
      gatewayClassName: "c",
      listeners: [{
        name: "http",
        port: 80,
        protocol: "HTTP",
        allowedRoutes: { namespaces: { from: "Same" } },
      }],
    },
  };
  assertEquals([takesObject(route), takesObject(gateway)], ["web", "gw"]);
});

Deno.test("types are exact and immutable", () => {
  const read = (route: HTTPRoute, gateway: Gateway, service: Service) => {
    const parents: readonly ParentReference[] | undefined = route.spec.parentRefs;
    const weight: number | undefined = route.spec.rules[0]?.backendRefs?.[0]?.weight;
    const conditions: readonly Condition[] | undefined = gateway.status?.conditions;
    const target: number | string | undefined = service.spec.ports?.[0]?.targetPort;
    const kind: Kind<HTTPRoute> = httpRoute;
    const literal: "HTTPRoute" = route.kind;
    // @ts-expect-error: nobody changes an object
    route.spec.rules = [];
    // @ts-expect-error: nor a list in it
    route.spec.rules.push(route.spec.rules[0]!);
    // @ts-expect-error: an absent field is absent
    const undefinedName: HTTPRoute["metadata"] = { name: "a", namespace: undefined };
    // @ts-expect-error: an enumeration has its values alone
    const method: NonNullable<HTTPRoute["spec"]["rules"][0]["matches"][0]["method"]> = "get";
    return [parents, weight, conditions, target, kind, literal, undefinedName, method];
  };
  assertEquals(typeof read, "function");
});
