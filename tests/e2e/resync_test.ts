/**
 * The same state again causes nothing: no response to a proxy, no write to the API server.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { gateway, httpRoute } from "../../crds/mod.ts";
import { gatewayNamed, get, routeNamed, startGateway, type TestGateway, versions } from "./gateway.ts";
import { resync, sent } from "./resync.ts";

const routes = 20;

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
