/**
 * What a change of a certificate costs, counted in rows; and that keys are nowhere but where they have to be.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import type { Table } from "../../controllers/runtime/graph.ts";
import { type Batch, translate } from "../../controllers/translate/batch.ts";
import { deriveXds } from "../../xds/build/mod.ts";
import type { XdsResource } from "../../xds/types.ts";
import { viewResource } from "../../xds/view.ts";
import { gateway, gatewayClass, route, service, slice, to } from "./cluster.ts";
import { certificate, https, tlsSecret } from "./secured.ts";

const [one, two] = await Promise.all([certificate(["www.example.com"]), certificate(["www.example.com"])]);

function secure(listeners: number, routes: number): Batch & { readonly xds: Table<XdsResource> } {
  const hosts = Array.from({ length: listeners }, (_, i) => `h${i}.example.com`);
  let xds: Table<XdsResource> | undefined;
  const batch = translate(
    [
      gatewayClass(),
      gateway("web", hosts.map((host, i) => ({ port: 443, ...https(`l${i}`, host, `c${i}`) }))),
      ...hosts.map((_, i) => tlsSecret(`c${i}`, one)),
      ...Array.from({ length: routes }, (_, i) => route(`r${i}`, { rules: [to("app", `/p${i}`)] })),
      service("app"),
      slice("app", "10.0.0.1"),
    ] as ApiObject[],
    undefined,
    (graph, _, { ir }) => xds = deriveXds(graph, ir),
  );
  return { ...batch, xds: xds! };
}

Deno.test("secrets: a renewed one among many changes itself and what stands for it, whatever else there is", () => {
  const counts = [[4, 10], [50, 500]].map(([listeners, routes]) => {
    const batch = secure(listeners!, routes!);
    assertEquals(batch.ir.secrets.size, listeners);
    batch.world.objects.Secret.set("default/c2", tlsSecret("c2", two));
    const { recomputed, failures } = batch.graph.settle();
    assertEquals(failures, []);
    assertEquals([...batch.xds.changed], ["default/web|secret:default/c2"]);
    const { ir, statuses, due } = batch;
    const changed = Object.entries({ ...ir, statuses, due }).flatMap(([name, { changed }]) =>
      [...changed].map((key) => `${name} ${key}`)
    );
    assertEquals(changed.sort(), ["contributions default/web|Secret/default/c2", "secrets default/c2"]);
    return recomputed;
  });
  assertEquals(counts[0], counts[1]);
});

Deno.test("secrets: those that nobody refers to cost nothing", () => {
  const batch = secure(4, 10);
  for (let i = 0; i < 1000; i++) {
    batch.world.objects.Secret.set(`default/unused${i}`, tlsSecret(`unused${i}`, one));
  }
  assertEquals(batch.graph.settle().recomputed, 0);
  assertEquals(batch.ir.secrets.size, 4);
});

Deno.test("secrets: the passing of time changes nothing as long as nothing expires", () => {
  const batch = secure(50, 10), { world, graph, statuses } = batch;
  world.time.set("now", Date.now());
  graph.settle();
  world.time.set("now", Date.now() + 60_000);
  const { recomputed } = graph.settle();
  assertEquals(recomputed, 50);
  assertEquals([...statuses.changed], []);
  world.time.set("now", Date.parse("2200-01-01"));
  graph.settle();
  assertEquals([...statuses.changed], ["Gateway/default/web"]);
  assertEquals([...batch.xds.changed], []);
});

Deno.test("secrets: keys are in what proxies are sent and nowhere else", () => {
  const batch = secure(2, 2);
  const marker = one.key.split("\n")[1]!;
  const holds = (value: unknown) =>
    JSON.stringify(value, (_, v) => v instanceof Map ? [...v] : v).includes(marker);
  const where = batch.graph.tables.filter((table) => [...table.entries()].some(([, row]) => holds(row)));
  assertEquals(where.map(({ name }) => name), ["certificates", "ir.secrets"]);
  assert(holds([...batch.ir.secrets.entries()]), "the test knows a key when it sees one");
  for (const [, resource] of batch.xds.entries()) {
    const view = JSON.stringify(viewResource(resource));
    assert(!view.includes("PRIVATE KEY"), resource.id);
    if (resource.type === "secret") assert(view.includes("[redacted]") && view.includes("BEGIN CERTIFICATE"));
  }
});
