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

/** Visits as a browser does, with all cookies that it was given last, or with headers in their place. */
function browser(visit: (path: string, headers: { readonly [name: string]: string }) => Promise<Visit>) {
  const cookies = new Map<string, string>(), tokens = new Map<string, string>();
  return {
    cookies,
    async visit(path: string): Promise<string> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await visit(path, { ...Object.fromEntries(tokens), ...cookie && { cookie } });
      const [, name, value] = /^([^=]+)=([^;]+)/.exec(answer.cookie) ?? [];
      if (name && value) cookies.set(name, value);
      for (const [name, value] of Object.entries(answer.headers)) {
        if (name.startsWith("x-stay")) tokens.set(name, String(value));
      }
      return answer.backend;
    },
  };
}

type Visit = Pick<
  Awaited<ReturnType<Awaited<ReturnType<typeof sessions>>["visit"]>>,
  "backend" | "cookie" | "headers"
>;

const serviceOf = (backend: string) => backend.startsWith("other") ? "other" : "app";

const split = (path: string, sessionPersistence: Raw) => ({
  matches: [{ path: { type: "PathPrefix", value: path } }],
  backendRefs: [{ name: "app", port: 80, weight: 7 }, { name: "other", port: 80, weight: 3 }],
  sessionPersistence,
});

Deno.test("traffic: weights choose the Service, and in each of them a browser stays with an endpoint", async () => {
  const prefixed = split("/prefixed", { cookie: {} });
  await using served = await sessions(
    split("/cookie", { cookie: { name: "stay" } }),
    split("/generated", { cookie: {} }),
    split("/header", { type: "Header", header: { name: "X-Stay" } }),
    // Envoy has a route for each of such backends.
    {
      ...prefixed,
      backendRefs: prefixed.backendRefs.map((ref) => ({
        ...ref,
        filters: [{
          type: "URLRewrite",
          urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: `/${ref.name}` } },
        }],
      })),
    },
  );
  for (const path of ["/cookie", "/generated", "/header", "/prefixed"]) {
    const { visit, cookies } = browser(served.visit), count = 300;
    const seen = new Map<string, Set<string>>();
    let apps = 0;
    for (let i = 0; i < count; i++) {
      const backend = await visit(path), service = serviceOf(backend);
      seen.set(service, (seen.get(service) ?? new Set()).add(backend));
      if (service === "app") apps++;
    }
    assertEquals([path, seen.get("app")?.size, seen.get("other")?.size], [path, 1, 1]);
    // Off by more than 0.2 once in 10^13 times.
    assert(Math.abs(apps / count - 0.7) < 0.2, `${path}: ${apps} of ${count}`);
    const [name = ""] = [...cookies.keys()].sort((a, b) => a.length - b.length);
    if (path === "/cookie") assertEquals(name, "stay", "that of the first backend");
  }
});

Deno.test("traffic: a backend that is added takes no sessions, and one that is gone gives its own to another endpoint", async () => {
  const rule = split("/", { cookie: { name: "stay" } }), [app, other] = rule.backendRefs;
  await using served = await sessions({ ...rule, backendRefs: [app] });
  const { visit, cookies } = browser(served.visit), first = await visit("/");
  const change = async (object: Raw) => {
    served.put(object);
    served.rig.settle();
    await served.rig.synced();
  };
  const visits = async () => {
    const names = new Set<string>();
    for (let i = 0; i < 100; i++) names.add(await visit("/"));
    return [...names].sort();
  };
  for (const weights of [[1, 1], [0, 1], [9, 1]] as const) {
    const backendRefs = [{ ...app, weight: weights[0] }, { ...other, weight: weights[1] }];
    await change(route("a", { parentRefs, rules: [{ ...rule, backendRefs }] }));
    const apps = (await visits()).filter((name) => serviceOf(name) === "app");
    assertEquals(apps, weights[0] > 0 ? [first] : [], weights.join());
  }
  assertEquals(cookies.size, 2);

  for (const [key, { metadata }] of served.world.objects.EndpointSlice.entries()) {
    if (metadata.labels?.["kubernetes.io/service-name"] === "app") {
      served.world.objects.EndpointSlice.delete(key);
    }
  }
  await using spare = backend("spare");
  await change({ ...slice("app", "127.0.0.1"), ports: [{ name: "http", port: spare.port }] });
  const left = await visits();
  assert(left.includes("spare") && !left.includes(first) && left.length === 2, left.join());
});
