import { assert, assertEquals, assertThrows } from "@std/assert";
import { z } from "zod";
import { allKinds, gateway, httpRoute, newest, pod, service } from "../../crds/mod.ts";
import { type JSONSchema, openapi } from "../../crds/openapi.ts";
import * as k from "../../crds/schema/build.ts";
import { defineKind, resource, version } from "../../crds/define.ts";

function at(schema: JSONSchema, path: string): JSONSchema {
  return path.split(".").reduce<JSONSchema>((node, step) => {
    const field = node.properties![step.replace("[]", "")]!;
    return step.endsWith("[]") ? field.items! : field;
  }, schema);
}

function* nodes(schema: JSONSchema, path = ""): Generator<readonly [path: string, node: JSONSchema]> {
  yield [path, schema];
  for (const [name, node] of Object.entries(schema.properties ?? {})) yield* nodes(node, `${path}.${name}`);
  if (schema.items) yield* nodes(schema.items, `${path}[]`);
  if (schema.additionalProperties) yield* nodes(schema.additionalProperties, `${path}{}`);
}

Deno.test("a schema says what kubectl explain shows", () => {
  const schema = openapi(httpRoute, httpRoute.versions[0]);
  assertEquals(at(schema, "spec.rules[].backendRefs[].weight"), {
    type: "integer",
    format: "int32",
    minimum: 0,
    maximum: 1_000_000,
    default: 1,
    description: "Share of the traffic in proportion to the sum of all weights.",
  });
  assertEquals(at(schema, "spec.rules[].filters[].requestHeaderModifier.set[]").required, ["name", "value"]);
  assertEquals(at(schema, "spec.rules[].filters[].requestHeaderModifier.set")["x-kubernetes-list-map-keys"], [
    "name",
  ]);
  assertEquals(at(schema, "spec.rules[].matches[].method").enum?.[0], "GET");
  assertEquals(at(schema, "metadata.labels").additionalProperties, { type: "string" });
  assertEquals(schema.required, ["spec"]);
});

Deno.test("every field is described, every node has a type", () => {
  for (const kind of allKinds) {
    for (const one of kind.versions) {
      for (const [path, node] of nodes(openapi(kind, one))) {
        const where = `${kind.kind} ${one.name} ${path}`;
        const free = node["x-kubernetes-preserve-unknown-fields"] || node["x-kubernetes-int-or-string"];
        assert(node.type !== undefined || free, `${where} has no type`);
        if (/\.\w+$/.test(path)) assert(node.description, `${where} has no description`);
      }
    }
  }
});

Deno.test("a schema is that of its channel and release", () => {
  const session = (surface: typeof newest) =>
    Object.keys(at(openapi(httpRoute, httpRoute.versions[0], surface), "spec.rules[]").properties!);
  assert(session(newest).includes("sessionPersistence"));
  assert(!session({ channel: "standard", release: "1.7" }).includes("sessionPersistence"));
  assert(session({ channel: "standard", release: "1.7" }).includes("retry"));
  assert(!session({ channel: "standard", release: "1.6" }).includes("retry"));
  const filters = at(
    openapi(gateway, gateway.versions[0], { channel: "experimental", release: "1.6" }),
    "spec.listeners[]",
  );
  assertEquals(filters.properties!.filters, undefined);
});

Deno.test("what is kept as it is says so", () => {
  assertEquals(at(openapi(pod, pod.versions[0]), "spec")["x-kubernetes-preserve-unknown-fields"], true);
  assertEquals(at(openapi(service, service.versions[0]), "spec.ports[].targetPort"), {
    description: "Number or name of the pods' port; the same number if absent.",
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
  });
});

Deno.test("a rule of our own comes with its expression, one of upstream's stays out", () => {
  const body = k.object({ a: k.optional(k.integer()), b: k.optional(k.integer()) }, {
    rules: [
      { message: "a xor b", rule: "has(self.a) != has(self.b)", holds: (self) => !self.a !== !self.b },
      { message: "no expression", holds: () => true },
    ],
  });
  const schema = resource("Thing", { spec: k.required(body, "What is desired.") });
  const kind = defineKind({ group: "example.com", kind: "Thing", plural: "things" }, version("v1", schema));
  const told = (allRules: boolean) =>
    at(openapi(kind, kind.versions[0], newest, { allRules }), "spec")["x-kubernetes-validations"];
  assertEquals(told(false), [{ rule: "has(self.a) != has(self.b)", message: "a xor b" }]);
  assertEquals((told(true) as unknown[]).length, 2);
});

Deno.test("a schema that Kubernetes does not have is a bug", () => {
  const schema = resource("Thing", { spec: z.tuple([z.string()]) });
  const kind = defineKind({ group: "example.com", kind: "Thing", plural: "things" }, version("v1", schema));
  assertThrows(() => openapi(kind, kind.versions[0]), TypeError, 'schema of type "tuple"');
});
