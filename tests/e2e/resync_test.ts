/**
 * The same state again causes nothing: no response to a proxy, no write to the API server.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Source } from "../../controllers/runtime/graph.ts";
import { allKinds, type ApiObject, gateway, httpRoute, type Kind } from "../../crds/mod.ts";
import { metadataOnly } from "../../controllers/translate/mod.ts";
import { list } from "../../kube/list.ts";
import { gatewayNamed, get, routeNamed, startGateway, type TestGateway, versions } from "./gateway.ts";

const routes = 20;

/** Tells the operator everything anew, as after a watch that had to start over. */
async function resync({ kube, local: { operator } }: TestGateway): Promise<number> {
  let objects = 0;
  for (const [name, source] of Object.entries(operator.world.objects)) {
    // A list of whole objects is not what these are watched as.
    if (metadataOnly.has(name as keyof typeof operator.world.objects)) continue;
    const kind = allKinds.find(({ kind }) => kind === name) as Kind;
    const all = await list(kube, kind, { signal: AbortSignal.timeout(10_000) });
    objects += all.objects.length;
    const events = (async function* () {
      yield { type: "replace", objects: all.objects } as const;
    })();
    await operator.loop.follow(kind.plural, events, source as unknown as Source<ApiObject>);
  }
  await operator.loop.idle();
  return objects;
}

async function sent({ local: { operator } }: TestGateway): Promise<string> {
  const text = await operator.metrics.render();
  return text.split("\n").filter((line) => line.startsWith("gatehouse_xds_pushes_total")).join("\n");
}

Deno.test("ten resyncs send nothing and write nothing", async () => {
  await using web = await startGateway({ address: "127.0.47.1" });
  const { kube, address } = web;
  await web.echo("echo");
  await kube.create(gateway, gatewayNamed("web"));
  for (let i = 0; i < routes; i++) {
    await kube.create(httpRoute, routeNamed(`r${i}`, [{ backendRefs: [{ name: "echo", port: 80 }] }]));
  }
  await web.until(
    "everything is programmed and written",
    ({ translation: { due, ir }, world }) =>
      due.size === 0 && ir.contributions.size === routes + 2 &&
      [...ir.contributions.entries()].every(([key]) => world.verdicts.get(key)?.state === "programmed"),
  );
  assertEquals(await get(address, `r${routes - 1}.example.com`), 200);
  await web.local.operator.loop.idle();

  const before = await sent(web), written = await versions(web);
  const { recomputed } = web.local.operator.graph.stats;
  for (let i = 0; i < 10; i++) assert(await resync(web) > routes);
  assertEquals(await sent(web), before);
  assertEquals(await versions(web), written);
  assertEquals(web.local.operator.graph.stats.recomputed, recomputed, "nothing was derived anew");

  await kube.create(httpRoute, routeNamed("last", [{ backendRefs: [{ name: "echo", port: 80 }] }]));
  await web.untilStatus(
    httpRoute,
    "last",
    "a real change arrives",
    (c) => c.get("Programmed")?.status === "True",
  );
  assert(await sent(web) !== before, "the counter counts");
});

Deno.test("an operator that starts anew writes nothing where nothing has changed", async () => {
  await using web = await startGateway({ address: "127.0.47.2" });
  const { kube, address } = web;
  await web.echo("echo");
  await kube.create(gateway, gatewayNamed("web"));
  await kube.create(httpRoute, routeNamed("r", [{ backendRefs: [{ name: "echo", port: 80 }] }]));
  await kube.create(httpRoute, routeNamed("bad", [{ backendRefs: [{ name: "nowhere", port: 80 }] }]));
  const settled = ({ translation: { due, ir }, world }: TestGateway["local"]["operator"]) =>
    due.size === 0 && ir.contributions.size === 4 &&
    [...ir.contributions.entries()].every(([key]) => world.verdicts.get(key)?.state === "programmed");
  await web.until("everything is programmed and written", settled);
  const written = await versions(web);

  await web.restart();
  await web.until("everything is known again", settled);
  await web.local.operator.loop.idle();
  assertEquals(await versions(web), written, "a restart is no transition");
  assertEquals(await get(address, "r.example.com"), 200);
});
