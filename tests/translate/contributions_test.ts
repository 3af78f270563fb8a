/**
 * What the ledger of acknowledgements goes by: who puts what into which proxies.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Contribution } from "../../controllers/ir/mod.ts";
import { type Batch, translate } from "../../controllers/translate/batch.ts";
import { gateway, http, route, service, slice, small, to } from "./cluster.ts";

/** Pieces with what carries them, by row. */
function pieces({ ir }: Batch): { readonly [key: string]: { readonly [piece: string]: readonly string[] } } {
  return Object.fromEntries(
    [...ir.contributions.entries()].sort(([a], [b]) => a < b ? -1 : 1).map(([key, contribution]) => [
      key,
      Object.fromEntries(contribution.pieces.map(({ id, resources }) => [id, resources])),
    ]),
  );
}

Deno.test("contributions: rules, listeners and backends, and what carries them", () => {
  const batch = translate(
    small(
      gateway("two", [http, { name: "alt", port: 8080, protocol: "HTTP" }], { metadata: { generation: 4 } }),
      route(
        "a",
        { parentRefs: [{ name: "web" }, { name: "two" }], rules: [to("app"), to("missing")] },
        { generation: 3 },
      ),
    ),
  );
  const cluster = ["cluster:default/app/80", "endpoints:default/app/80"];
  const two = ["routes:default/two/80", "routes:default/two/8080"];
  assertEquals(pieces(batch), {
    "default/two|Gateway/default/two": {
      "Gateway/default/two/listener/http": ["listener:default/two/80", "routes:default/two/80"],
      "Gateway/default/two/listener/alt": ["listener:default/two/8080", "routes:default/two/8080"],
    },
    "default/two|HTTPRoute/default/a": {
      "HTTPRoute/default/a/rule/0": two,
      "HTTPRoute/default/a/rule/1": two,
    },
    "default/two|Service/default/app": { "Service/default/app/port/80": cluster },
    "default/web|Gateway/default/web": {
      "Gateway/default/web/listener/http": ["listener:default/web/80", "routes:default/web/80"],
    },
    "default/web|HTTPRoute/default/a": {
      "HTTPRoute/default/a/rule/0": ["routes:default/web/80"],
      "HTTPRoute/default/a/rule/1": ["routes:default/web/80"],
    },
    "default/web|Service/default/app": { "Service/default/app/port/80": cluster },
  });
  const generations = [...batch.ir.contributions.entries()].map(([key, { generation }]) =>
    [key, generation] as const
  );
  assertEquals(Object.fromEntries(generations), {
    "default/two|Gateway/default/two": 4,
    "default/two|HTTPRoute/default/a": 3,
    "default/two|Service/default/app": 0,
    "default/web|Gateway/default/web": 1,
    "default/web|HTTPRoute/default/a": 3,
    "default/web|Service/default/app": 0,
  });
});

Deno.test("contributions: what is not meant to be served is in none", () => {
  const batch = translate(
    small(
      gateway("odd", [http, { ...http, name: "same" }, { name: "tls", port: 443, protocol: "HTTPS" }]),
      gateway("refused", [http], { spec: { addresses: [{ type: "NamedAddress", value: "x" }] } }),
      route("lost", { parentRefs: [{ name: "odd" }, { name: "refused" }], rules: [to("app")] }),
      route("stranger", { parentRefs: [{ name: "web", sectionName: "nope" }], rules: [to("app")] }),
    ),
  );
  assertEquals(pieces(batch), {
    "default/odd|Gateway/default/odd": {},
    "default/refused|Gateway/default/refused": {},
    "default/web|Gateway/default/web": {
      "Gateway/default/web/listener/http": ["listener:default/web/80", "routes:default/web/80"],
    },
  });
});

Deno.test("contributions: a row changes with the configuration and the generation, and with nothing else", () => {
  const rules = [to("app", "/x"), to("app", "/y")];
  const batch = translate(small(route("a", { rules })));
  const { world, graph, ir } = batch;
  const key = "default/web|HTTPRoute/default/a";
  const changes = (change: () => void): readonly [changed: boolean, row: Contribution] => {
    change();
    graph.settle();
    return [ir.contributions.changed.has(key), ir.contributions.get(key)!];
  };
  const { HTTPRoute, EndpointSlice, Service } = world.objects;
  const before = ir.contributions.get(key)!;

  const [byEndpoints] = changes(() => EndpointSlice.set("default/app-1", slice("app", "10.0.0.9")));
  const [byLabels] = changes(() => HTTPRoute.set("default/a", route("a", { rules }, { labels: { x: "y" } })));
  const [byNeighbour] = changes(() => HTTPRoute.set("default/b", route("b", { rules: [to("app", "/z")] })));
  assertEquals([byEndpoints, byLabels, byNeighbour], [false, false, false]);

  const [byGeneration, newer] = changes(() =>
    HTTPRoute.set("default/a", route("a", { rules }, { generation: 2 }))
  );
  assertEquals([byGeneration, newer], [true, { ...before, generation: 2 }]);

  const [byRule, edited] = changes(() =>
    HTTPRoute.set("default/a", route("a", { rules: [rules[0], to("app", "/w")] }, { generation: 2 }))
  );
  assertEquals(byRule, true);
  assertEquals(edited.pieces[0], before.pieces[0], "a rule that stayed is the same piece");

  // Without its Service a rule is something else, though the route is the same.
  const [byService] = changes(() => Service.delete("default/app"));
  const [again, back] = changes(() => Service.set("default/app", service("app")));
  assertEquals([byService, again, back], [true, true, edited]);
});
