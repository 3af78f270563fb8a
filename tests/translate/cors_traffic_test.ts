/**
 * CORS (GEP-1767), through a real Envoy.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Raw, route } from "./cluster.ts";
import { any, filtered, parentRefs, serving } from "./serving.ts";

const rule = (path: string, cors: Raw) => filtered(path, { type: "CORS", cors });

const rules = [
  rule("/listed", {
    allowOrigins: ["https://www.foo.com", "https://*.bar.com", "http://dev.foo.com:8080"],
    allowMethods: ["GET", "OPTIONS"],
    allowHeaders: ["x-header-1", "x-header-2"],
    exposeHeaders: ["x-header-3", "x-header-4"],
    allowCredentials: true,
    maxAge: 3600,
  }),
  rule("/any-host", { allowOrigins: ["https://*"], allowMethods: ["*"] }),
  rule("/any-port", { allowOrigins: ["http://*.foo.com:9000"], allowMethods: ["PUT"] }),
  rule("/open", { allowOrigins: ["*"], allowMethods: ["*"], allowHeaders: ["*"], exposeHeaders: ["*"] }),
  rule("/trusting", {
    allowOrigins: ["*"],
    allowMethods: ["*"],
    allowHeaders: ["*"],
    exposeHeaders: ["*", "x-seen"],
    allowCredentials: true,
  }),
  rule("/nobody", { allowMethods: ["PUT"] }),
];

/** The headers of an answer that CORS is about, without the words that all have in common. */
function said(headers: { readonly [name: string]: unknown }): { readonly [name: string]: unknown } {
  const prefix = "access-control-";
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith(prefix)).map(([name, value]) => [
      name.slice(prefix.length),
      value,
    ]),
  );
}

/** Asks as a browser does before a request with a method and some headers. */
async function preflightOf(
  served: Awaited<ReturnType<typeof serving>>,
  path: string,
  origin: string,
  method: string,
  headers?: string,
) {
  const answer = await served.ask(path, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      ...headers && { "access-control-request-headers": headers },
    },
  });
  return { status: answer.status, body: answer.body, words: said(answer.headers) };
}

Deno.test("traffic: CORS, preflight requests", async () => {
  await using served = await serving(any, [route("a", { parentRefs, rules })]);
  const preflight = async (path: string, origin: string, method = "PUT", headers?: string) => {
    const { status, body, words } = await preflightOf(served, path, origin, method, headers);
    // Who is not allowed is not told what others are.
    const expected = "allow-origin" in words ? [200, ""] : [403, "", {}];
    assertEquals([status, body, words].slice(0, expected.length), expected);
    return words;
  };
  const origin = async (path: string, from: string) => (await preflight(path, from))["allow-origin"];

  assertEquals(await preflight("/listed", "https://www.foo.com", "GET", "x-header-1"), {
    "allow-origin": "https://www.foo.com",
    "allow-methods": "GET, OPTIONS",
    "allow-headers": "x-header-1, x-header-2",
    "allow-credentials": "true",
    "expose-headers": "x-header-3, x-header-4",
    "max-age": "3600",
  });
  const origins: readonly (readonly [path: string, origin: string, allowed: boolean])[] = [
    ["/listed", "https://www.bar.com", true],
    ["/listed", "https://a.b.bar.com", true],
    ["/listed", "https://bar.com", false],
    ["/listed", "https://foobar.com", false],
    ["/listed", "https://www.barxcom", false],
    ["/listed", "https://www.bar.com.evil.com", false],
    ["/listed", "http://www.foo.com", false],
    ["/listed", "https://www.foo.com:443", true],
    ["/listed", "https://www.foo.com:8443", false],
    ["/listed", "https://www.bar.com:443", true],
    ["/listed", "https://www.bar.com:8443", false],
    ["/listed", "http://dev.foo.com:8080", true],
    ["/listed", "http://dev.foo.com", false],
    ["/any-host", "https://anything.at.all", true],
    ["/any-host", "https://[2001:db8::1]", true],
    ["/any-host", "http://anything.at.all", false],
    ["/any-port", "http://x.foo.com:9000", true],
    ["/any-port", "http://x.foo.com", false],
    ["/open", "http://anything:12345", true],
    ["/open", "null", true],
    ["/nobody", "https://www.foo.com", false],
  ];
  for (const [path, from, allowed] of origins) {
    assertEquals([path, from, await origin(path, from)], [path, from, allowed ? from : undefined]);
  }
  const { "allow-origin": _, ...open } = await preflight("/open", "https://a.com", "PUT", "x-a, x-b");
  assertEquals(open, {
    "allow-methods": "PUT",
    "allow-headers": "x-a, x-b",
    "expose-headers": "*",
    "max-age": "5",
  });
  assertEquals(await preflight("/trusting", "https://a.com", "PUT", "x-a, x-b"), {
    "allow-origin": "https://a.com",
    "allow-methods": "PUT",
    "allow-headers": "x-a, x-b",
    "allow-credentials": "true",
    "expose-headers": "x-seen",
    "max-age": "5",
  });
  // Nothing is asked for, so nothing is said.
  assertEquals((await preflight("/trusting", "https://a.com"))["allow-headers"], undefined);
  assertEquals((await preflight("/open", "https://a.com"))["allow-headers"], undefined);
  assertEquals(
    (await preflight("/listed", "https://www.foo.com"))["allow-headers"],
    "x-header-1, x-header-2",
  );
});

