/** Objects through their life: made, changed, patched, deleted; and what is refused, in the words of kube-apiserver. */
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { typedModel } from "../../standalone/apiserver/model.ts";
import type { Model } from "../../standalone/apiserver/resources.ts";
import { looseModel, testApi } from "./support.ts";

const routes = "/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes";
const maps = "/api/v1/namespaces/default/configmaps";

const route = (name: string, more: object = {}) => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "HTTPRoute",
  metadata: { name },
  spec: { hostnames: ["a.example"] },
  ...more,
});
const map = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { a: "1" },
  ...more,
});

Deno.test("create gives an object what the server decides", async () => {
  await using api = await testApi();
  const { status, body } = await api.call("POST", routes, route("r", { status: { parents: [] } }));
  assertEquals(status, 201);
  assertEquals(body.metadata.namespace, "default");
  assertEquals(body.metadata.generation, 1);
  assertMatch(body.metadata.uid, /^[0-9a-f-]{36}$/);
  assertMatch(body.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assertEquals(body.metadata.resourceVersion, String(api.store.revision));
  assertEquals(body.status, undefined, "status is a subresource");
  assertEquals((await api.call("GET", `${routes}/r`)).body, body);
});

Deno.test("create refuses what kube-apiserver refuses", async () => {
  await using api = await testApi();
  await api.call("POST", routes, route("r"));
  const refused = async (path: string, body: unknown, code: number, reason: string, message: string) => {
    const answer = await api.call("POST", path, body);
    assertEquals([answer.status, answer.body.reason], [code, reason], JSON.stringify(answer.body));
    assertEquals([answer.body.kind, answer.body.status, answer.body.code], ["Status", "Failure", code]);
    assertStringIncludes(answer.body.message, message);
    return answer.body;
  };
  await refused(
    routes,
    route("r"),
    409,
    "AlreadyExists",
    'httproutes.gateway.networking.k8s.io "r" already exists',
  );
  const bad = await refused(
    routes,
    route("Bad_Name"),
    422,
    "Invalid",
    "a lowercase RFC 1123 subdomain must consist of",
  );
  assertEquals(bad.details.causes[0].field, "metadata.name");
  await refused(routes, route(""), 422, "Invalid", "name or generateName is required");
  await refused(
    routes,
    map("r"),
    400,
    "BadRequest",
    'ConfigMap in version "v1" cannot be handled as a HTTPRoute',
  );
  await refused(
    routes,
    { ...route("x"), apiVersion: "gateway.networking.k8s.io/v1beta1" },
    400,
    "BadRequest",
    "the API version in the data (gateway.networking.k8s.io/v1beta1) does not match the expected API version " +
      "(gateway.networking.k8s.io/v1)",
  );
  await refused(
    routes,
    route("x", { metadata: { name: "x", namespace: "kube-system" } }),
    400,
    "BadRequest",
    "the namespace of the provided object does not match the namespace sent on the request",
  );
  await refused(
    routes.replace("default", "nowhere"),
    route("x"),
    404,
    "NotFound",
    'namespaces "nowhere" not found',
  );
  await refused(
    routes,
    route("x", { metadata: { name: "x", labels: { a: 1 } } }),
    400,
    "BadRequest",
    "cannot unmarshal",
  );
  await refused(
    maps,
    map("x", { metadata: { name: "x", finalizers: ["mine"] } }),
    422,
    "Invalid",
    "name is neither a standard finalizer name nor is it fully qualified",
  );
  await refused(
    routes,
    route("x", { metadata: { name: "x", resourceVersion: "7" } }),
    400,
    "BadRequest",
    "resourceVersion should not be set on objects to be created",
  );
  const wrong = await refused(routes, route("x", { spec: { wrong: 1 } }), 422, "Invalid", "spec.wrong");
  assertEquals(
    wrong.message,
    'HTTPRoute.gateway.networking.k8s.io "x" is invalid: spec.wrong: Invalid value: is always wrong',
  );
  assertEquals(wrong.details, {
    name: "x",
    group: "gateway.networking.k8s.io",
    kind: "HTTPRoute",
    causes: [{ reason: "FieldValueInvalid", field: "spec.wrong", message: "Invalid value: is always wrong" }],
  });
});

Deno.test("generateName makes names that differ", async () => {
  await using api = await testApi();
  const make = () => api.call("POST", routes, route("", { metadata: { generateName: "r-" } }));
  const [a, b] = [await make(), await make()];
  assertMatch(a.body.metadata.name, /^r-[a-z0-9]{5}$/);
  assertNotEquals(a.body.metadata.name, b.body.metadata.name);
});

Deno.test("update counts generations, keeps status, and minds resourceVersion", async () => {
  await using api = await testApi();
  const { body: made } = await api.call("POST", routes, route("r"));
  const { body: second } = await api.call("PUT", `${routes}/r`, {
    ...made,
    metadata: { ...made.metadata, labels: { a: "b" }, uid: made.metadata.uid, generation: 99 },
    status: { parents: ["mine"] },
  });
  assertEquals(second.metadata.generation, 1, "labels are not what is wanted of the data plane");
  assertEquals(second.status, undefined);
  const { body: third } = await api.call("PUT", `${routes}/r`, { ...second, spec: { hostnames: ["b"] } });
  assertEquals(third.metadata.generation, 2);

  const stale = await api.call("PUT", `${routes}/r`, { ...second, spec: {} });
  assertEquals(stale.status, 409);
  assertEquals(
    stale.body.message,
    'Operation cannot be fulfilled on httproutes.gateway.networking.k8s.io "r": the object has been modified; please ' +
      "apply your changes to the latest version and try again",
  );
  const blind = await api.call("PUT", `${routes}/r`, route("r"));
  assertEquals(blind.status, 422);
  assertStringIncludes(
    blind.body.message,
    "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update",
  );
  const other = await api.call("PUT", `${routes}/r`, {
    ...third,
    metadata: { ...third.metadata, uid: "other" },
  });
  assertEquals(other.status, 409);
  assertStringIncludes(
    other.body.message,
    "Precondition failed: UID in precondition: other, UID in object meta: ",
  );
  const renamed = await api.call("PUT", `${routes}/r`, route("q"));
  assertEquals(renamed.status, 400);
  assertEquals((await api.call("PUT", `${routes}/q`, { ...third, metadata: { name: "q" } })).status, 404);
});

Deno.test("an update that changes nothing writes nothing", async () => {
  await using api = await testApi();
  const { body: made } = await api.call("POST", routes, route("r"));
  const before = api.store.revision;
  const { status, body } = await api.call("PUT", `${routes}/r`, made);
  assertEquals(status, 200);
  assertEquals(body, made);
  assertEquals(api.store.revision, before);
});

Deno.test("status is written through its subresource alone", async () => {
  await using api = await testApi();
  const { body: made } = await api.call("POST", routes, route("r"));
  const { body } = await api.call("PUT", `${routes}/r/status`, {
    ...made,
    metadata: { ...made.metadata, labels: { no: "no" } },
    spec: { hostnames: ["changed"] },
    status: { parents: [1] },
  });
  assertEquals(body.status, { parents: [1] });
  assertEquals(body.spec, made.spec);
  assertEquals(body.metadata.labels, undefined);
  assertEquals(body.metadata.generation, 1);
  const kept = await api.call("PATCH", `${routes}/r`, {
    spec: { hostnames: ["c"] },
    status: { parents: [2] },
  });
  assertEquals(kept.body.status, { parents: [1] });
  assertEquals(kept.body.metadata.generation, 2);
  assertEquals((await api.call("GET", `${routes}/r/status`)).status, 200);
  assertEquals((await api.call("GET", `${maps}/r/status`)).status, 404);
});

Deno.test("patches: merge, JSON with tests, strategic for core kinds only", async () => {
  await using api = await testApi();
  await api.call("POST", maps, map("m", { data: { a: "1", b: "2" } }));
  const merge = await api.call("PATCH", `${maps}/m`, { data: { a: null, c: "3" } });
  assertEquals(merge.body.data, { b: "2", c: "3" });

  const json = { "content-type": "application/json-patch+json" };
  const patched = await api.call("PATCH", `${maps}/m`, [
    { op: "test", path: "/data/b", value: "2" },
    { op: "replace", path: "/data/b", value: "4" },
    { op: "add", path: "/metadata/labels", value: { x: "y" } },
  ], json);
  assertEquals([patched.body.data.b, patched.body.metadata.labels], ["4", { x: "y" }]);
  const failed = await api.call("PATCH", `${maps}/m`, [{ op: "test", path: "/data/b", value: "2" }], json);
  assertEquals([failed.status, failed.body.reason], [422, "Invalid"]);
  assertEquals(failed.body.message, "the server rejected our request due to an error in our request");
  assertStringIncludes(failed.body.details.causes[0].message, "/data/b");
  const missing = await api.call("PATCH", `${maps}/m`, [{ op: "remove", path: "/data/zzz" }], json);
  assertEquals(missing.status, 422);
  assertEquals((await api.call("GET", `${maps}/m`)).body.data.b, "4");

  const stale = await api.call("PATCH", `${maps}/m`, {
    metadata: { resourceVersion: "1" },
    data: { q: "q" },
  });
  assertEquals([stale.status, stale.body.reason], [409, "Conflict"]);

  const strategic = { "content-type": "application/strategic-merge-patch+json" };
  await api.call("POST", routes, route("r"));
  const refused = await api.call("PATCH", `${routes}/r`, { spec: {} }, strategic);
  assertEquals([refused.status, refused.body.reason], [415, "UnsupportedMediaType"]);
  assertEquals(
    refused.body.message,
    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, " +
      "application/merge-patch+json",
  );
  const apply = await api.call("PATCH", `${routes}/r`, "spec: {}", {
    "content-type": "application/apply-patch+yaml",
  });
  assertEquals(apply.status, 415);
  assertStringIncludes(apply.body.message, 'use "kubectl apply" without --server-side');
});

Deno.test("patch of what is not there, and with the wrong shape", async () => {
  await using api = await testApi();
  assertEquals((await api.call("PATCH", `${maps}/m`, { data: {} })).status, 404);
  await api.call("POST", maps, map("m"));
  assertEquals((await api.call("PATCH", `${maps}/m`, "{", {})).status, 400);
  assertEquals((await api.call("PATCH", `${maps}/m`, [1])).status, 400);
  const kind = await api.call("PATCH", `${maps}/m`, { kind: "Secret" });
  assertEquals([kind.status, kind.body.details.causes[0].field], [422, "patch"]);
  const name = await api.call("PATCH", `${maps}/m`, { metadata: { name: "n" } });
  assertEquals(name.status, 400);
  assertEquals(name.body.message, "the name of the object (n) does not match the name on the URL (m)");
  assertEquals((await api.call("GET", `${maps}/n`)).status, 404);
});

Deno.test("unknown fields: strict refuses, warn tells, ignore says nothing; they are dropped in any case", async () => {
  await using api = await testApi();
  const odd = route("r", { spec: { hostnames: ["a"], bogus: 1 } });
  const strict = await api.call("POST", `${routes}?fieldValidation=Strict`, odd);
  assertEquals([strict.status, strict.body.reason], [400, "BadRequest"]);
  assertEquals(
    strict.body.message,
    'HTTPRoute in version "v1" cannot be handled as a HTTPRoute: strict decoding error: unknown field "spec.bogus"',
  );
  const warn = await api.call("POST", `${routes}?fieldValidation=Warn`, odd);
  assertEquals(warn.status, 201);
  assertEquals(warn.headers.get("warning"), '299 - "unknown field \\"spec.bogus\\""');
  assertEquals(warn.body.spec, { hostnames: ["a"] });
  const ignore = await api.call("POST", `${routes}?fieldValidation=Ignore`, {
    ...odd,
    metadata: { name: "q", odd: 1 },
  });
  assertEquals(ignore.headers.get("warning"), null);
  assertEquals(ignore.body.metadata.odd, undefined);
  const patched = await api.call("PATCH", `${routes}/r?fieldValidation=Strict`, { spec: { bogus: 2 } });
  assertEquals(patched.status, 422);
  assertStringIncludes(patched.body.message, 'strict decoding error: unknown field "spec.bogus"');
  assertEquals((await api.call("POST", `${routes}?fieldValidation=Maybe`, odd)).status, 422);
});

Deno.test("dry runs answer as if, and keep nothing", async () => {
  await using api = await testApi();
  const before = api.store.revision;
  const made = await api.call("POST", `${maps}?dryRun=All`, map("m"));
  assertEquals(made.status, 201);
  assertEquals(made.body.metadata.resourceVersion, undefined);
  assertEquals((await api.call("GET", `${maps}/m`)).status, 404);
  assertEquals(api.store.revision, before);
  const { body } = await api.call("POST", maps, map("m"));
  const patched = await api.call("PATCH", `${maps}/m?dryRun=All`, { data: { z: "z" } });
  assertEquals(patched.body.data.z, "z");
  assertEquals(patched.body.metadata.resourceVersion, body.metadata.resourceVersion);
  assertEquals((await api.call("DELETE", `${maps}/m?dryRun=All`)).status, 200);
  assertEquals((await api.call("GET", `${maps}/m`)).body, body);
  assertEquals((await api.call("POST", `${maps}?dryRun=Some`, map("n"))).status, 422);
});

Deno.test("delete answers with a Status, or with the marked object while finalizers are left", async () => {
  await using api = await testApi();
  const { body: made } = await api.call("POST", maps, map("m"));
  const gone = await api.call("DELETE", `${maps}/m`);
  assertEquals(gone.status, 200);
  assertEquals(gone.body, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "m", kind: "configmaps", uid: made.metadata.uid },
  });
  assertEquals((await api.call("DELETE", `${maps}/m`)).status, 404);

  await api.call("POST", routes, route("r", { metadata: { name: "r", finalizers: ["a.b/c", "a.b/d"] } }));
  const marked = await api.call("DELETE", `${routes}/r`);
  assertEquals(marked.body.kind, "HTTPRoute");
  assertEquals(marked.body.metadata.deletionGracePeriodSeconds, 0);
  assertEquals(marked.body.metadata.generation, 2);
  assert(marked.body.metadata.deletionTimestamp);
  const again = await api.call("DELETE", `${routes}/r`);
  assertEquals(again.body.metadata, marked.body.metadata, "a second delete changes nothing");
  const added = await api.call("PATCH", `${routes}/r`, { metadata: { finalizers: ["a.b/c", "x.y/z"] } });
  assertEquals(added.status, 422);
  assertStringIncludes(added.body.message, "no new finalizers can be added if the object is being deleted");
  assertEquals((await api.call("PATCH", `${routes}/r`, { metadata: { finalizers: ["a.b/d"] } })).status, 200);
  assertEquals((await api.call("PATCH", `${routes}/r`, { metadata: { finalizers: null } })).status, 200);
  assertEquals((await api.call("GET", `${routes}/r`)).status, 404);
});

