import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  gateway,
  gatewayClass,
  type HTTPRoute,
  httpRoute,
  referenceGrant,
  tlsRoute,
} from "../../crds/mod.ts";
import { validate, type ValidateOptions } from "../../crds/validate.ts";

type Json = { readonly [field: string]: unknown };

const group = "gateway.networking.k8s.io";
const route = (spec: Json, more: Json = {}): Json => ({
  apiVersion: `${group}/v1`,
  kind: "HTTPRoute",
  metadata: { name: "web", namespace: "default" },
  spec,
  ...more,
});
const gatewayOf = (spec: Json): Json => ({
  apiVersion: `${group}/v1`,
  kind: "Gateway",
  metadata: { name: "gw", namespace: "default" },
  spec: { gatewayClassName: "c", listeners: [{ name: "http", port: 80, protocol: "HTTP" }], ...spec },
});

const texts = (object: unknown, options: ValidateOptions = {}) =>
  validate(httpRoute, "v1", object, options).errors.map(({ field, message }) => `${field}: ${message}`);
const gatewayTexts = (spec: Json) =>
  validate(gateway, "v1", gatewayOf(spec)).errors.map(({ field, message }) => `${field}: ${message}`);

Deno.test("an HTTPRoute gets the defaults of the API", () => {
  const { object, errors } = validate(
    httpRoute,
    "v1",
    route({ rules: [{ backendRefs: [{ name: "a", port: 1 }] }] }),
  );
  assertEquals(errors, []);
  const spec: HTTPRoute["spec"] = {
    rules: [{
      matches: [{ path: { type: "PathPrefix", value: "/" } }],
      backendRefs: [{ group: "", kind: "Service", name: "a", port: 1, weight: 1 }],
    }],
  };
  assertEquals(object.spec, spec);
});

Deno.test("an empty spec is a route for everything", () => {
  assertEquals(validate(httpRoute, "v1", route({})).object.spec, {
    rules: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }],
  });
});

Deno.test("a new Gateway waits for its controller", () => {
  const { object } = validate(gateway, "v1", gatewayOf({}));
  assertEquals(object.status?.conditions?.map(({ type, status, reason }) => [type, status, reason]), [
    ["Accepted", "Unknown", "Pending"],
    ["Programmed", "Unknown", "Pending"],
  ]);
  assertEquals(object.spec.listeners[0]!.allowedRoutes, { namespaces: { from: "Same" } });
});

Deno.test("what is there already is not changed by defaults, and validation is idempotent", () => {
  const first = validate(gateway, "v1", gatewayOf({ infrastructure: { labels: { a: "b" } } })).object;
  const second = validate(gateway, "v1", first);
  assertEquals(second.errors, []);
  assertEquals(second.object, first);
});

Deno.test("defaults of one object are not shared with the next", () => {
  const rules = () => validate(httpRoute, "v1", route({})).object.spec.rules as unknown as { x?: number }[];
  rules()[0]!.x = 1;
  assertEquals(rules()[0]!.x, undefined);
});

Deno.test("nulls count as absent", () => {
  const { object, errors, unknownFields } = validate(
    httpRoute,
    "v1",
    route({ hostnames: null, rules: [{ matches: null, filters: null }] }, {
      metadata: { name: "web", creationTimestamp: null },
    }),
  );
  assertEquals([errors, unknownFields], [[], []]);
  assertEquals(object.metadata, { name: "web" });
  assertEquals(object.spec, { rules: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }] });
});