Deno.test("traffic: CORS, requests", async () => {
  await using served = await serving(any, [route("a", { parentRefs, rules })]);
  const request = async (path: string, headers: { readonly [name: string]: string }, method = "GET") => {
    const answer = await served.ask(path, { method, headers });
    assertEquals([answer.status, JSON.parse(answer.body).method], [200, method], "the backend answers");
    return said(answer.headers);
  };
  assertEquals(await request("/listed", { origin: "https://www.foo.com" }), {
    "allow-origin": "https://www.foo.com",
    "allow-credentials": "true",
    "expose-headers": "x-header-3, x-header-4",
  });
  assertEquals(await request("/listed", { origin: "https://foobar.com" }), {});
  assertEquals(await request("/listed", {}), {});
  assertEquals((await request("/open", { origin: "https://a.com" }))["allow-credentials"], undefined);
  assertEquals((await request("/trusting", { origin: "https://a.com" }))["expose-headers"], "x-seen");
  // No preflight: nothing is asked for.
  assertEquals((await request("/open", { origin: "https://a.com" }, "OPTIONS"))["allow-methods"], undefined);
});

const a = "https://a.com", b = "https://b.com";

/** Rules that differ in what a preflight request does not have. */
const particular = (path: string, match: Raw, filter?: Raw) => ({
  matches: [{ path: { type: "PathPrefix", value: path }, ...match }],
  ...filter && { filters: [{ type: "CORS", cors: filter }] },
  backendRefs: [{ name: "app", port: 80 }],
});

const header = (name: string, value = "1") => ({ headers: [{ name, value }] });