Deno.test("delete minds preconditions", async () => {
  await using api = await testApi();
  const { body: made } = await api.call("POST", maps, map("m"));
  const wish = (preconditions: object) =>
    api.call("DELETE", `${maps}/m`, { kind: "DeleteOptions", preconditions });
  const uid = await wish({ uid: "other" });
  assertEquals([uid.status, uid.body.reason], [409, "Conflict"]);
  assertStringIncludes(
    uid.body.message,
    `Precondition failed: UID in precondition: other, UID in object meta: ${made.metadata.uid}`,
  );
  assertEquals((await wish({ resourceVersion: "1" })).status, 409);
  assertEquals(
    (await wish({ uid: made.metadata.uid, resourceVersion: made.metadata.resourceVersion })).status,
    200,
  );
});

Deno.test("deletecollection deletes what its selector matches", async () => {
  await using api = await testApi();
  for (const name of ["a", "b", "c"]) {
    await api.call("POST", maps, map(name, { metadata: { name, labels: { keep: String(name === "b") } } }));
  }
  const { status, body } = await api.call("DELETE", `${maps}?labelSelector=keep=false`);
  assertEquals(status, 200);
  assertEquals(body.kind, "ConfigMapList");
  const left = await api.call("GET", maps);
  assertEquals(left.body.items.map((item: { metadata: { name: string } }) => item.metadata.name), ["b"]);
});