Deno.test("unknown fields are dropped; they are errors, warnings or nothing", () => {
  const object = route({
    foo: 1,
    rules: [{ bar: { baz: 1 }, backendRefs: [{ name: "a", port: 1, x: null }] }],
  });
  const fields = ["spec.foo", "spec.rules[0].bar", "spec.rules[0].backendRefs[0].x"];
  const messages = fields.map((field) => `unknown field "${field}"`);

  const warned = validate(httpRoute, "v1", object);
  assertEquals([warned.errors, warned.warnings, warned.unknownFields], [[], messages, fields]);
  assert(!JSON.stringify(warned.object).includes("baz"));

  const strict = validate(httpRoute, "v1", object, { fieldValidation: "Strict" });
  assertEquals(strict.errors.map(({ message }) => message), messages);
  assertEquals(strict.errors[1], { field: "spec.rules[0].bar", reason: "Unknown", message: messages[1]! });
  assertEquals(strict.warnings, []);

  const ignored = validate(httpRoute, "v1", object, { fieldValidation: "Ignore" });
  assertEquals([ignored.errors, ignored.warnings], [[], []]);
});

Deno.test("keys of labels and names of the prototype are no unknown fields, and harm nobody", () => {
  const metadata = JSON.parse('{ "name": "web", "labels": { "constructor": "a", "toString": "b" } }');
  assertEquals(texts(route({}, { metadata }), { fieldValidation: "Strict" }), []);
  const spec = JSON.parse('{ "__proto__": { "x": 1 }, "constructor": {} }');
  const { object, unknownFields } = validate(httpRoute, "v1", route(spec));
  assertEquals(unknownFields, ["spec.__proto__", "spec.constructor"]);
  assertEquals(Object.keys(object.spec), ["rules"]);
  assertEquals(({} as Json).x, undefined);
});

Deno.test("fields that a channel or a release does not have are unknown there", () => {
  const session = route({ rules: [{ retry: { codes: [500] }, sessionPersistence: { sessionName: "x" } }] });
  const unknown = (options: ValidateOptions) => validate(httpRoute, "v1", session, options).unknownFields;
  assertEquals(unknown({ channel: "experimental", release: "1.6" }), []);
  assertEquals(unknown({ channel: "experimental", release: "1.7" }), [
    "spec.rules[0].sessionPersistence.sessionName",
  ]);
  assertEquals(unknown({ channel: "standard", release: "1.7" }), ["spec.rules[0].sessionPersistence"]);
  assertEquals(unknown({ channel: "standard", release: "1.6" }), [
    "spec.rules[0].retry",
    "spec.rules[0].sessionPersistence",
  ]);
  const { object } = validate(httpRoute, "v1", session, { channel: "standard", release: "1.6" });
  assertEquals(Object.keys(object.spec.rules[0]!), ["matches"]);
});

Deno.test("errors are worded as kube-apiserver words them", () => {
  const dns = "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
  assertEquals(gatewayTexts({ listeners: [{ name: "a", port: 0, protocol: "HTTP" }] }), [
    "spec.listeners[0].port: Invalid value: 0: spec.listeners[0].port in body should be greater than or equal to 1",
  ]);
  assertEquals(gatewayTexts({ listeners: [{ name: "a", port: 65536, protocol: "HTTP" }] }), [
    "spec.listeners[0].port: Invalid value: 65536: spec.listeners[0].port in body should be less than or equal to 65535",
  ]);
  assertEquals(gatewayTexts({ listeners: [{ name: "a", port: "80", protocol: "HTTP" }] }), [
    'spec.listeners[0].port: Invalid value: "string": spec.listeners[0].port in body must be of type integer: "string"',
  ]);
  assertEquals(gatewayTexts({ listeners: [] }), [
    "spec.listeners: Invalid value: 0: spec.listeners in body should have at least 1 items",
  ]);
  assertEquals(gatewayTexts({ gatewayClassName: undefined }), ["spec.gatewayClassName: Required value"]);
  assertEquals(gatewayTexts({ gatewayClassName: "" }), [
    'spec.gatewayClassName: Invalid value: "": spec.gatewayClassName in body should be at least 1 chars long',
  ]);
  assertEquals(gatewayTexts({ gatewayClassName: "x".repeat(254) }), [
    "spec.gatewayClassName: Too long: may not be more than 253 bytes",
  ]);
  assertEquals(texts(route({ hostnames: ["a", "-b"] })), [
    `spec.hostnames[1]: Invalid value: "-b": spec.hostnames[1] in body should match '${dns}'`,
  ]);
  assertEquals(texts(route({ hostnames: Array.from({ length: 17 }, (_, i) => `h${i}`) })), [
    "spec.hostnames: Too many: 17: must have at most 16 items",
  ]);
  assertEquals(texts(route({ rules: [{ matches: [{}, { method: "get" }] }] })), [
    'spec.rules[0].matches[1].method: Unsupported value: "get": supported values: "GET", "HEAD", "POST", "PUT", ' +
    '"DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"',
  ]);
  assertEquals(texts(route({ rules: [{ matches: [{ path: { value: "x" } }] }] })), [
    "spec.rules[0].matches[0].path: Invalid value: value must be an absolute path and start with '/' when type one " +
    "of ['Exact', 'PathPrefix']",
  ]);
  const headers = [{ name: "a", value: "1" }, { name: "a", value: "2" }, { name: "a", value: "3" }];
  assertEquals(texts(route({ rules: [{ matches: [{ headers }] }] })), [
    'spec.rules[0].matches[0].headers[1]: Duplicate value: {"name":"a"}',
  ]);
  assertEquals(
    texts(
      route({ rules: [{ filters: [{ type: "RequestRedirect", requestRedirect: { statusCode: 300 } }] }] }),
    ),
    [
      "spec.rules[0].filters[0].requestRedirect.statusCode: Unsupported value: 300: supported values: " +
      '"301", "302", "303", "307", "308"',
    ],
  );
  assertEquals(texts({ ...route({}), spec: [] }), [
    'spec: Invalid value: "array": spec in body must be of type object: "array"',
  ]);
});