Deno.test("traffic: CORS, a preflight request is answered by the rule of the request that it asks about", async () => {
  const allow = (origin: string, more: Raw = {}) => ({
    allowOrigins: [origin],
    allowMethods: ["*"],
    ...more,
  });
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        particular("/method", { method: "POST" }, allow(a)),
        particular("/method", { method: "GET" }, allow(b)),
        particular("/method/deeper", {}),
        particular("/method", {}),
        particular("/alone", { method: "POST" }, allow("*", { allowHeaders: ["*"] })),
        particular("/header", header("X-One"), allow(a)),
        particular("/header", {}, allow(b)),
        particular("/both", { method: "PUT", ...header("X-One") }, allow(a)),
        particular("/both", { method: "PUT" }, allow(b)),
        particular(
          "/two",
          { headers: [{ name: "x-one", value: "1" }, { name: "x-two", value: "2" }] },
          allow(a),
        ),
        particular("/options", { method: "OPTIONS" }, allow(a)),
        particular("/sent", { method: "PUT", ...header("X-Tenant") }, allow(a)),
      ],
    }),
  ]);
  /** The origin that is allowed, or the status; 200 is that of the backend. */
  const answer = async (path: string, origin: string, method: string, headers?: string) => {
    const { status, words } = await preflightOf(served, path, origin, method, headers);
    return words["allow-origin"] ?? status;
  };
  const cases: readonly (readonly [
    path: string,
    origin: string,
    method: string,
    headers: string | undefined,
    expected: string | number,
  ])[] = [
    ["/method", a, "POST", undefined, a],
    ["/method", b, "POST", "content-type", 403],
    ["/method", b, "GET", "x-one", b],
    ["/method", a, "GET", "x-one", 403],
    ["/method", a, "PUT", undefined, 200],
    ["/method/deeper", a, "POST", undefined, 200],
    ["/alone", b, "POST", undefined, b],
    ["/alone", b, "PUT", undefined, 404],
    ["/header", a, "GET", "x-one", a],
    ["/header", a, "GET", "content-type,X-One,x-two", a],
    ["/header", a, "GET", "content-type, x-one, x-two", a],
    ["/header", b, "GET", "x-one", 403],
    ["/header", b, "GET", "x-one-more,not-x-one", b],
    ["/header", a, "GET", "x-one-more", 403],
    ["/header", b, "PUT", undefined, b],
    ["/both", a, "PUT", "x-one", a],
    ["/both", b, "PUT", "x-two", b],
    ["/both", a, "POST", "x-one", 404],
    ["/two", a, "GET", "x-one,x-two", a],
    ["/two", a, "GET", "x-two", 404],
    ["/options", a, "DELETE", "x-one", a],
    ["/options", b, "DELETE", "x-one", 403],
    ["/sent", a, "PUT", undefined, 404],
  ];
  for (const [path, origin, method, headers, expected] of cases) {
    const title = [path, origin, method, headers];
    assertEquals([...title, await answer(path, origin, method, headers)], [...title, expected]);
  }
  const alone = await preflightOf(served, "/alone", b, "POST", "x-one");
  assertEquals([alone.words["allow-methods"], alone.words["allow-headers"]], ["POST", "x-one"]);
  assertEquals((await preflightOf(served, "/alone", b, "POST")).words["allow-headers"], undefined);

  const ask = async (path: string, method: string, headers: { readonly [name: string]: string }) => {
    const answer = await served.ask(path, { method, headers });
    return [answer.status, answer.headers["access-control-allow-origin"]];
  };
  assertEquals(await ask("/method", "POST", { origin: a }), [200, a]);
  assertEquals(await ask("/method", "OPTIONS", { origin: a }), [200, undefined], "no preflight");
  assertEquals(await ask("/header", "PUT", { origin: a, "x-one": "1" }), [200, a]);
  // What browsers, or proxies on the way, send with every request.
  const sent = (tenant: string) => ({
    origin: a,
    "access-control-request-method": "PUT",
    "x-tenant": tenant,
  });
  assertEquals(await ask("/sent", "OPTIONS", sent("1")), [200, a]);
  assertEquals(await ask("/sent", "OPTIONS", sent("2")), [404, undefined]);
});

Deno.test("traffic: CORS, preflight requests are answered whatever becomes of the backends", async () => {
  const cors = { type: "CORS", cors: { allowOrigins: [a], allowMethods: ["PUT"] } };
  const rewritten = (name: string) => ({
    name,
    port: 80,
    filters: [{
      type: "URLRewrite",
      urlRewrite: { path: { type: "ReplaceFullPath", replaceFullPath: `/${name}` } },
    }],
  });
  const rule = (path: string, ...backendRefs: readonly Raw[]) => ({ ...filtered(path, cors), backendRefs });
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        rule("/missing", { name: "missing", port: 80 }),
        rule("/none"),
        rule("/zero", { name: "app", port: 80, weight: 0 }),
        rule("/half", { name: "missing", port: 80 }, { name: "app", port: 80 }),
        rule("/paths", rewritten("missing"), rewritten("app")),
      ],
    }),
  ]);
  for (const path of ["/missing", "/none", "/zero", "/half", "/paths"]) {
    for (let i = 0; i < 20; i++) {
      const { status, words } = await preflightOf(served, path, a, "PUT");
      assertEquals([path, status, words["allow-origin"], words["allow-methods"]], [path, 200, a, "PUT"]);
      assertEquals([path, (await preflightOf(served, path, b, "PUT")).status], [path, 403]);
    }
  }
  for (const path of ["/missing", "/none", "/zero"]) {
    const answer = await served.ask(path, { headers: { origin: a } });
    assertEquals([path, answer.status, said(answer.headers)], [path, 500, { "allow-origin": a }]);
    assertEquals((await served.ask(path, { headers: { origin: b } })).status, 500);
  }
});