Deno.test("versions of one object: written in one, read in another, one resourceVersion", async () => {
  await using api = await testApi();
  const old = "/apis/gateway.networking.k8s.io/v1beta1/namespaces/default/httproutes";
  const { body: made } = await api.call("POST", old, {
    ...route("r"),
    apiVersion: "gateway.networking.k8s.io/v1beta1",
  });
  assertEquals(made.apiVersion, "gateway.networking.k8s.io/v1beta1");
  const { body } = await api.call("GET", `${routes}/r`);
  assertEquals(body, { ...made, apiVersion: "gateway.networking.k8s.io/v1" });
  const list = await api.call("GET", old);
  assertEquals([list.body.apiVersion, list.body.items[0].apiVersion], [made.apiVersion, made.apiVersion]);
});

Deno.test("the standard channel serves no experimental versions", async () => {
  await using api = await testApi({ channel: "standard" });
  const path = "/apis/gateway.networking.k8s.io/v1alpha2/namespaces/default/tcproutes";
  assertEquals((await api.call("GET", path)).status, 404);
  await using all = await testApi();
  assertEquals((await all.call("GET", path)).status, 200);
});

Deno.test("kinds with habits of their own", async () => {
  await using api = await testApi({ model: typedModel() });
  const ns = "/api/v1/namespaces/default";
  const secret = await api.call("POST", `${ns}/secrets`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    stringData: { a: "b" },
  });
  assertEquals([secret.body.type, secret.body.data, secret.body.stringData], [
    "Opaque",
    { a: "Yg==" },
    undefined,
  ]);
  const retyped = await api.call("PATCH", `${ns}/secrets/s`, { type: "example.com/other" });
  assertStringIncludes(retyped.body.message, "type: Invalid value: field is immutable");
  await api.call("POST", maps, map("fixed", { immutable: true }));
  assertEquals((await api.call("PATCH", `${maps}/fixed`, { data: { a: "2" } })).status, 422);
  assertEquals((await api.call("PATCH", `${maps}/fixed`, { metadata: { labels: { a: "b" } } })).status, 200);
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec: {} };
  const put = await api.call("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", lease);
  assertEquals(put.status, 201, "a Lease may be made by PUT");
});

