/**
 * Lists, selectors, pages, watches, ownership and namespaces.
 *
 * @module
 */
import { merge, type Scenario } from "./scenario.ts";
import type { Json, Recorder } from "./side.ts";

const maps = "/api/v1/namespaces/NS/configmaps";
const routes = "/apis/gateway.networking.k8s.io/v1/namespaces/NS/httproutes";

const map = (name: string, metadata: object = {}, data: object = { some: "thing" }) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});
const route = (name: string, metadata: object = {}) => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "HTTPRoute",
  metadata: { name, ...metadata },
  spec: {},
});

const selectors: Scenario = {
  name: "selectors",
  async run(api) {
    await api.quietly("POST", maps, { body: map("a", { labels: { app: "one", tier: "front" } }) });
    await api.quietly("POST", maps, { body: map("b", { labels: { app: "two" } }) });
    await api.quietly("POST", maps, { body: map("c") });
    const only = "app"; // the cluster puts a ConfigMap of its own into every namespace
    for (
      const selector of [
        "app=one",
        "app==one",
        "app!=one,app",
        "app",
        `!app,${only}`,
        "app in (one,two)",
        "app notin (one),app",
        "app in (one),tier",
        "app=none",
        "app>1",
        "a b",
        "app in (",
        "=one",
        "app=one=two",
        "-x=1",
      ]
    ) await api.call("GET", `${maps}?labelSelector=${encodeURIComponent(selector)}`);
    for (
      const selector of [
        "metadata.name=a",
        "metadata.name!=a,metadata.name!=b,metadata.name!=kube-root-ca.crt",
        "metadata.name=a,metadata.name=b",
        "data.a=1",
        "metadata.name",
        "=a",
      ]
    ) await api.call("GET", `${maps}?fieldSelector=${encodeURIComponent(selector)}`);
    await api.call("GET", `${routes}?fieldSelector=spec.x%3D1`);
    await api.call("DELETE", `${maps}?labelSelector=app%3Done`);
    await api.call("GET", `${maps}?labelSelector=app`);
  },
};

const fieldsOfKinds: Scenario = {
  name: "fields to select by, of other kinds",
  async run(api) {
    const secrets = "/api/v1/namespaces/NS/secrets";
    await api.quietly("POST", secrets, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, type: "example.com/a" },
    });
    await api.call("GET", `${secrets}?fieldSelector=type%3Dexample.com/a`);
    await api.call("GET", `${secrets}?fieldSelector=type%3DOpaque`);
    await api.call("GET", `/api/v1/namespaces?fieldSelector=metadata.name%3DNS`);
    await api.call("GET", `/api/v1/namespaces?fieldSelector=metadata.name%3DNS,status.phase%3DActive`);
    await api.call("GET", `/api/v1/namespaces/NS/events?fieldSelector=involvedObject.name%3Dx`);
    await api.call("GET", `/api/v1/namespaces/NS/services?fieldSelector=spec.type%3DClusterIP`);
    await api.call("GET", `/api/v1/namespaces/NS/services?fieldSelector=spec.bogus%3DClusterIP`);
  },
};

const pages: Scenario = {
  name: "pages",
  async run(api) {
    for (const name of ["a", "b", "c", "d", "e"]) {
      await api.quietly("POST", maps, { body: map(name, { labels: { page: "yes" } }) });
    }
    const list = `${maps}?labelSelector=page&limit=2`;
    const { body: first } = await api.quietly("GET", list);
    await api.quietly("DELETE", `${maps}/c`);
    const next = encodeURIComponent(first.metadata.continue);
    await api.call("GET", list);
    const { body: second } = await api.quietly("GET", `${list}&continue=${next}`);
    api.entries.push({
      request: "the second page, though an item has gone since",
      answer: [second.items.map(({ metadata }: Json) => metadata.name), typeof second.metadata.continue],
    });
    await api.call("GET", `${maps}?labelSelector=page&limit=-1`);
    await api.call("GET", `${maps}?limit=x`);
    await api.call("GET", `${maps}?continue=nonsense`);
    await api.call("GET", `${list}&continue=${next}&resourceVersion=5`);
    await api.call("GET", `${maps}?labelSelector=page&resourceVersion=0`);
    await api.call("GET", `${maps}?resourceVersion=x`);
    await api.call("GET", `${maps}?resourceVersionMatch=Exact`);
    await api.call("GET", `${maps}?resourceVersion=0&resourceVersionMatch=Exact`);
    await api.call("GET", `${maps}?resourceVersion=1&resourceVersionMatch=Nonsense`);
  },
};

