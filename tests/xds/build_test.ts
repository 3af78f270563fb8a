/**
 * From the model to resources: what they say, what they share, and how much work a change is.
 *
 * @module
 */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { AccessLog, Cluster, Listener, WeightedBackend } from "../../controllers/ir/mod.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { buildCluster, buildEndpoints } from "../../xds/build/cluster.ts";
import { buildListener } from "../../xds/build/listener.ts";
import { deriveXds } from "../../xds/build/mod.ts";
import { concatenated, packResource, sizeOf } from "../../xds/build/pack.ts";
import { buildRedirect } from "../../xds/build/redirect.ts";
import { buildRoute } from "../../xds/build/route.ts";
import { typeUrls, type XdsResource } from "../../xds/types.ts";
import { Resource } from "../../xds/wire/envoy/discovery.ts";
import { decode } from "../../xds/wire/mod.ts";
import { random as seeded } from "../support/random.ts";
import { endpointsOf, forward, GatewayModel, type IrSources, irSources, match, route } from "./support/ir.ts";

const place = { hostname: "www.example.com", scheme: "http", port: () => 80 } as const;

/** A model with its resources. */
function wired() {
  const graph = new Graph({ freeze: true }), ir = irSources(graph);
  return { graph, ir, model: new GatewayModel(ir), table: deriveXds(graph, ir) };
}

function joined({ bytes }: XdsResource): Uint8Array {
  return concatenated(bytes, sizeOf(bytes));
}

Deno.test("a route in Envoy's words", () => {
  const one = route("web", forward("ns/a/80"), {
    match: {
      path: { type: "prefix", value: "/a/" },
      method: "GET",
      headers: [{ name: "X-A", type: "exact", value: "1" }],
      queryParams: [{ name: "q", type: "regex", value: "a.*" }],
    },
    requestHeaders: { set: [{ name: "a", value: "1" }], add: [{ name: "b", value: "" }], remove: ["c"] },
    responseHeaders: { set: [], add: [], remove: ["d"] },
  });
  assertEquals(buildRoute(one, place), {
    name: "web",
    match: {
      path_separated_prefix: "/a",
      headers: [
        { name: "x-a", string_match: { exact: "1" } },
        { name: ":method", string_match: { exact: "GET" } },
      ],
      query_parameters: [{ name: "q", string_match: { safe_regex: { regex: "a.*" } } }],
    },
    route: { cluster: "ns/a/80", timeout: "0s" },
    request_headers_to_add: [
      { header: { key: "a", value: "1" }, append_action: "OVERWRITE_IF_EXISTS_OR_ADD" },
      { header: { key: "b", value: "" }, append_action: "APPEND_IF_EXISTS_OR_ADD", keep_empty_value: true },
    ],
    request_headers_to_remove: ["c"],
    response_headers_to_remove: ["d"],
  });
  const { match: _, ...answered } = buildRoute({ ...one, action: { kind: "respond", status: 500 } }, place);
  assertEquals(answered, {
    name: "web",
    direct_response: { status: 500 },
    response_headers_to_remove: ["d"],
  }, "nobody sees the headers of a request that goes nowhere");
});

Deno.test("backends: shares, stand-ins for what cannot be resolved, nobody", () => {
  const action = (...backends: readonly WeightedBackend[]) => {
    const { route: forwarded, direct_response } = buildRoute(route("r", forward(...backends)), place);
    return forwarded ?? direct_response;
  };
  assertEquals(
    action({ weight: 3, target: { cluster: "a" } }, { weight: 1, target: { status: 500 } }, {
      weight: 2,
      target: { status: 503 },
    }, { weight: 0, target: { cluster: "b" } }),
    {
      weighted_clusters: {
        clusters: [
          { name: "a", weight: 3 },
          { name: "gatehouse/500", weight: 1 },
          { name: "gatehouse/503", weight: 2 },
        ],
      },
      cluster_not_found_response_code: "INTERNAL_SERVER_ERROR",
      timeout: "0s",
    },
  );
  assertEquals(action({ weight: 1, target: { status: 503 } }), { status: 503 });
  assertEquals(action({ weight: 0, target: { cluster: "a" } }), { status: 500 });
  assertEquals(action(), { status: 500 });
});

