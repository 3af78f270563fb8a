/**
 * The model as traffic sees it, through a real Envoy. What is expected comes from the Gateway API specification.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Route } from "../../controllers/ir/mod.ts";
import { type Ask, ask, backend, type Echo, exchange } from "./support/http.ts";
import { anyPath, forward, match, route } from "./support/ir.ts";
import { modelRig } from "./support/rig.ts";
import { freePort } from "../support/free_port.ts";

/** An Envoy with one listener, the backends `a` and `b`, and some routes; gives a way to ask it. */
async function serving(hosts: { readonly [hostname: string]: readonly Route[] }) {
  await using stack = new AsyncDisposableStack();
  const rig = stack.use(await modelRig());
  const port = freePort();
  const a = stack.use(backend("a")), b = stack.use(backend("b"));
  rig.model.listener(port).routes(port, hosts).cluster("ns/a/80", [a.port]).cluster("ns/b/80", [b.port])
    .cluster("ns/empty/80", []);
  rig.settle();
  await rig.envoy();
  await rig.synced();
  const owned = stack.move();
  return {
    rig,
    port,
    ask: (path: string, options?: Ask) => ask(port, path, options),
    /** Which backend answers, or the status if none does. */
    who: async (path: string, options?: Ask) => {
      const { status, body } = await ask(port, path, options);
      return status === 200 ? (JSON.parse(body) as Echo).backend : status;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const toA = forward("ns/a/80"), toB = forward("ns/b/80");

/** Whether the kernel has IPv6. */
function hasIpv6(): boolean {
  try {
    using _ = Deno.listen({ hostname: "::1", port: 0 });
    return true;
  } catch {
    return false;
  }
}

Deno.test({
  name: "where there is IPv6 clients of both families are served, and probes and scrapes are answered",
  ignore: !hasIpv6(),
  async fn() {
    await using rig = await modelRig({ everyAddress: "::" });
    await using a = backend("a");
    const port = freePort(), readiness = freePort(), metrics = freePort();
    const accessLog = { text: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%" };
    rig.model.listener(port, { addresses: [], accessLog }).routes(port, {
      "www.example.com": [route("web", toA)],
    })
      .cluster("ns/a/80", [a.port]);
    rig.settle();
    const envoy = await rig.envoy("proxy", "default/gw", {
      readiness: { address: "::", port: readiness },
      metrics: { address: "::", port: metrics },
    });
    await rig.synced();
    for (const host of ["127.0.0.1", "::1"]) {
      const { status } = await exchange({ host, port, path: "/", headers: { host: "www.example.com" } });
      assertEquals([host, status], [host, 200]);
      assertEquals(await envoy.line(), host, "an IPv4 client is none of IPv6");
      for (const [port, path] of [[readiness, "/ready"], [metrics, "/stats/prometheus"]] as const) {
        assertEquals([host, path, (await exchange({ host, port, path })).status], [host, path, 200]);
      }
    }
  },
});

Deno.test("a route comes, and goes with a 404", async () => {
  await using served = await serving({ "www.example.com": [route("web", toA)] });
  const { rig, port } = served;
  const answer = await served.ask("/hello?x=1");
  assertEquals(answer.status, 200);
  const echo: Echo = JSON.parse(answer.body);
  assertEquals([echo.backend, echo.path, echo.headers.host], ["a", "/hello?x=1", "www.example.com"]);
  assertEquals((await served.ask("/", { host: "other.example.com" })).status, 404);

  rig.model.routes(port, {}).removeCluster("ns/a/80");
  rig.settle();
  await rig.synced();
  assertEquals((await served.ask("/hello")).status, 404);
});

Deno.test("hostnames: exact before wildcard, any number of labels, the port does not matter", async () => {
  await using served = await serving({
    "*": [route("any", { kind: "respond", status: 404 }, { match: match("/none") })],
    "*.example.com": [route("wild", toA)],
    "www.example.com": [route("exact", toB)],
  });
  const cases: readonly (readonly [host: string, who: string | number])[] = [
    ["www.example.com", "b"],
    ["WWW.Example.COM", "b"],
    ["www.example.com:8080", "b"],
    ["api.example.com", "a"],
    ["a.b.example.com", "a"],
    ["example.com", 404],
    ["example.org", 404],
  ];
  for (const [host, who] of cases) assertEquals([host, await served.who("/", { host })], [host, who]);
});

Deno.test("matches: path by exact value, prefix and regular expression; method, headers, query", async () => {
  await using served = await serving({
    "www.example.com": [
      route("exact", toA, { match: { ...anyPath, path: { type: "exact", value: "/exact" } } }),
      route("prefix", toA, { match: match("/prefix") }),
      route("slash", toA, { match: match("/slash/") }),
      route("regex", toA, { match: { ...anyPath, path: { type: "regex", value: "/v[0-9]+/.*" } } }),
      route("method", toA, { match: match("/method", { method: "POST" }) }),
      route("headers", toA, {
        match: match("/headers", {
          headers: [
            { name: "Version", type: "exact", value: "two" },
            { name: "color", type: "regex", value: "r.d" },
          ],
        }),
      }),
      route("query", toA, {
        match: match("/query", {
          queryParams: [{ name: "animal", type: "exact", value: "whale" }, {
            name: "n",
            type: "regex",
            value: "[0-9]+",
          }],
        }),
      }),
      route("rest", toB),
    ],
  });
  const cases: readonly (readonly [path: string, who: string, options?: Ask])[] = [
    ["/exact", "a"],
    ["/exact?q=1", "a"],
    ["/exact/", "b"],
    ["/Exact", "b"],
    ["/prefix", "a"],
    ["/prefix?q=1", "a"],
    ["/prefix/", "a"],
    ["/prefix/x", "a"],
    ["/prefixed", "b"],
    ["/slash", "a"],
    ["/slash/x", "a"],
    ["/slashed", "b"],
    ["/v1/x", "a"],
    ["/v1/x?q=/v1/", "a"],
    ["/x/v1/x", "b"],
    ["/v1", "b"],
    ["/method", "a", { method: "POST" }],
    ["/method", "b"],
    ["/headers", "a", { headers: { version: "two", color: "red" } }],
    ["/headers", "b", { headers: { version: "two", color: "reddish" } }],
    ["/headers", "b", { headers: { version: "Two", color: "red" } }],
    ["/headers", "b", { headers: { version: "two" } }],
    ["/query?animal=whale&n=12", "a"],
    ["/query?n=12&animal=whale", "a"],
    ["/query?animal=whale&n=12x", "b"],
    ["/query?animal=whale", "b"],
    ["/query?Animal=whale&n=1", "b"],
  ];
  for (const [path, who, options] of cases) {
    assertEquals([path, options, await served.who(path, options)], [path, options, who]);
  }
});

Deno.test("weights share traffic, and what cannot be resolved answers for its own share only", async () => {
  await using served = await serving({
    "www.example.com": [
      route(
        "shares",
        forward({ weight: 3, target: { cluster: "ns/a/80" } }, { weight: 1, target: { status: 500 } }),
        {
          match: match("/share"),
        },
      ),
      route(
        "all",
        forward(
          { weight: 1, target: { cluster: "ns/a/80" } },
          { weight: 1, target: { status: 500 } },
          { weight: 1, target: { status: 503 } },
          { weight: 0, target: { cluster: "ns/b/80" } },
        ),
        { match: match("/all") },
      ),
      route("zero", forward({ weight: 0, target: { cluster: "ns/a/80" } }), { match: match("/zero") }),
      route("none", forward(), { match: match("/none") }),
      route("invalid", forward({ weight: 1, target: { status: 500 } }), { match: match("/invalid") }),
      route("empty", forward("ns/empty/80"), { match: match("/empty") }),
      route("direct", { kind: "respond", status: 418 }, { match: match("/direct") }),
    ],
  });
  const count = async (path: string, times: number) => {
    const counts: Record<string, number> = {};
    for (let i = 0; i < times; i++) {
      const who = await served.who(path);
      counts[who] = (counts[who] ?? 0) + 1;
    }
    return counts;
  };
  const shares = await count("/share", 400);
  assertEquals(Object.keys(shares).sort(), ["500", "a"]);
  // Four standard deviations around 100 of 400.
  assert(Math.abs(shares["500"]! - 100) < 35, `500s: ${shares["500"]} of 400`);
  assertEquals(Object.keys(await count("/all", 60)).sort(), ["500", "503", "a"]);
  assertEquals(await served.who("/zero"), 500);
  assertEquals(await served.who("/none"), 500);
  assertEquals(await served.who("/invalid"), 500);
  assertEquals(await served.who("/empty"), 503);
  assertEquals(await served.who("/direct"), 418);
});

Deno.test("headers are removed, set and added, for a rule and for a backend, literally", async () => {
  const changes = {
    remove: ["x-remove"],
    set: [{ name: "x-set", value: "100%" }, { name: "host", value: "inner.example.org" }],
    add: [{ name: "x-add", value: "%REQ(X-Set)%" }],
  };
  await using served = await serving({
    "www.example.com": [
      route("rule", toA, { match: match("/rule"), requestHeaders: changes, responseHeaders: changes }),
      route(
        "backend",
        forward({
          weight: 1,
          target: { cluster: "ns/a/80" },
          requestHeaders: changes,
          responseHeaders: changes,
        }),
        { match: match("/backend") },
      ),
    ],
  });
  for (const path of ["/rule", "/backend"]) {
    const answer = await served.ask(path, { headers: { "x-remove": "1", "x-set": "old", "x-add": "old" } });
    const { headers } = JSON.parse(answer.body) as Echo;
    assertEquals(
      [headers["x-remove"], headers["x-set"], headers["x-add"], headers.host],
      [undefined, "100%", "old, %REQ(X-Set)%", "inner.example.org"],
      path,
    );
    assertEquals([answer.headers["x-set"], answer.headers["x-add"]], ["100%", "%REQ(X-Set)%"]);
  }
});

Deno.test("an edge: no words about Envoy, paths as backends see them, no forged addresses", async () => {
  await using served = await serving({ "www.example.com": [route("a", toA)] });
  const answer = await served.ask("/x/../y?q=1", {
    headers: {
      "x-forwarded-for": "203.0.113.9",
      "x-envoy-retry-on": "5xx",
      "x-request-id": "mine",
      "a_b": "1",
      "x_forwarded_for": "203.0.113.9",
      "x-forwarded_proto": "https",
      "x_request-id": "mine",
    },
  });
  assertEquals(Object.keys(answer.headers).filter((name) => /^x-envoy|^server$/.test(name)), []);
  const { headers, path } = JSON.parse(answer.body) as Echo;
  assertEquals(path, "/y?q=1");
  // What the client claims is not the last word, and not believed: the address that it comes from is added.
  assertMatch(headers["x-forwarded-for"] ?? "", /^203\.0\.113\.9,[\d.]+$/);
  assertEquals(headers["x-forwarded-proto"], "http");
  assertEquals(headers["a_b"], "1", "an underscore is legal");
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  assertEquals(
    names.filter((name) => /^x.*_/.test(name)),
    [],
    "no header that could be taken for the proxy's",
  );
  assert(headers["x-request-id"] !== "mine");
  assertEquals(Object.keys(headers).filter((name) => name.startsWith("x-envoy")), [
    "x-envoy-external-address",
  ]);
  const decoded = [["/x%2Fy", "/x/y"], ["/x%5cy%2f?q=%2F%5C", "/x/y/?q=%2F%5C"], [
    "/x/..%2Fy",
    "/y",
  ]] as const;
  for (const [path, location] of decoded) {
    const { status, headers } = await served.ask(path);
    assertEquals([path, status, headers.location], [path, 307, location]);
  }
  for (const path of ["/x//y", "/x%20y%252Fz", "/?q=%2F"]) {
    assertEquals(JSON.parse((await served.ask(path)).body).path, path, "as it is");
  }
});

Deno.test("headers with underscores can be matched on, and set by filters", async () => {
  const set = { set: [{ name: "x_forwarded_for", value: "mine" }], add: [], remove: [] };
  const hasKey = match("/", { headers: [{ name: "api_key", type: "exact", value: "1" }] });
  await using served = await serving({
    "www.example.com": [route("match", toA, { match: hasKey, requestHeaders: set })],
  });
  const answer = await served.ask("/", { headers: { "api_key": "1", "x_forwarded_for": "forged" } });
  assertEquals(answer.status, 200);
  assertEquals((JSON.parse(answer.body) as Echo).headers["x_forwarded_for"], "mine");
  assertEquals((await served.ask("/", { headers: { "api-key": "1" } })).status, 404);
});

Deno.test("redirects: scheme, host, port without what goes without saying, path and query", async () => {
  type Redirect = Extract<Route["action"], { readonly kind: "redirect" }>;
  const redirect = (
    prefix: string,
    change: Omit<Redirect, "kind" | "status">,
    status: Redirect["status"] = 302,
  ) => route(prefix, { kind: "redirect", status, ...change }, { match: match(prefix) });
  const routes = [
    redirect("/scheme", { scheme: "https", port: 443 }, 301),
    redirect("/host", { hostname: "example.org", port: 80 }),
    redirect("/both", { hostname: "example.org", scheme: "https", port: 8443 }),
    redirect("/port", { port: 8083 }),
    redirect("/80", { port: 80 }),
    redirect("/https80", { scheme: "https", port: 80 }),
    redirect("/full", { port: 80, path: { type: "full", value: "/new" } }, 308),
    redirect("/old", { port: 80, path: { type: "prefix", matched: "/old", value: "/new" } }, 307),
    redirect("/gone", { port: 80, path: { type: "prefix", matched: "/gone", value: "/" } }, 303),
    redirect("/slashes/", { port: 80, path: { type: "prefix", matched: "/slashes/", value: "/new/" } }),
    redirect("/", { port: 80, path: { type: "prefix", matched: "/", value: "/new" } }),
  ];
  await using served = await serving({ "www.example.com": routes, "*.example.net": routes });
  const host = "www.example.com:8080";
  const cases: readonly (readonly [path: string, status: number, location: string, host?: string])[] = [
    ["/scheme/a?q=1", 301, "https://www.example.com/scheme/a?q=1"],
    ["/host/a?q=1", 302, "http://example.org/host/a?q=1"],
    ["/both", 302, "https://example.org:8443/both"],
    ["/port", 302, "http://www.example.com:8083/port"],
    ["/80", 302, "http://www.example.com/80"],
    ["/https80", 302, "https://www.example.com:80/https80"],
    ["/full/a?q=1", 308, "http://www.example.com/new?q=1"],
    ["/old/a?q=1", 307, "http://www.example.com/new/a?q=1"],
    ["/old", 307, "http://www.example.com/new"],
    ["/old/", 307, "http://www.example.com/new/"],
    ["/gone/a", 303, "http://www.example.com/a"],
    ["/gone/", 303, "http://www.example.com/"],
    ["/gone", 303, "http://www.example.com/"],
    ["/slashes/a", 302, "http://www.example.com/new/a"],
    ["/slashes", 302, "http://www.example.com/new"],
    ["/x", 302, "http://www.example.com/new/x"],
    // The name is not known before the request: the port is right, be it that it could be left out.
    ["/scheme", 301, "https://a.example.net:443/scheme", "a.example.net:8080"],
    ["/port", 302, "http://a.example.net:8083/port", "a.example.net:8080"],
    ["/scheme", 301, "https://a.example.net/scheme", "a.example.net"],
    ["/80", 302, "http://a.example.net/80", "a.example.net"],
    ["/port", 302, "http://a.example.net:8083/port", "a.example.net"],
  ];
  for (const [path, status, location, asked = host] of cases) {
    const answer = await served.ask(path, { host: asked });
    assertEquals([path, answer.status, answer.headers.location], [path, status, location]);
  }
});
