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

Deno.test("traffic: CORS, preflight requests", async () => {
  await using served = await serving(any, [route("a", { parentRefs, rules })]);
  const preflight = async (path: string, origin: string, method = "PUT", headers?: string) => {
    const answer = await served.ask(path, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": method,
        ...headers && { "access-control-request-headers": headers },
      },
    });
    const words = said(answer.headers);
    // Who is not allowed is not told what others are.
    const expected = "allow-origin" in words ? [200, ""] : [403, "", {}];
    assertEquals([answer.status, answer.body, words].slice(0, expected.length), expected);
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