Deno.test("where a redirect goes: a port is said only if need be", () => {
  const redirect = { kind: "redirect", status: 302 } as const;
  const at = (hostname: string, port = 80) => ({ hostname, scheme: "http", port: () => port }) as const;
  const target = (change: object, where: ReturnType<typeof at>) => {
    const { host_redirect, port_redirect } = buildRedirect({ ...redirect, ...change }, where);
    return [host_redirect, port_redirect];
  };
  const https = { scheme: "https", port: 443 };
  assertEquals(target(https, at("a.example.com")), ["a.example.com", undefined]);
  assertEquals(target({ scheme: "https" }, at("a.example.com")), ["a.example.com", undefined]);
  assertEquals(target(https, at("*.example.com")), [undefined, undefined]);
  assertEquals(target(https, at("*.example.com", 8080)), [undefined, 443]);
  assertEquals(target({ ...https, hostname: "b.example.com" }, at("*", 8080)), ["b.example.com", undefined]);
  assertEquals(target({ port: 8443, hostname: "b.example.com" }, at("*")), ["b.example.com", 8443]);
  assertEquals(target({ port: 8443 }, at("a.example.com")), [undefined, 8443]);
  assertEquals(target({}, at("a.example.com", 8080)), [undefined, undefined]);
});

Deno.test("listeners: addresses, and what an edge proxy has to do", () => {
  const listener = {
    gateway: "default/gw",
    name: "default/gw/80",
    addresses: ["10.0.0.1", "10.0.0.2"],
    port: 8080,
    protocol: "http",
    routes: "default/gw/80",
  } as const;
  const addresses = (ips: readonly string[], options = {}) => {
    const { address, additional_addresses = [] } = buildListener({ ...listener, addresses: ips }, options);
    return [address, ...additional_addresses.map(({ address }) => address)].map((one) => one?.socket_address);
  };
  assertEquals(addresses(["10.0.0.1", "10.0.0.2"]), [
    { address: "10.0.0.1", port_value: 8080 },
    { address: "10.0.0.2", port_value: 8080 },
  ]);
  assertEquals(addresses([]), [{ address: "0.0.0.0", port_value: 8080 }]);
  assertEquals(addresses([], { everyAddress: "::" }), [{
    address: "::",
    port_value: 8080,
    ipv4_compat: true,
  }]);
});

Deno.test("listeners: a line for each request, and spans, where they are asked for", () => {
  const listener = {
    gateway: "default/gw",
    name: "default/gw/80",
    addresses: [],
    port: 8080,
    protocol: "http",
    routes: "default/gw/80",
  } as const;
  const manager = (more: Partial<Listener>) => {
    const config = buildListener({ ...listener, ...more }, {}).filter_chains![0]!.filters![0]!.typed_config!;
    if (!("http_filters" in config)) throw new Error("no HTTP connection manager");
    return config;
  };
  assertEquals([manager({}).access_log, manager({}).tracing], [undefined, undefined]);
  const format = (accessLog: AccessLog) => {
    const [log] = manager({ accessLog }).access_log!;
    return log?.typed_config && "log_format" in log.typed_config ? log.typed_config.log_format : undefined;
  };
  assertEquals(format({ text: "%PROTOCOL%" }), { text_format_source: { inline_string: "%PROTOCOL%\n" } });
  const json = format({ fields: { status: "", path: "%REQ(A)%", own: "b" } })?.json_format ?? {};
  assertEquals(
    [json.status, json.path, json.own, json.gateway, json.route, json.flags],
    [undefined, "%REQ(A)%", "b", "default/gw", "%ROUTE_NAME%", "%RESPONSE_FLAGS%"],
  );
  const { tracing } = manager({
    tracing: {
      cluster: "c",
      authority: "otel:4317",
      service: "gw.default",
      sampling: { numerator: 1, denominator: 1000 },
      attributes: { b: "2", a: "1" },
      headers: { c: "x-c" },
    },
  });
  assertEquals(tracing?.random_sampling, { value: 0.1 });
  assertEquals(tracing?.custom_tags, [
    { tag: "a", literal: { value: "1" } },
    { tag: "b", literal: { value: "2" } },
    { tag: "c", request_header: { name: "x-c" } },
  ]);
});

