/** How clients find out what is served, and who may see it: discovery, OpenAPI, health, identities, tables. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Identity } from "../../standalone/apiserver/access.ts";
import { typedModel } from "../../standalone/apiserver/model.ts";
import { testApi } from "./support.ts";

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

Deno.test("discovery in the old form", async () => {
  await using api = await testApi();
  const { body: versions } = await api.call("GET", "/api");
  assertEquals([versions.kind, versions.versions], ["APIVersions", ["v1"]]);
  const { body: groups } = await api.call("GET", "/apis");
  const gateway = groups.groups.find((group: { name: string }) => group.name === "gateway.networking.k8s.io");
  assertEquals(gateway, {
    name: "gateway.networking.k8s.io",
    versions: [
      { groupVersion: "gateway.networking.k8s.io/v1", version: "v1" },
      { groupVersion: "gateway.networking.k8s.io/v1beta1", version: "v1beta1" },
      { groupVersion: "gateway.networking.k8s.io/v1alpha2", version: "v1alpha2" },
    ],
    preferredVersion: { groupVersion: "gateway.networking.k8s.io/v1", version: "v1" },
  });
  assertEquals((await api.call("GET", "/apis/gateway.networking.k8s.io")).body.kind, "APIGroup");
  const { body: list } = await api.call("GET", "/apis/gateway.networking.k8s.io/v1");
  assertEquals(list.kind, "APIResourceList");
  assertEquals(list.resources.find((entry: { name: string }) => entry.name === "gateways"), {
    name: "gateways",
    singularName: "gateway",
    namespaced: true,
    kind: "Gateway",
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    shortNames: ["gtw"],
    categories: ["gateway-api"],
  });
  assertEquals(
    list.resources.filter((entry: { name: string }) => entry.name.includes("/")).map((
      entry: { name: string },
    ) => entry.name),
    ["gatewayclasses/status", "gateways/status", "httproutes/status"],
  );
  const missing = await api.call("GET", "/apis/nowhere.example/v1");
  assertEquals([missing.status, missing.body.message], [
    404,
    "the server could not find the requested resource",
  ]);
});

Deno.test("aggregated discovery says the same in one answer", async () => {
  await using api = await testApi();
  const { headers, body } = await api.call("GET", "/apis", undefined, { accept: aggregated });
  assertEquals(
    headers.get("content-type"),
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  );
  assertEquals([body.kind, body.apiVersion], ["APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"]);
  const group = body.items.find((item: { metadata: { name: string } }) =>
    item.metadata.name === "gateway.networking.k8s.io"
  );
  assertEquals(group.versions.map((one: { version: string }) => one.version), ["v1", "v1beta1", "v1alpha2"]);
  assertEquals(group.versions[0].resources[1], {
    resource: "gateways",
    responseKind: { group: "gateway.networking.k8s.io", version: "v1", kind: "Gateway" },
    scope: "Namespaced",
    singularResource: "gateway",
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    shortNames: ["gtw"],
    categories: ["gateway-api"],
    subresources: [{
      subresource: "status",
      responseKind: { group: "gateway.networking.k8s.io", version: "v1", kind: "Gateway" },
      verbs: ["get", "patch", "update"],
    }],
  });
  const core = await api.call("GET", "/api", undefined, { accept: aggregated });
  assertEquals(core.body.items[0].metadata, { creationTimestamp: null });
  const plain = await api.call("GET", "/api", undefined, { accept: "application/json" });
  assertEquals(plain.body.kind, "APIVersions");
});

Deno.test("OpenAPI v3: a document for each version, with what kubectl looks for", async () => {
  await using api = await testApi({ model: typedModel() });
  const { body: index } = await api.call("GET", "/openapi/v3");
  const path = index.paths["apis/gateway.networking.k8s.io/v1"].serverRelativeURL;
  const { body } = await api.call("GET", path);
  assertEquals(body.openapi, "3.0.0");
  const operation = body.paths["/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/gateways"].post;
  assertEquals(operation["x-kubernetes-group-version-kind"], {
    group: "gateway.networking.k8s.io",
    kind: "Gateway",
    version: "v1",
  });
  assert(operation.parameters.some((parameter: { name: string }) => parameter.name === "fieldValidation"));
  const schema = body.components.schemas["io.k8s.networking.gateway.v1.Gateway"];
  assertEquals(schema["x-kubernetes-group-version-kind"][0].kind, "Gateway");
  assertEquals(schema.properties.spec.properties.gatewayClassName.type, "string");
  const { body: core } = await api.call("GET", index.paths["api/v1"].serverRelativeURL);
  const ports = core.components.schemas["io.k8s.api.core.v1.Service"].properties.spec.properties.ports;
  assertEquals([ports["x-kubernetes-patch-merge-key"], ports["x-kubernetes-patch-strategy"]], [
    "port",
    "merge",
  ]);
  assertEquals((await api.call("GET", "/openapi/v3/apis/nowhere/v1")).status, 404);
  const { body: v2 } = await api.call("GET", "/openapi/v2");
  assertEquals(v2.swagger, "2.0");
  for (const [, ref] of JSON.stringify(v2).matchAll(/"\$ref":"([^"]*)"/g)) {
    assert(v2.definitions[ref!.replace("#/definitions/", "")], ref);
  }
});

Deno.test("health and version are for everybody; all else wants a certificate, and most of it a right", async () => {
  await using api = await testApi();
  const request = async (path: string, identity?: Identity, init: RequestInit = {}) => {
    const response = await api.app.request(path, init, identity ? { identity } : {});
    return { status: response.status, text: await response.text() };
  };
  for (const path of ["/healthz", "/livez", "/readyz"]) {
    assertEquals(await request(path), { status: 200, text: "ok" });
  }
  assertStringIncludes((await request("/version")).text, '"gitVersion":"v1.32.0');
  for (const path of ["/api", "/openapi/v3", "/api/v1/namespaces", "/nowhere"]) {
    const { status, text } = await request(path);
    assertEquals([status, JSON.parse(text).reason], [401, "Unauthorized"], path);
  }
  const bearer = await request("/api/v1/namespaces", undefined, {
    headers: { authorization: "Bearer token" },
  });
  assertEquals(bearer.status, 401);

  const guest = { user: "guest", groups: ["guests"] };
  assertEquals((await request("/api", guest)).status, 200);
  const refused = await request("/api/v1/namespaces/default/services", guest);
  assertEquals(refused.status, 403);
  assertEquals(
    JSON.parse(refused.text).message,
    'services is forbidden: User "guest" cannot list resource "services" in API group "" in the namespace "default"',
  );
  const one = await request("/apis/gateway.networking.k8s.io/v1/gatewayclasses/c/status", guest, {
    method: "PATCH",
  });
  assertEquals(
    JSON.parse(one.text).message,
    'gatewayclasses.gateway.networking.k8s.io "c" is forbidden: User "guest" cannot patch resource ' +
      '"gatewayclasses/status" in API group "gateway.networking.k8s.io" at the cluster scope',
  );
  const body = JSON.stringify({ spec: { resourceAttributes: { verb: "list", resource: "services" } } });
  const headers = { "content-type": "application/json" };
  const ask = async (identity: Identity) => {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const { text } = await request(path, identity, { method: "POST", headers, body });
    return JSON.parse(text).status.allowed;
  };
  assertEquals([await ask(guest), await ask({ user: "root", groups: ["system:masters"] })], [false, true]);
});

Deno.test("paths and methods that are not served", async () => {
  await using api = await testApi();
  const refused = async (method: string, path: string, code: number, reason: string) => {
    const answer = await api.call(method, path, method === "GET" ? undefined : {});
    assertEquals([answer.status, answer.body.reason], [code, reason], `${method} ${path}`);
  };
  await refused("GET", "/api/v1/nodes", 404, "NotFound");
  await refused("GET", "/apis/gateway.networking.k8s.io/v2/gateways", 404, "NotFound");
  await refused("GET", "/api/v1/namespaces/default/services/a/log", 404, "NotFound");
  await refused("GET", "/api/v1/namespaces/default/services/a/b/c", 404, "NotFound");
  await refused("GET", "/api/v1/services/a", 404, "NotFound");
  await refused(
    "GET",
    "/apis/gateway.networking.k8s.io/v1/namespaces/default/gatewayclasses",
    404,
    "NotFound",
  );
  await refused("POST", "/api/v1/services", 405, "MethodNotAllowed");
  await refused("POST", "/api/v1/namespaces/default/services/a", 405, "MethodNotAllowed");
  await refused("PUT", "/api/v1/namespaces/default/services", 405, "MethodNotAllowed");
  await refused("DELETE", "/api/v1/namespaces/default/services/a/status", 405, "MethodNotAllowed");
  await refused("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", 405, "MethodNotAllowed");
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gateways.gateway.networking.k8s.io";
  await refused("DELETE", path, 405, "MethodNotAllowed");
  const protobuf = await api.call("GET", "/api/v1/namespaces", undefined, {
    accept: "application/vnd.kubernetes.protobuf",
  });
  assertEquals([protobuf.status, protobuf.body.reason], [406, "NotAcceptable"]);
  const text = await api.call("POST", "/api/v1/namespaces", "x", { "content-type": "text/plain" });
  assertEquals([text.status, text.body.reason], [415, "UnsupportedMediaType"]);
  const broken = await api.call("POST", "/api/v1/namespaces", "{");
  assertEquals([broken.status, broken.body.reason], [400, "BadRequest"]);
});

Deno.test("a body may be YAML", async () => {
  await using api = await testApi();
  const yaml = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: y\n";
  const made = await api.call("POST", "/api/v1/namespaces", yaml, { "content-type": "application/yaml" });
  assertEquals([made.status, made.body.metadata.name], [201, "y"]);
  const bad = await api.call("POST", "/api/v1/namespaces", "a: [", { "content-type": "application/yaml" });
  assertEquals([bad.status, bad.body.reason], [400, "BadRequest"]);
});

Deno.test("CustomResourceDefinitions are listed with schema, channel and release", async () => {
  await using api = await testApi({ model: typedModel("1.6"), channel: "standard" });
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const { body } = await api.call("GET", `${path}/httproutes.gateway.networking.k8s.io`);
  assertEquals(body.metadata.annotations, {
    "gateway.networking.k8s.io/bundle-version": "v1.6.0",
    "gateway.networking.k8s.io/channel": "standard",
  });
  const v1 = body.spec.versions.find((version: { name: string }) => version.name === "v1");
  assertEquals([v1.served, v1.storage, v1.subresources], [true, true, { status: {} }]);
  assertEquals(v1.schema.openAPIV3Schema.properties.spec.type, "object");
  assertEquals(
    body.status.conditions.map((
      condition: { type: string; status: string },
    ) => [condition.type, condition.status]),
    [["NamesAccepted", "True"], ["Established", "True"]],
  );
  const names = (await api.call("GET", path)).body.items.map((item: { metadata: { name: string } }) =>
    item.metadata.name
  );
  assert(names.includes("gateways.gateway.networking.k8s.io"));
  const others = names.filter((name: string) => !name.endsWith(".gateway.networking.k8s.io"));
  assertEquals(others, ["envoyfleets.gatehouse.dev"]);
});

Deno.test("definitions follow the channel over a restart, and are left alone otherwise", async () => {
  const path = await Deno.makeTempFile();
  const read = async (channel: "standard" | "experimental") => {
    await using api = await testApi({ model: typedModel(), channel, path });
    return api.store.rows("customresourcedefinitions.apiextensions.k8s.io").map((row) => ({
      name: row.key,
      revision: row.revision,
      uid: row.object.metadata.uid,
      channel: row.object.metadata.annotations?.["gateway.networking.k8s.io/channel"],
    }));
  };
  const first = await read("experimental");
  assertEquals(await read("experimental"), first);
  const standard = await read("standard");
  const upstream = standard.filter(({ name }) => name.endsWith(".gateway.networking.k8s.io"));
  assert(upstream.length > 0 && upstream.every(({ channel }) => channel === "standard"));
  assertEquals(
    standard.map(({ uid }) => uid),
    first.filter(({ name }) => standard.some((other) => other.name === name)).map(({ uid }) => uid),
  );
  await Deno.remove(path);
});