const representations: Scenario = {
  name: "tables and metadata alone",
  async run(api) {
    await api.quietly("POST", routes, { body: route("r") });
    await api.quietly("POST", maps, { body: map("m", { labels: { it: "is" } }, { a: "1" }) });
    for (const version of ["v1", "v1beta1"]) {
      const group = `g=meta.k8s.io;v=${version}`;
      const partial = (as: string) => ({ headers: { Accept: `application/json;as=${as};${group}` } });
      await api.call("GET", `${maps}/m`, partial("PartialObjectMetadata"));
      await api.call("GET", `${maps}?labelSelector=it`, partial("PartialObjectMetadataList"));
      const tables = [`${maps}/m`, `${maps}?labelSelector=it`, routes, `${routes}/r`];
      for (const path of tables) {
        const { status, body } = await api.quietly(
          "GET",
          `${path}${path.includes("?") ? "&" : "?"}includeObject=None`,
          partial("Table"),
        );
        const cells = body.rows?.map(({ cells }: Json) => cells.slice(0, 1));
        const columns = body.columnDefinitions?.map(({ description: _, ...column }: Json) => column);
        api.entries.push({
          request: `table of ${path} (${version})`,
          answer: { status, body: { kind: body.kind, apiVersion: body.apiVersion, columns, cells } },
        });
      }
    }
    await api.call("GET", `${maps}/m`, { headers: { Accept: "text/html" } });
    await api.call("GET", `${routes}/r`, { headers: { Accept: "application/yaml" } });
  },
};

async function changes(api: Recorder, path: string, make: (name: string, metadata?: object) => object) {
  const { body: before } = await api.quietly("GET", path);
  const from = before.metadata.resourceVersion;
  await api.quietly("POST", path, { body: make("a", { labels: { w: "1" } }) });
  await api.quietly("POST", path, { body: make("b") });
  await api.quietly("PATCH", `${path}/a`, { type: merge, body: { metadata: { labels: { w: "2" } } } });
  await api.quietly("PATCH", `${path}/b`, { type: merge, body: { metadata: { labels: { w: "1" } } } });
  await api.quietly("PATCH", `${path}/a`, { type: merge, body: { metadata: { labels: { w: "2" } } } }); // nothing
  await api.quietly("DELETE", `${path}/a`);
  return from;
}

const watches: readonly Scenario[] = ([["ConfigMap", maps, map], ["HTTPRoute", routes, route]] as const).map((
  [kind, path, make],
) => ({
  name: `watches of ${kind}`,
  async run(api) {
    const from = await changes(api, path, make);
    const since = `&resourceVersion=${from}`;
    await api.watch(path, since);
    await api.watch(path, `${since}&labelSelector=w%3D1`);
    await api.watch(path, `${since}&fieldSelector=metadata.name%3Db`);
    await api.watch(path, "&labelSelector=w");
    await api.watch(path, "&resourceVersion=0&labelSelector=w");
    await api.watch(`${path}/b`, "");
    await api.watch(path, "&resourceVersion=x");
    await api.watch(path, "&labelSelector=(");
    await api.watch(path, "&sendInitialEvents=true");
    await api.watch(
      path,
      "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=w",
    );
  },
}));

async function owners(api: Recorder, policy: string | undefined): Promise<void> {
  const { body: owner } = await api.quietly("POST", maps, { body: map("owner") });
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid };
  await api.quietly("POST", routes, {
    body: route("blocks", { ownerReferences: [{ ...reference, blockOwnerDeletion: true }] }),
  });
  await api.quietly("POST", maps, { body: map("plain", { ownerReferences: [reference] }) });
  await api.quietly("POST", maps, {
    body: map("held", { ownerReferences: [reference], finalizers: ["example.com/f"] }),
  });
  await api.call(
    "DELETE",
    `${maps}/owner`,
    policy === undefined ? {} : { body: { propagationPolicy: policy } },
  );
  if (policy === "Orphan") {
    await api.until(`${maps}/owner`, ({ status }) => status === 404);
    await api.call("GET", `${maps}/plain`);
    await api.call("GET", `${routes}/blocks`);
    return;
  }
  await api.until(`${routes}/blocks`, ({ status }) => status === 404);
  await api.until(`${maps}/plain`, ({ status }) => status === 404);
  await api.until(`${maps}/held`, ({ body }) => body.metadata?.deletionTimestamp !== undefined);
  await api.until(`${maps}/owner`, ({ status }) => status === 404);
  await api.call("PATCH", `${maps}/held`, { type: merge, body: { metadata: { finalizers: null } } });
  await api.until(`${maps}/held`, ({ status }) => status === 404);
}