Deno.test("clusters: one with an address looks it up itself", () => {
  const { type, load_assignment, eds_cluster_config } = buildCluster({
    name: "c",
    protocol: "h2c",
    address: { host: "otel.example.com", port: 4317 },
  });
  assertEquals([type, eds_cluster_config], ["STRICT_DNS", undefined]);
  assertEquals(load_assignment?.endpoints?.[0]?.lb_endpoints?.[0]?.endpoint?.address?.socket_address, {
    address: "otel.example.com",
    port_value: 4317,
  });
  const typeOf = (host: string) =>
    buildCluster({ name: "c", protocol: "h2c", address: { host, port: 1 } }).type;
  assertEquals([typeOf("192.0.2.1"), typeOf("2001:db8::1")], ["STATIC", "STATIC"]);
  // Envoy would refuse it as an address, and with it every listener that is traced.
  assertEquals([typeOf("10.0.0.256"), typeOf("cafe:4317")], ["STRICT_DNS", "STRICT_DNS"]);
});

Deno.test("endpoints: zones, and those that drain come second", () => {
  const endpoint = (port: number, draining = false) => ({ address: "10.0.0.1", port, draining });
  const assignment = buildEndpoints({
    cluster: "c",
    localities: [
      { zone: "a", endpoints: [endpoint(1), endpoint(2, true)] },
      { zone: "", endpoints: [endpoint(3)] },
      { zone: "b", endpoints: [endpoint(4, true)] },
    ],
  });
  const shape = (endpoints = assignment.endpoints) =>
    endpoints?.map(({ locality, priority, lb_endpoints }) => [
      locality?.zone,
      priority,
      ...lb_endpoints?.map((one) => one.endpoint?.address?.socket_address?.port_value) ?? [],
    ]);
  assertEquals(shape(), [["a", undefined, 1], [undefined, undefined, 3], ["a", 1, 2], ["b", 1, 4]]);
  const all = buildEndpoints({ cluster: "c", localities: [{ zone: "a", endpoints: [endpoint(1, true)] }] });
  assertEquals(shape(all.endpoints), [["a", undefined, 1]], "there is nothing else");
  assertEquals(buildEndpoints(endpointsOf("c")), { cluster_name: "c", endpoints: [] });
});

Deno.test("clusters: how they are spoken to, and who says what is sent again", () => {
  const options = (cluster: Partial<Cluster>) =>
    Object.values(
      buildCluster({ name: "c", protocol: "h2c", ...cluster }).typed_extension_protocol_options ?? {},
    )[0];
  const h2c: ReturnType<typeof options> = {
    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    explicit_http_config: {
      http2_protocol_options: {
        initial_stream_window_size: 65_536,
        initial_connection_window_size: 1_048_576,
      },
    },
  };
  assertEquals(options({ retries: "routes" }), h2c);
  const { retry_policy, ...others } = options({}) ?? {};
  assertEquals(others, h2c);
  assertEquals(retry_policy?.retry_on, "connect-failure,refused-stream,reset-before-request");
});

Deno.test("resources are packed whole, in pieces that can be sent as they are", () => {
  const random = seeded(3);
  for (const size of [0, 1, 127, 128, 5_000, 32_768, 100_000]) {
    const body = Uint8Array.from({ length: size }, () => random.int(256));
    const pieces = packResource("cluster", "name", "v", [
      body.subarray(0, size >> 1),
      body.subarray(size >> 1),
    ]);
    assert(pieces.every((piece) => piece.length <= 33_000), `${size}: pieces are small`);
    const bytes = new Uint8Array(pieces.flatMap((piece) => [...piece]));
    // The type says what the bytes are, so a body of noise has to be looked for by its place: at the end.
    assertEquals(bytes.subarray(bytes.length - size), body);
    assertEquals(bytes.length - size < 100, true);
  }
});

