/**
 * Objects as traffic sees them: translated, served by the xDS server, obeyed by a real Envoy. What is expected comes from
 * the Gateway API specification.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Echo } from "../xds/support/http.ts";
import { type Raw, route, service, to } from "./cluster.ts";
import { any, filtered, parentRefs, serving } from "./serving.ts";

const rewritten = (path: string, urlRewrite: Raw) => filtered(path, { type: "URLRewrite", urlRewrite });

Deno.test("traffic: rewrites of the path, as the table of HTTPPathModifier has them", async () => {
  const table: readonly (readonly [request: string, prefix: string, value: string, becomes: string])[] = [
    ["/foo/bar", "/foo", "/xyz", "/xyz/bar"],
    ["/foo/bar", "/foo", "/xyz/", "/xyz/bar"],
    ["/foo/bar", "/foo/", "/xyz", "/xyz/bar"],
    ["/foo/bar", "/foo/", "/xyz/", "/xyz/bar"],
    ["/foo", "/foo", "/xyz", "/xyz"],
    ["/foo/", "/foo", "/xyz", "/xyz/"],
    ["/foo/bar", "/foo", "", "/bar"],
    ["/foo/", "/foo", "", "/"],
    ["/foo", "/foo", "", "/"],
    ["/foo/", "/foo", "/", "/"],
    ["/foo", "/foo", "/", "/"],
    // Beyond the table: the root, and a query that stays.
    ["/bar", "/", "/xyz", "/xyz/bar"],
    ["/", "/", "/xyz", "/xyz/"],
    ["/a", "/", "/", "/a"],
    ["/foo/bar", "/foo/", "/", "/bar"],
    ["/foo/bar?a=/foo&b", "/foo", "/x.y", "/x.y/bar?a=/foo&b"],
    ["/foo?a", "/foo", "/xyz", "/xyz?a"],
    ["/foo?a", "/foo", "", "/?a"],
    ["/foo/?a=%2F", "/foo", "/", "/?a=%2F"],
    // Values are no patterns, and what a client doubles stays doubled.
    ["/a.b(c/d", "/a.b(c", "/x", "/x/d"],
    ["/foo//bar", "/foo", "/xyz/", "/xyz//bar"],
  ];
  const routes = table.map(([, prefix, value], i) =>
    route(`prefix${i}`, {
      parentRefs,
      hostnames: [`prefix${i}.example.com`],
      rules: [rewritten(prefix, { path: { type: "ReplacePrefixMatch", replacePrefixMatch: value } })],
    })
  );
  const full = ["/new", "/a\\1b", "/with%20space"].map((value, i) =>
    route(`full${i}`, {
      parentRefs,
      hostnames: [`full${i}.example.com`],
      rules: [rewritten("/old", { path: { type: "ReplaceFullPath", replaceFullPath: value } })],
    })
  );
  await using served = await serving(any, [...routes, ...full]);
  for (const [i, [request, prefix, value, becomes]] of table.entries()) {
    const got = await served.path(request, { host: `prefix${i}.example.com` });
    assertEquals(got, becomes, `${request}, ${prefix} by "${value}"`);
  }
  assertEquals(await served.path("/old/longer?q=1", { host: "full0.example.com" }), "/new?q=1");
  // The backend of the test takes a backslash for a slash, as URLs have it.
  assertEquals(await served.path("/old", { host: "full1.example.com" }), "/a/1b");
  assertEquals(await served.path("/old/x", { host: "full2.example.com" }), "/with%20space");
});

Deno.test("traffic: rewrites of the host, and headers that are changed besides", async () => {
  const rule = {
    ...to("app"),
    filters: [
      { type: "URLRewrite", urlRewrite: { hostname: "inner.example.org" } },
      {
        type: "RequestHeaderModifier",
        requestHeaderModifier: { set: [{ name: "X-Percent", value: "50%" }] },
      },
      {
        type: "ResponseHeaderModifier",
        responseHeaderModifier: { add: [{ name: "X-Answer", value: "yes" }] },
      },
    ],
  };
  await using served = await serving(any, [route("a", { parentRefs, rules: [rule] })]);
  const answer = await served.ask("/x", { host: "outer.example.com" });
  const echo: Echo = JSON.parse(answer.body);
  assertEquals(
    [echo.headers.host, echo.headers["x-percent"], answer.headers["x-answer"]],
    ["inner.example.org", "50%", "yes"],
  );
});

Deno.test("traffic: backends are asked for different paths and hosts, each by its weight", async () => {
  const ref = (weight: number, urlRewrite?: Raw) => ({
    name: "app",
    port: 80,
    weight,
    ...urlRewrite && { filters: [{ type: "URLRewrite", urlRewrite }] },
  });
  const prefix = (value: string) => ({ path: { type: "ReplacePrefixMatch", replacePrefixMatch: value } });
  const rule = {
    ...to("app", "/old"),
    filters: [{ type: "URLRewrite", urlRewrite: { hostname: "rule.example.org" } }],
    backendRefs: [
      ref(1, prefix("/a")),
      ref(0, prefix("/never")),
      ref(2),
      ref(3, { hostname: "own.example.org", ...prefix("/b") }),
    ],
  };
  await using served = await serving(any, [route("a", { parentRefs, rules: [rule] })]);
  const seen = new Map<string, number>();
  const asked = 1000;
  for (let i = 0; i < asked; i++) {
    const { path, headers }: Echo = JSON.parse((await served.ask("/old/x")).body);
    const what = `${headers.host}${path}`;
    seen.set(what, (seen.get(what) ?? 0) + 1);
  }
  const expected = { "rule.example.org/a/x": 1, "rule.example.org/old/x": 2, "own.example.org/b/x": 3 };
  assertEquals([...seen.keys()].sort(), Object.keys(expected).sort());
  for (const [what, weight] of Object.entries(expected)) {
    // More than five standard deviations.
    const share = seen.get(what)! / asked, off = Math.abs(share - weight / 6);
    assert(off < 0.08, `${what}: ${share} of the requests`);
  }
});

Deno.test("traffic: a backend has the last word about the host, the rule's is for those that say nothing", async () => {
  const rewrite = (hostname: string) => ({ type: "URLRewrite", urlRewrite: { hostname } });
  const header = (value: string) => ({
    type: "RequestHeaderModifier",
    requestHeaderModifier: { set: [{ name: "Host", value }] },
  });
  const rule = (filter: Raw, ...backends: readonly Raw[][]) => ({
    ...to("app"),
    filters: [filter],
    backendRefs: backends.map((filters) => ({ name: "app", port: 80, filters })),
  });
  const table: readonly (readonly [rule: Raw, hosts: readonly string[]])[] = [
    [
      rule(rewrite("rule.example.org"), [], [rewrite("two.example.org")]),
      ["rule.example.org", "two.example.org"],
    ],
    [
      rule(rewrite("rule.example.org"), [header("one.example.org")], [rewrite("two.example.org")], []),
      ["one.example.org", "rule.example.org", "two.example.org"],
    ],
    [rule(header("rule.example.org"), [], [rewrite("two.example.org")]), [
      "rule.example.org",
      "two.example.org",
    ]],
    [rule(header("rule.example.org"), [], [header("two.example.org")]), [
      "rule.example.org",
      "two.example.org",
    ]],
    [rule(rewrite("rule.example.org"), [header("one.example.org")]), ["one.example.org"]],
    [rule(header("rule.example.org"), [rewrite("one.example.org")]), ["one.example.org"]],
    [rule(rewrite("rule.example.org"), [], []), ["rule.example.org"]],
  ];
  const routes = table.map(([rule], i) =>
    route(`r${i}`, { parentRefs, hostnames: [`r${i}.example.com`], rules: [rule] })
  );
  await using served = await serving(any, routes);
  for (const [i, [, hosts]] of table.entries()) {
    const seen = new Set<unknown>();
    // That one of three backends is never chosen is a matter of one in 10^17.
    for (let asked = 0; asked < 100; asked++) {
      const { headers }: Echo = JSON.parse((await served.ask("/", { host: `r${i}.example.com` })).body);
      seen.add(headers.host);
    }
    assertEquals(seen, new Set(hosts), `rule ${i}`);
  }
});

Deno.test("traffic: headers are changed for the rule first, then for the backend, which has the last word", async () => {
  const changes = (value: string) => ({ set: [{ name: "X-Set", value }], add: [{ name: "X-Add", value }] });
  const filters = (value: string) => [
    { type: "RequestHeaderModifier", requestHeaderModifier: changes(value) },
    { type: "ResponseHeaderModifier", responseHeaderModifier: changes(value) },
  ];
  const rule = {
    ...to("app"),
    filters: filters("rule"),
    backendRefs: [{ name: "app", port: 80, filters: filters("backend") }],
  };
  await using served = await serving(any, [route("a", { parentRefs, rules: [rule] })]);
  const answer = await served.ask("/", { headers: { "x-add": "client" } });
  const { headers }: Echo = JSON.parse(answer.body);
  assertEquals([headers["x-set"], headers["x-add"]], ["backend", "client, rule, backend"]);
  assertEquals([answer.headers["x-set"], answer.headers["x-add"]], ["backend", "rule, backend"]);
});

Deno.test("traffic: timeouts end with 504, and 0s is none", async () => {
  const released = Promise.withResolvers<void>();
  await using slow = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async () => {
    await released.promise;
    return new Response("late");
  });
  const rule = (path: string, timeouts: Raw) => ({ ...to("slow", path), timeouts });
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        rule("/request", { request: "50ms" }),
        rule("/backend", { backendRequest: "50ms" }),
        rule("/both", { request: "1h", backendRequest: "50ms" }),
        rule("/none", { request: "0s" }),
      ],
    }),
  ], { slow: slow.addr.port });
  for (const path of ["/request", "/backend", "/both"]) {
    assertEquals([path, (await served.ask(path)).status], [path, 504]);
  }
  const unlimited = served.ask("/none");
  released.resolve();
  assertEquals((await unlimited).status, 200);
});

Deno.test("traffic: redirects lead where the specification says", async () => {
  const rules = Object.entries({
    host: { hostname: "example.org", statusCode: 301 },
    https: { scheme: "https" },
    port: { port: 8083 },
    full: { path: { type: "ReplaceFullPath", replaceFullPath: "/new" } },
    prefix: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/new" } },
  }).map(([name, requestRedirect]) => filtered(`/${name}`, { type: "RequestRedirect", requestRedirect }));
  await using served = await serving(any, [route("a", { parentRefs, rules })]);
  const location = async (path: string) => {
    const { status, headers } = await served.ask(path, { host: `www.example.com:${served.port}` });
    return [status, headers.location];
  };
  const here = `http://www.example.com:${served.port}`;
  assertEquals(await location("/host/x?y"), [301, `http://example.org:${served.port}/host/x?y`]);
  assertEquals(await location("/https"), [302, "https://www.example.com:443/https"]);
  assertEquals(await location("/port"), [302, "http://www.example.com:8083/port"]);
  assertEquals(await location("/full/x?y=1"), [302, `${here}/new?y=1`]);
  assertEquals(await location("/prefix/x?y=1"), [302, `${here}/new/x?y=1`]);
});

Deno.test("traffic: listeners keep to their hostnames, and routes fall through to wider ones", async () => {
  const on = (sectionName: string) => [{ name: "gw", sectionName }];
  const marked = (name: string, path: string) =>
    filtered(path, {
      type: "RequestHeaderModifier",
      requestHeaderModifier: { set: [{ name: "route", value: name }] },
    });
  await using served = await serving([
    { name: "any" },
    { name: "wild", hostname: "*.example.com" },
    { name: "empty", hostname: "*.empty.example.com" },
  ], [
    route("any", { parentRefs: on("any"), rules: [marked("any", "/")] }),
    route("wild", { parentRefs: on("wild"), rules: [marked("wild", "/")] }),
    route("precise", {
      parentRefs: on("wild"),
      hostnames: ["www.example.com"],
      rules: [marked("precise", "/only")],
    }),
  ]);
  const who = async (host: string, path: string) => {
    const answer = await served.echo(path, { host });
    return typeof answer === "number" ? answer : answer.headers.route;
  };
  assertEquals(await who("www.example.com", "/only/x"), "precise");
  assertEquals(await who("www.example.com", "/other"), "wild");
  assertEquals(await who("a.b.example.com", "/"), "wild");
  assertEquals(await who("x.empty.example.com", "/"), 404);
  assertEquals(await who("example.com", "/"), "any");
});

Deno.test("traffic: what cannot be served answers 500 or 503 and says so, and lives on when it is mended", async () => {
  const rule = (name: string, ...backendRefs: readonly Raw[]) => ({ ...to(name, `/${name}`), backendRefs });
  const spec = (...rules: readonly Raw[]) => ({ parentRefs, rules });
  await using served = await serving(any, [
    service("empty"),
    route(
      "a",
      spec(
        rule("missing", { name: "missing", port: 80 }),
        rule("empty", { name: "empty", port: 80 }),
        rule("zero", { name: "app", port: 80, weight: 0 }),
        rule("none"),
        filtered("/broken", { type: "FromTheFuture" }),
        to("app", "/fine"),
      ),
    ),
  ]);
  const statuses = async () =>
    await Promise.all(
      ["/missing", "/empty", "/zero", "/none", "/broken", "/fine", "/elsewhere"]
        .map(async (path) => (await served.ask(path)).status),
    );
  assertEquals(await statuses(), [500, 503, 500, 500, 500, 200, 404]);
  const conditions = () => {
    const status = served.statuses.get("HTTPRoute/default/a")!;
    return "parents" in status
      ? status.parents[0]!.conditions.map(({ type, status }) => `${type}=${status}`)
      : [];
  };
  assertEquals(conditions(), [
    "Accepted=True",
    "ResolvedRefs=False",
    "Programmed=True",
    "PartiallyInvalid=True",
  ]);

  served.put(route("a", spec(to("app", "/broken")), { generation: 2 }));
  served.rig.settle();
  await served.rig.synced();
  assertEquals(await statuses(), [404, 404, 404, 404, 200, 404, 404]);
  assertEquals(conditions(), ["Accepted=True", "ResolvedRefs=True", "Programmed=True"]);

  served.world.objects.HTTPRoute.delete("default/a");
  served.rig.settle();
  await served.rig.synced();
  assertEquals((await served.ask("/broken")).status, 404);
});

Deno.test("traffic: a request for a listener that is refused does not fall to a wider one", async () => {
  const hostname = "admin.example.com";
  const filters = {
    requests: [{ type: "ExtensionRef", extensionRef: { group: "example.com", kind: "Auth", name: "all" } }],
  };
  // Of these two none wins, and the wider listener is no third one.
  const conflict = ["one", "two"].map((name) => ({ name, hostname: "both.example.com" }));
  await using served = await serving(
    [{ name: "all" }, { name: "admin", hostname, filters }, ...conflict],
    [route("a", {
      parentRefs,
      hostnames: [hostname, "both.example.com", "www.example.com"],
      rules: [to("app")],
    })],
  );
  assertEquals(await served.path("/", { host: "www.example.com" }), "/");
  assertEquals(await served.path("/", { host: hostname }), 404);
  assertEquals(await served.path("/", { host: "both.example.com" }), 404);
});