Deno.test("a value comes with its error", () => {
  const { errors } = validate(
    gateway,
    "v1",
    gatewayOf({ listeners: [{ name: "a", port: 0, protocol: "HTTP" }] }),
  );
  assertEquals(errors[0]!.badValue, 0);
  assertEquals(errors[0]!.reason, "Invalid");
});

Deno.test("rules wait until the shape is right, and say so", () => {
  const rules = [{ matches: [{ path: { value: "x" }, method: "get" }] }];
  const told = texts(route({ rules }));
  assertEquals(told.length, 2);
  assert(told[0]!.startsWith("spec.rules[0].matches[0].method: Unsupported value"));
  assert(told[1]!.startsWith("<nil>: Invalid value: null: rules were not checked"));
  // Bounds are no shape: both are told.
  const named = [{ name: "-", matches: [{ path: { value: "x" } }] }];
  assertEquals(texts(route({ rules: named })).map((text) => text.split(":")[0]), [
    "spec.rules[0].name",
    "spec.rules[0].matches[0].path",
  ]);
});

Deno.test("a rule about changes needs both objects", () => {
  const of = (controllerName: string, description = "") => ({
    apiVersion: `${group}/v1`,
    kind: "GatewayClass",
    metadata: { name: "c" },
    spec: { controllerName, description },
  });
  const check = (object: ReturnType<typeof of>, old?: ReturnType<typeof of>) =>
    validate(gatewayClass, "v1", object, old ? { old } : {}).errors.map(({ field, message }) =>
      `${field}: ${message}`
    );
  assertEquals(check(of("a.example/x")), []);
  assertEquals(check(of("a.example/x", "new"), of("a.example/x")), []);
  assertEquals(check(of("b.example/x"), of("a.example/x")), [
    'spec.controllerName: Invalid value: "b.example/x": field is immutable',
  ]);
});