Deno.test("a packed resource can be read again, whatever its size", () => {
  const sizes = [
    0,
    1,
    127,
    128,
    129,
    16_255,
    16_256,
    16_257,
    16_300,
    16_383,
    16_384,
    32_767,
    2_097_151,
    2_097_152,
  ];
  for (const size of sizes) {
    const body = new Uint8Array(size).fill(7);
    const pieces = packResource("cluster", "name", "v", [body]);
    const reader = new BinaryReader(new Uint8Array(pieces.flatMap((piece) => [...piece])));
    let packed: Uint8Array = new Uint8Array();
    while (reader.pos < reader.len) {
      const [number, wire] = reader.tag();
      if (number === 2) packed = reader.bytes();
      else reader.skip(wire, number);
    }
    const any = new BinaryReader(packed);
    any.skip(any.tag()[1]);
    assertEquals([size, any.tag()[0], any.bytes().length, any.pos], [size, 2, size, packed.length]);
  }
});

Deno.test("what is served is what was built, and every resource says what it needs", () => {
  const { graph, model, table } = wired();
  model.listener(80).cluster("ns/a/80", [8080]).cluster("ns/b/80", [])
    .routes(80, {
      "a.example.com": [route("a", forward("ns/a/80"))],
      "b.example.com": [route("b", forward("ns/b/80", "ns/a/80"))],
      "c.example.com": [route("c", { kind: "respond", status: 204 })],
    });
  graph.settle();
  const ids = [...table.entries()].map((
    [key, { id, gateway }],
  ) => (assertEquals(key, `${gateway}|${id}`), id)).sort();
  assertEquals(ids, [
    "cluster:ns/a/80",
    "cluster:ns/b/80",
    "endpoints:ns/a/80",
    "endpoints:ns/b/80",
    "listener:default/gw/80",
    "routes:default/gw/80",
  ]);
  for (const [, one] of table.entries()) {
    const { name, version, resource } = decode(Resource, joined(one));
    assertEquals([name, version, resource?.["@type"]], [one.name, one.version, typeUrls[one.type]]);
  }
  const routes = table.get("default/gw|routes:default/gw/80")!;
  const { resource } = decode(Resource, joined(routes));
  assert(resource?.["@type"] === typeUrls.routes);
  assertEquals(resource.virtual_hosts?.flatMap(({ domains = [] }) => domains).sort(), [
    "a.example.com",
    "b.example.com",
    "c.example.com",
  ]);
  assertEquals(
    routes.needs.reduce((all, some) => all.union(some), new Set()),
    new Set(["cluster:ns/a/80", "cluster:ns/b/80"]),
  );
  assertEquals(table.get("default/gw|listener:default/gw/80")?.needs, [
    new Set(["routes:default/gw/80"] as const),
  ]);
});

/** A model of `count` virtual hosts, each with a cluster of its own, set in some order. */
function large(count: number, order = (list: readonly number[]) => list) {
  const made = wired(), { model, ir } = made;
  model.listener(80);
  const hosts = Array.from({ length: count }, (_, i) => `h${i}.example.com`);
  model.routes(80, Object.fromEntries(hosts.map((host) => [host, []])));
  for (const i of order(hosts.map((_, i) => i))) {
    model.cluster(`ns/c${i}/80`, [8080]);
    setHost(ir, i, `/`);
  }
  made.graph.settle();
  return made;
}

function setHost(ir: IrSources, i: number, prefix: string): void {
  const hostname = `h${i}.example.com`;
  ir.virtualHosts.set(`default/gw/80/${hostname}`, {
    routes: "default/gw/80",
    hostname,
    entries: [route(`r${i}`, forward(`ns/c${i}/80`), { match: match(prefix) })],
  });
}