Deno.test("Services get addresses, and keep them", async () => {
  await using api = await testApi();
  const path = "/api/v1/namespaces/default/services";
  const service = (name: string, spec: object) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec,
  });
  const { body: a } = await api.call("POST", path, service("a", { ports: [{ port: 80 }] }));
  assertMatch(a.spec.clusterIP, /^10\.96\.\d+\.\d+$/);
  assertEquals(a.spec.clusterIPs, [a.spec.clusterIP]);
  assertEquals(a.spec.ports, [{ port: 80, protocol: "TCP", targetPort: 80 }]);
  assertEquals(a.spec.type, "ClusterIP");
  const { body: b } = await api.call(
    "POST",
    path,
    service("b", { ports: [{ port: 80 }], type: "LoadBalancer" }),
  );
  assertNotEquals(b.spec.clusterIP, a.spec.clusterIP);
  assert(b.spec.ports[0].nodePort >= 30000 && b.spec.ports[0].nodePort <= 32767);
  const { body: kept } = await api.call(
    "PUT",
    `${path}/b`,
    service("b", { ports: [{ port: 80 }], type: "LoadBalancer" }),
  );
  assertEquals([kept.spec.clusterIP, kept.spec.ports], [b.spec.clusterIP, b.spec.ports]);
  const moved = await api.call("PATCH", `${path}/b`, { spec: { clusterIP: "10.96.1.1" } });
  assertEquals(moved.status, 422);
  assertStringIncludes(moved.body.message, "may not change once set");
  const taken = await api.call(
    "POST",
    path,
    service("c", { clusterIP: a.spec.clusterIP, ports: [{ port: 1 }] }),
  );
  assertStringIncludes(taken.body.message, "provided IP is already allocated");
  const { body: headless } = await api.call(
    "POST",
    path,
    service("d", { clusterIP: "None", ports: [{ port: 1 }] }),
  );
  assertEquals(headless.spec.clusterIPs, ["None"]);
  assertEquals((await api.call("POST", path, service("-x", {}))).status, 422, "an RFC 1123 label");
});