const cascades: readonly Scenario[] = [undefined, "Background", "Foreground", "Orphan"].map((policy) => ({
  name: `cascade: ${policy ?? "as by default"}`,
  run: (api) => owners(api, policy),
}));

const wrongCascade: Scenario = {
  name: "cascade: what is refused",
  async run(api) {
    await api.quietly("POST", maps, { body: map("a") });
    await api.call("DELETE", `${maps}/a`, { body: { propagationPolicy: "Sideways" } });
    await api.call("DELETE", `${maps}/a`, { body: { propagationPolicy: "Orphan", orphanDependents: true } });
    await api.call("DELETE", `${maps}/a`, { body: { gracePeriodSeconds: -1 } });
    await api.call("DELETE", `${maps}/a?propagationPolicy=Foreground&dryRun=All`);
    await api.call("DELETE", `${maps}/a`, { body: "nonsense" });
    await api.call("DELETE", `${maps}/a`, { body: { kind: "DeleteOptions", apiVersion: "v1" } });
  },
};

const namespaces: Scenario = {
  name: "namespaces",
  async run(api) {
    const path = "/api/v1/namespaces/NS-inner";
    const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: `${api.namespace}-inner` } };
    await api.call("POST", "/api/v1/namespaces", { body: object });
    await api.call("POST", "/api/v1/namespaces", { body: { ...object, metadata: { name: "Not_A_Name" } } });
    const inner = maps.replace("NS", "NS-inner");
    await api.quietly("POST", inner, { body: map("held", { finalizers: ["example.com/f"] }) });
    await api.call("DELETE", path);
    await api.until(`${inner}/held`, ({ body }) => body.metadata?.deletionTimestamp !== undefined);
    await api.call("POST", inner, { body: map("late") });
    await api.call("PATCH", `${inner}/held`, { type: merge, body: { metadata: { finalizers: null } } });
    await api.until(path, ({ status }) => status === 404);
    await api.call("POST", inner, { body: map("later") });
    await api.call("GET", `${inner}/later`);
    await api.call("POST", maps.replace("NS", "NS-none"), { body: map("a") });
  },
};

const nothing: Scenario = {
  name: "what is not there",
  async run(api) {
    await api.call("GET", "/api/v1/namespaces/NS/nonsense");
    await api.call("GET", "/apis/example.com/v1/things");
    await api.call("GET", "/apis/gateway.networking.k8s.io/v9/gateways");
    await api.call("PUT", maps, { body: map("a") });
    await api.call("PATCH", maps, { type: merge, body: {} });
    await api.call("POST", `${maps}/a`, { body: map("a") });
    await api.call("GET", `${maps}/a/status`);
    await api.call("POST", "/api/v1/configmaps", { body: map("a", { namespace: api.namespace }) });
  },
};

