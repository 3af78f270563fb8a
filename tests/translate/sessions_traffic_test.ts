/**
 * Session persistence (GEP-1619), through a real Envoy.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { backend, type Echo } from "../xds/support/http.ts";
import { type Raw, route, service, slice, to } from "./cluster.ts";
import { any, parentRefs, serving } from "./serving.ts";

/** The Service `app` with three endpoints, the Service `other` with two. */
async function sessions(...rules: readonly Raw[]) {
  const stack = new AsyncDisposableStack();
  const start = (name: string) => stack.use(backend(name));
  const endpoint = (service: string, i: number, port: number): Raw => {
    const one = slice(service, "127.0.0.1");
    return {
      ...one,
      metadata: { ...one.metadata, name: `${service}-${i}` },
      ports: [{ name: "http", port }],
    };
  };
  const more = ["app-a", "app-b"].map((name, i) => endpoint("app", i + 2, start(name).port));
  const others = ["other-a", "other-b"].map((name, i) => endpoint("other", i + 2, start(name).port));
  const objects = [service("other"), route("a", { parentRefs, rules }), ...more, ...others];
  const served = stack.use(await serving(any, objects));
  return {
    ...served,
    /** Who answers, and what it is to be remembered by. */
    async visit(path: string, headers: { readonly [name: string]: string } = {}) {
      const answer = await served.ask(path, { headers });
      assertEquals(answer.status, 200);
      const { backend, headers: asked } = JSON.parse(answer.body) as Echo;
      return { backend, asked, headers: answer.headers, cookie: String(answer.headers["set-cookie"] ?? "") };
    },
    /** Who answers some requests. */
    async visits(path: string, headers: { readonly [name: string]: string } = {}) {
      const names = new Set<string>();
      for (let i = 0; i < 50; i++) names.add((await this.visit(path, headers)).backend);
      return [...names].sort();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const everybody = ["app", "app-a", "app-b"];

Deno.test("traffic: sessions in cookies stay with an endpoint", async () => {
  await using served = await sessions(
    { ...to("app", "/plain") },
    { ...to("app", "/generated"), sessionPersistence: { type: "Cookie", cookie: {} } },
    { ...to("app", "/named"), sessionPersistence: { cookie: { name: "stay", path: "/named" } } },
    { ...to("app", "/older"), sessionPersistence: { sessionName: "old", type: "Cookie" } },
    {
      ...to("app", "/permanent"),
      sessionPersistence: {
        absoluteTimeout: "5m",
        cookie: { name: "long", path: "/", lifetimeType: "Permanent" },
      },
    },
  );
  assertEquals(await served.visits("/plain"), everybody);
  assertEquals((await served.visit("/plain")).cookie, "");
  assertEquals(await served.visits("/generated"), everybody);
  const cases: readonly (readonly [path: string, cookie: RegExp])[] = [
    ["/generated", /^gatehouse-[a-z0-9]{22}="[^"]+"; Path=\/; SameSite=Strict; HttpOnly$/],
    ["/named", /^stay="[^"]+"; Path=\/named; SameSite=Strict; HttpOnly$/],
    ["/older", /^old="[^"]+"; Path=\/; SameSite=Strict; HttpOnly$/],
    ["/permanent", /^long="[^"]+"; Max-Age=300; Path=\/; SameSite=Strict; HttpOnly$/],
  ];
  for (const [path, expected] of cases) {
    const first = await served.visit(path);
    assertMatch(first.cookie, expected);
    const cookie = `application=1; ${first.cookie.slice(0, first.cookie.indexOf(";"))}; more=2`;
    assertEquals(await served.visits(path, { cookie }), [first.backend], path);
    const again = await served.visit(path, { cookie });
    assertEquals([again.cookie, again.asked.cookie], ["", cookie], "known, and passed on");
  }
});

Deno.test("traffic: sessions in headers stay with an endpoint", async () => {
  await using served = await sessions(
    { ...to("app", "/header"), sessionPersistence: { type: "Header", header: { name: "X-Stay" } } },
  );
  const first = await served.visit("/header");
  const token = String(first.headers["x-stay"]);
  assert(token.length > 10);
  assertEquals(await served.visits("/header", { "x-stay": token }), [first.backend]);
});

Deno.test("traffic: weights come before sessions, and an endpoint that is gone is replaced", async () => {
  await using served = await sessions({
    matches: [{ path: { type: "PathPrefix", value: "/" } }],
    backendRefs: [{ name: "app", port: 80 }, { name: "other", port: 80 }],
    sessionPersistence: { cookie: { name: "stay" } },
  });
  const first = await served.visit("/");
  const cookie = first.cookie.slice(0, first.cookie.indexOf(";"));
  const names = await served.visits("/", { cookie });
  const group = first.backend.startsWith("other") ? "other" : "app";
  const of = (service: string) => names.filter((name) => name.startsWith(service));
  assertEquals(of(group), [first.backend], "the endpoint of the session, whenever its Service is chosen");
  assert(of(group === "app" ? "other" : "app").length > 0, "and the other Service by its weight");

  for (const [key, { metadata }] of served.world.objects.EndpointSlice.entries()) {
    if (metadata.labels?.["kubernetes.io/service-name"] === group) {
      served.world.objects.EndpointSlice.delete(key);
    }
  }
  const rest = slice(group, "127.0.0.1");
  const left = await (async () => {
    await using spare = backend("spare");
    served.put({ ...rest, ports: [{ name: "http", port: spare.port }] } as typeof rest);
    served.rig.settle();
    await served.rig.synced();
    return await served.visits("/", { cookie });
  })();
  assert(left.includes("spare") && !left.includes(first.backend), left.join());
});