Deno.test("large objects: 1 MB is kept, more than etcd takes is refused, as is an endless body", async () => {
  await using api = await testApi();
  const big = await api.call("POST", maps, map("big", { data: { a: "x".repeat(1024 * 1024) } }));
  assertEquals(big.status, 201);
  const bigger = await api.call("POST", maps, map("bigger", { data: { a: "x".repeat(1.6 * 1024 * 1024) } }));
  assertEquals([bigger.status, bigger.body.reason], [413, "RequestEntityTooLarge"]);
  assertStringIncludes(bigger.body.message, "request is too large");
  const huge = await api.call("POST", maps, map("huge", { data: { a: "x".repeat(3.1 * 1024 * 1024) } }));
  assertEquals(huge.status, 413);
  assertEquals(huge.body.message, "Request entity too large: limit is 3145728");
  assertEquals((await api.call("GET", maps)).body.items.length, 1);
});

Deno.test("an object that was stored under laxer rules can be changed elsewhere, and be deleted", async () => {
  let strict = false;
  const model: Model = {
    ...looseModel,
    validate(_kind, _version, object) {
      const bad = strict && JSON.stringify(object).includes("old-fashioned");
      const worse = JSON.stringify(object).includes("never");
      const errors = [
        ...(bad ? [{ field: "spec.hostnames[0]", message: "Invalid value: out of fashion" }] : []),
        ...(worse ? [{ field: "spec.hostnames[1]", message: "Invalid value: never allowed" }] : []),
      ];
      return { object, errors, unknownFields: [] };
    },
  };
  await using api = await testApi({ model });
  const old = { metadata: { name: "r", finalizers: ["a.b/c"] }, spec: { hostnames: ["old-fashioned"] } };
  await api.call("POST", routes, route("r", old));
  strict = true;
  assertEquals((await api.call("POST", routes, route("new", { spec: old.spec }))).status, 422);
  assertEquals((await api.call("PATCH", `${routes}/r`, { metadata: { labels: { a: "b" } } })).status, 200);
  const worse = await api.call("PATCH", `${routes}/r`, { spec: { hostnames: ["old-fashioned", "never"] } });
  assertEquals([worse.status, worse.body.details.causes.length], [422, 1]);
  await api.call("DELETE", `${routes}/r`);
  assertEquals((await api.call("PATCH", `${routes}/r`, { metadata: { finalizers: null } })).status, 200);
  assertEquals((await api.call("GET", `${routes}/r`)).status, 404);
});