const byServer: Scenario = {
  name: "what is found out when core kinds are written",
  async run(api) {
    const post = (path: string, kind: string, rest: object, group = "v1") =>
      api.call("POST", `${path}?dryRun=All`, {
        body: { apiVersion: group, kind, metadata: { name: "x" }, ...rest },
      });
    const services = "/api/v1/namespaces/NS/services", ports = [{ port: 80 }];
    for (
      const spec of [
        { clusterIP: "nonsense", ports },
        { clusterIP: "1.2.3.4", ports },
        { clusterIP: "", ports },
        { clusterIPs: ["None"], ports },
        { clusterIP: "None", clusterIPs: ["10.96.0.1"], ports },
        { clusterIP: "None", ipFamilyPolicy: "PreferDualStack", selector: { a: "b" }, ports },
        { type: "ExternalName", externalName: "a.example", clusterIP: "None" },
        { type: "LoadBalancer", clusterIP: "None", ports },
        { externalIPs: ["10.0.0.1"], ports },
        { trafficDistribution: "PreferClose", ports },
        { ports: [{ name: "a" }] },
        {
          type: "NodePort",
          ports: [{ name: "a", port: 80, nodePort: 32_001 }, { name: "b", port: 81, nodePort: 32_001 }],
        },
        {
          type: "NodePort",
          ports: [
            { name: "a", port: 80, nodePort: 32_001 },
            { name: "b", port: 80, nodePort: 32_001, protocol: "UDP" },
          ],
        },
        null,
      ]
    ) await post(services, "Service", { spec });
    await post(services, "Service", {});
    const slices = "/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices";
    for (const [addressType, address] of [["IPv4", "127.0.0.1"], ["IPv6", "::1"], ["FQDN", "a.example"]]) {
      const endpoints = [{ addresses: [address] }];
      await post(slices, "EndpointSlice", { addressType, endpoints }, "discovery.k8s.io/v1");
    }
    const secrets = "/api/v1/namespaces/NS/secrets";
    await post(secrets, "Secret", { stringData: { a: "ä" }, data: { a: "eA==", b: "eA==" } });
    await post(secrets, "Secret", { data: { a: null } });
    await post(maps, "ConfigMap", { data: { a: null } });
    const spec = { strategy: "OldestEmulationVersion", preferredHolder: "a" };
    const leases = "/apis/coordination.k8s.io/v1/namespaces/NS/leases";
    await post(leases, "Lease", { spec }, "coordination.k8s.io/v1");
    const twice = [{ name: "a" }, { name: "a" }];
    await post("/api/v1/namespaces/NS/serviceaccounts", "ServiceAccount", { secrets: twice });
    await post("/api/v1/namespaces", "Namespace", { metadata: { name: "a".repeat(64) } });
  },
};

const types: Scenario = {
  name: "a Service that changes its type",
  async run(api) {
    const services = "/api/v1/namespaces/NS/services", at = `${services}/s`;
    const spec = { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 80 }] };
    const object = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec };
    await api.call("POST", services, { body: object });
    const patch = (spec: object) => api.call("PATCH", at, { type: merge, body: { spec } });
    await patch({ loadBalancerClass: "example.com/late" });
    await patch({ type: "NodePort" });
    await patch({ type: "ClusterIP" });
    await patch({ type: "ClusterIP", externalTrafficPolicy: "Local" });
    await patch({ ipFamilyPolicy: "PreferDualStack" });
    await patch({ ipFamilyPolicy: "SingleStack" });
    await patch({ clusterIP: "10.96.77.77" });
    await patch({ type: "ExternalName", externalName: "a.example" });
    await patch({ type: "LoadBalancer", externalName: null, loadBalancerClass: "example.com/a" });
    await patch({ loadBalancerClass: "example.com/b" });
    await patch({ type: "ClusterIP", clusterIP: "None" });
    await patch({ type: "ClusterIP" });
  },
};

const immutability: Scenario = {
  name: "what may not be changed any more",
  async run(api) {
    await api.call("POST", maps, { body: { ...map("fixed", {}, { a: "1" }), immutable: true } });
    await api.call("PATCH", `${maps}/fixed`, { type: merge, body: { data: { a: "2" } } });
    await api.call("PATCH", `${maps}/fixed`, { type: merge, body: { immutable: false } });
    await api.call("PATCH", `${maps}/fixed`, { type: merge, body: { metadata: { labels: { a: "b" } } } });
    const secrets = "/api/v1/namespaces/NS/secrets";
    await api.call("POST", secrets, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "typed" }, stringData: { a: "b" } },
    });
    await api.call("PATCH", `${secrets}/typed`, { type: merge, body: { type: "example.com/other" } });
    await api.call("PATCH", `${secrets}/typed`, { type: merge, body: { stringData: { a: "c", d: "e" } } });
    const slices = "/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices";
    await api.call("POST", slices, {
      body: {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: "s" },
        addressType: "IPv4",
        endpoints: [],
      },
    });
    await api.call("PATCH", `${slices}/s`, { type: merge, body: { addressType: "IPv6" } });
  },
};

export const collections: readonly Scenario[] = [
  selectors,
  fieldsOfKinds,
  pages,
  representations,
  ...watches,
  ...cascades,
  wrongCascade,
  namespaces,
  nothing,
  byServer,
  types,
  immutability,
];
