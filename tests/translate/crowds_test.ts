/**
 * What a route with no hostname of its own costs where others name many.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type ApiObject, keyOf } from "../../crds/kind.ts";
import { sourceOf } from "../../controllers/translate/batch.ts";
import { createWorld, defaultConfig, deriveIr } from "../../controllers/translate/mod.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { conditionsOf } from "./neighbour.ts";
import { type Raw, route, small, to } from "./cluster.ts";

/** As large as the API takes it: each of its matches is for another path, and looks at two long headers. */
const largest: readonly Raw[] = [0, 1].map((rule) => ({
  ...to("app"),
  matches: Array.from({ length: 64 }, (_, match) => ({
    path: { type: "PathPrefix", value: `/wide-${rule}-${match}` },
    headers: ["a", "b"].map((name) => ({ name, value: "v".repeat(4_000) })),
  })),
}));

/** A cluster with so many routes, each with a hostname of its own. */
function crowd(hostnames: number) {
  const graph = new Graph(), world = createWorld(graph);
  const { ir, statuses } = deriveIr(graph, world, defaultConfig);
  const put = (...objects: readonly ApiObject[]) => {
    for (const object of objects) sourceOf(world, object.kind)!.set(keyOf(object), object);
    graph.settle();
  };
  put(
    ...small(),
    ...Array.from(
      { length: hostnames },
      (_, i) => route(`own-${i}`, { hostnames: [`h${i}.example.com`], rules: [to("app", "/own")] }),
    ),
  );
  world.proxies.set("default/web", [{ id: "proxy" }]);
  return {
    put,
    /** How many routes the virtual host of a hostname has. */
    entries(hostname: string): number {
      for (const [, host] of ir.virtualHosts.entries()) {
        if (host.hostname === hostname) return host.entries.length;
      }
      return 0;
    },
    said: (name: string) => conditionsOf(statuses.get(`HTTPRoute/default/${name}`)),
  };
}

const words = "it is too large to be repeated for each hostname of other routes";

Deno.test("crowds: the largest route is not repeated for hundreds of hostnames, and says so", () => {
  const { put, entries, said } = crowd(200);
  put(route("wide", { rules: largest }));
  assertEquals([entries("*"), entries("h0.example.com"), entries("h199.example.com")], [128, 1, 1]);
  assert(said("wide").short.includes("Programmed False Invalid"), `${said("wide").short}`);
  assert(said("wide").words.includes(words), said("wide").words);
  assert(!said("own-0").words.includes(words));
  // It pushes out no other, and is served as before once it is smaller.
  put(route("modest", { rules: [to("app", "/modest")] }));
  assertEquals([entries("*"), entries("h7.example.com")], [129, 2]);
  put(
    route("wide", {
      rules: largest.slice(0, 1).map((rule) => ({ ...rule, matches: rule.matches.slice(0, 4) })),
    }),
  );
  assertEquals([entries("*"), entries("h7.example.com")], [5, 6]);
  assert(!said("wide").words.includes(words));
});

Deno.test("crowds: as many matches as a route can have are repeated for a thousand hostnames", () => {
  const { put, entries, said } = crowd(1_000);
  const matches = largest.map((rule) => ({
    ...rule,
    matches: rule.matches.map(({ path }: Raw) => ({ path })),
  }));
  put(route("wide", { rules: matches }));
  assertEquals(entries("h0.example.com"), 129);
  assert(!said("wide").words.includes(words));
});

Deno.test("crowds: what is left of a route's hostname on a listener is its own", () => {
  const { put, entries, said } = crowd(200);
  const listener = { name: "one", port: 80, protocol: "HTTP", hostname: "one.example.org" };
  const [, web] = small();
  put(
    {
      ...web!,
      spec: { ...(web as Raw).spec, listeners: [...(web as Raw).spec.listeners, listener] },
    } as Raw as ApiObject,
  );
  put(route("wide", { parentRefs: [{ name: "web", sectionName: "one" }], rules: largest }));
  assertEquals([entries("one.example.org"), entries("h0.example.com")], [128, 1]);
  assert(!said("wide").words.includes(words), "nothing of it is missing anywhere");
});

Deno.test("crowds: hostnames that a route does not cover take nothing from it", () => {
  const { put, entries, said } = crowd(200);
  put(route("wide", { hostnames: ["*.example.org"], rules: largest }));
  put(route("a", { hostnames: ["a.example.org"], rules: [to("app", "/own")] }));
  assertEquals([entries("*.example.org"), entries("a.example.org"), entries("h0.example.com")], [
    128,
    129,
    1,
  ]);
  assert(!said("wide").words.includes(words), said("wide").words);
});

Deno.test("crowds: routes that are too much together are left out one by one, the largest first, and come back", () => {
  const { put, entries, said } = crowd(60), half = largest.slice(0, 1);
  const told = () => ["a", "b", "c", "d", "e"].filter((name) => said(name).words.includes(words));
  put(route("a", { rules: half }), route("b", { rules: largest }));
  assertEquals([entries("*"), entries("h0.example.com"), told()], [192, 193, []]);
  put(route("c", { rules: half }), route("d", { rules: half }));
  assertEquals([entries("*"), entries("h0.example.com"), told()], [320, 193, ["b"]]);
  put(route("e", { rules: half }));
  assertEquals([entries("h0.example.com"), told()], [193, ["b", "e"]]);
  put(route("a", { rules: [to("app", "/small")] }));
  assertEquals([entries("h0.example.com"), told()], [194, ["b"]]);
});

Deno.test("crowds: the largest route is not repeated for hundreds of its own hostnames, and says so", () => {
  const { put, entries, said } = crowd(0), [, web] = small();
  const listeners = Array.from({ length: 32 }, (_, i) => ({ name: `l${i}`, port: 80 + i, protocol: "HTTP" }));
  put({ ...web!, spec: { ...(web as Raw).spec, listeners } } as Raw as ApiObject);
  const hostnames = Array.from({ length: 16 }, (_, i) => `h${i}.example.org`);
  put(route("own", { hostnames, rules: largest }));
  assertEquals(entries("h0.example.org"), 0);
  assert(said("own").short.includes("Accepted False UnsupportedValue"), `${said("own").short}`);
  assert(said("own").words.includes("too large for as many as 512 hostnames"), said("own").words);
  put(route("own", { hostnames: hostnames.slice(0, 1), rules: largest }));
  assertEquals(entries("h0.example.org"), 128);
  put(route("own", { hostnames, rules: [to("app")] }));
  assertEquals(entries("h15.example.org"), 1);
});