Deno.test("metadata of the wrong type, and paths that are no paths, are the client's fault", async () => {
  await using api = await testApi({ model: typedModel() });
  const bad = async (object: object, message: string) => {
    const answer = await api.call("POST", maps, { ...map("m"), ...object });
    assertEquals([answer.status, answer.body.reason], [400, "BadRequest"], JSON.stringify(answer.body));
    assertStringIncludes(answer.body.message, message);
  };
  await bad({ metadata: [] }, "cannot unmarshal array");
  await bad({ metadata: { name: 1 } }, "metadata.name of type string");
  await bad({ metadata: { name: "m", finalizers: "x" } }, "metadata.finalizers of type []string");
  await bad(
    { metadata: { name: "m", ownerReferences: [1] } },
    "metadata.ownerReferences of type v1.OwnerReference",
  );
  await bad({ metadata: { name: "m", generation: "1" } }, "metadata.generation of type int64");
  assertEquals((await api.call("GET", "/api/v1/namespaces/%E0%A4%A")).status, 400);
  const services = "/api/v1/namespaces/default/services";
  for (const spec of [{ ports: "x" }, { ports: [1] }, { ports: [{}] }, { type: 5 }, 7, null]) {
    const answer = await api.call("POST", services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "s" },
      spec,
    });
    assert(
      answer.status >= 400 && answer.status < 500,
      `${JSON.stringify(spec)}: ${JSON.stringify(answer.body)}`,
    );
  }
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const nested = await api.call("POST", maps, `{"apiVersion":"v1","kind":"ConfigMap","data":${deep}}`);
  assert(nested.status >= 400, "the server survives");
  assertEquals((await api.call("GET", "/readyz")).status, 200);
});