Deno.test("metadata are checked", () => {
  const of = (metadata: Json) =>
    texts(route({}, { metadata })).map((text) => text.split(": ").slice(0, 3).join(": "));
  assertEquals(of({ name: "Web" }), ['metadata.name: Invalid value: "Web"']);
  assertEquals(of({}), ["metadata.name: Required value"]);
  assertEquals(of({ name: "a", namespace: "a.b" }), ['metadata.namespace: Invalid value: "a.b"']);
  assertEquals(of({ name: "a", labels: { "a b": "c" } }), ['metadata.labels: Invalid value: "a b"']);
  assertEquals(of({ name: "a", labels: { a: "c d" } }), ['metadata.labels: Invalid value: "c d"']);
  assertEquals(of({ name: "a", labels: { a: 1 } }), ['metadata.labels.a: Invalid value: "integer"']);
  assertEquals(of({ name: "a", annotations: { "A.b/c": "any thing" } }), []);
  assertEquals(of({ name: "a", annotations: { a: "x".repeat(262144) } }), [
    "metadata.annotations: Too long: may not be more than 262144 bytes",
  ]);
  assertEquals(of({ name: "a", managedFields: [{ manager: "m", fieldsV1: { "f:spec": {} } }] }), []);
});

Deno.test("all versions are judged, and another one is a bug", () => {
  const grant = {
    kind: "ReferenceGrant",
    metadata: { name: "a" },
    spec: { from: [{ group, kind: "HTTPRoute", namespace: "a" }], to: [{ group: "", kind: "Service" }] },
  };
  for (const version of ["v1", "v1beta1"]) {
    const { errors } = validate(referenceGrant, version, { apiVersion: `${group}/${version}`, ...grant });
    assertEquals(errors, []);
  }
  const alpha = {
    apiVersion: `${group}/v1alpha2`,
    kind: "TLSRoute",
    metadata: { name: "a" },
    spec: { rules: [1, 2].map((port) => ({ backendRefs: [{ name: "a", port }] })) },
  };
  assertEquals(validate(tlsRoute, "v1alpha2", alpha).errors, []);
  assertEquals(validate(tlsRoute, "v1", alpha).errors.map(({ field }) => field), [
    "spec.rules",
    "spec.hostnames",
  ]);
  assertThrows(() => validate(httpRoute, "v2", {}), RangeError, 'no version "v2"');
});

Deno.test("astral characters count once", () => {
  const { errors } = validate(gatewayClass, "v1", {
    apiVersion: `${group}/v1`,
    kind: "GatewayClass",
    metadata: { name: "c" },
    spec: { controllerName: "a.example/x", description: "😀".repeat(64) },
  });
  assertEquals(errors, []);
});

Deno.test("what is no object is refused", () => {
  for (const object of [null, undefined, 1, "x", [], true]) {
    assert(validate(httpRoute, "v1", object).errors.length > 0, `${object}`);
  }
});

Deno.test("absurd objects are refused soon, and with few words", () => {
  const many = (count: number) => Array(count).fill(1);
  const header = `${"a".repeat(4000)}\u0001`;
  const filter = {
    type: "RequestHeaderModifier",
    requestHeaderModifier: { set: [{ name: "a", value: header }] },
  };
  const cors = {
    type: "CORS",
    cors: { allowOrigins: many(64), allowHeaders: many(64), exposeHeaders: many(64) },
  };
  const filters = Array(16).fill(cors);
  const absurd = [
    route({ rules: many(400_000) }),
    route({ rules: [{ matches: many(400_000) }] }),
    route({ hostnames: ["a".repeat(1_000_000) + "!"] }),
    route({}, { metadata: { name: "a", finalizers: many(400_000) } }),
    route({ rules: [{ filters: [filter] }] }),
    route({ rules: Array(16).fill({ filters, backendRefs: Array(16).fill({ name: 1, filters }) }) }),
  ];
  for (const object of absurd) {
    const { errors } = validate(httpRoute, "v1", object);
    assert(errors.length > 0 && errors.length <= 101, `${errors.length}`);
  }
  assertEquals(texts(absurd[0]).slice(0, 1), ["spec.rules: Too many: 400000: must have at most 16 items"]);
});

Deno.test("the schema of a version validates and fills in by itself", () => {
  const schema = httpRoute.versions[0].schema;
  assertEquals(schema.parse(route({})).spec.rules, [{
    matches: [{ path: { type: "PathPrefix", value: "/" } }],
  }]);
  assertEquals(schema.safeParse(route({ rules: [] })).success, false);
});