Deno.test("one rule among 5,000 virtual hosts is a constant amount of work, one endpoint as well", () => {
  const work = (count: number) => {
    const { graph, ir, model, table } = large(count);
    setHost(ir, 7, "/changed");
    const rule = graph.settle(), rules = [...table.changed];
    model.cluster("ns/c7/80", [9090]);
    const endpoint = graph.settle(), endpoints = [...table.changed];
    setHost(ir, 7, "/changed");
    const nothing = graph.settle();
    return {
      rule: [rule.recomputed, rule.written, ...rules],
      endpoint: [endpoint.recomputed, endpoint.written, ...endpoints],
      nothing: nothing.written,
    };
  };
  const { rule, endpoint, nothing } = work(5_000);
  assertEquals(rule, [4, 7, "default/gw|routes:default/gw/80"]);
  assertEquals(endpoint, [2, 3, "default/gw|endpoints:ns/c7/80"]);
  assertEquals(nothing, 0);
  assertEquals(work(50), { rule, endpoint, nothing });
});

Deno.test("one chain among 1,000 is encoded alone, and its listener put together from what is there", () => {
  const work = (count: number) => {
    const { graph, ir, model, table } = wired();
    const chain = (i: number, ...certificates: readonly string[]) =>
      ir.chains.set(`${i}`, { listener: "default/gw/443", hostname: `h${i}.example.com`, certificates });
    model.listener(443, { protocol: "https" });
    for (let i = 0; i < count; i++) chain(i, "ns/old");
    graph.settle();
    const names = () => {
      const { resource } = decode(Resource, joined(table.get("default/gw|listener:default/gw/443")!));
      assert(resource?.["@type"] === typeUrls.listener);
      return resource.filter_chains?.map(({ name }) => name).sort();
    };
    const before = names();
    chain(7, "ns/new");
    const { recomputed, written } = graph.settle(), changed = [...table.changed];
    assertEquals(names(), before);
    chain(7, "ns/new");
    return {
      count: before?.length,
      change: [recomputed, written, ...changed],
      nothing: graph.settle().written,
    };
  };
  // The chain and its listener; that it is there is as it was.
  const change = [3, 5, "default/gw|listener:default/gw/443"];
  assertEquals(work(1_000), { count: 1_000, change, nothing: 0 });
  assertEquals(work(10), { count: 10, change, nothing: 0 });
});

Deno.test("versions depend on contents alone: not on the order of events, nor on what was there before", () => {
  const versions = ({ table }: ReturnType<typeof large>) =>
    [...table.entries()].map(([key, { version }]) => `${key}@${version}`).sort();
  const one = large(50), other = large(50, (list) => seeded(5).shuffle(list));
  assertEquals(versions(other), versions(one));
  setHost(other.ir, 3, "/x");
  other.model.cluster("ns/c3/80", [1], "h2c");
  other.graph.settle();
  const changed = versions(other).filter((version) => !versions(one).includes(version));
  assertEquals(changed.map((version) => version.split("@")[0]), [
    "default/gw|cluster:ns/c3/80",
    "default/gw|endpoints:ns/c3/80",
    "default/gw|routes:default/gw/80",
  ]);
  setHost(other.ir, 3, "/");
  other.model.cluster("ns/c3/80", [8080]);
  other.graph.settle();
  assertEquals(versions(other), versions(one));
});

Deno.test("endpoints have another version with each of their cluster", () => {
  const { graph, model, table } = wired();
  model.cluster("ns/a/80", [8080]);
  graph.settle();
  const before = table.get("default/gw|endpoints:ns/a/80")!;
  model.cluster("ns/a/80", [8080], "h2c");
  graph.settle();
  assertNotEquals(table.get("default/gw|endpoints:ns/a/80")!.version, before.version);
});

Deno.test("Gateways share the bytes of clusters", () => {
  const { graph, ir, model, table } = wired();
  model.cluster("ns/a/80", [8080]);
  ir.clusterUses.set("default/other|ns/a/80", { gateway: "default/other", cluster: "ns/a/80" });
  graph.settle();
  for (const id of ["cluster:ns/a/80", "endpoints:ns/a/80"]) {
    const [one, other] = ["default/gw", "default/other"].map((gateway) => table.get(`${gateway}|${id}`));
    assert(one && one.bytes === other?.bytes);
  }
});
