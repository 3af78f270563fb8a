/**
 * A start with a large configuration in place.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { gateway, httpRoute } from "../../crds/mod.ts";
import { gatewayNamed, get, routeNamed, startGateway, type TestGateway } from "./gateway.ts";

const routes = 5_000, atOnce = 50;

/** How many responses proxies have been sent, by type. */
async function pushes({ local: { operator } }: TestGateway): Promise<{ readonly [type: string]: number }> {
  const text = await operator.metrics.render();
  const lines = text.matchAll(/^gatehouse_xds_pushes_total\{type="([^"]*)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, type, count]) => [type!, Number(count)]));
}

Deno.test("a start with 5,000 routes sends its proxy everything at once, and never a part", async () => {
  await using web = await startGateway({ address: "127.0.74.1" });
  const { kube, address } = web;
  await web.echo("echo");
  await kube.create(gateway, gatewayNamed("web"));
  for (let i = 0; i < routes; i += atOnce) {
    await Promise.all(
      Array.from(
        { length: atOnce },
        (_, j) =>
          kube.create(httpRoute, routeNamed(`r${i + j}`, [{ backendRefs: [{ name: "echo", port: 80 }] }])),
      ),
    );
  }
  await web.restart();
  await web.until(
    "everything is programmed",
    ({ translation: { ir }, world }) =>
      ir.contributions.size === routes + 2 &&
      [...ir.contributions.entries()].every(([key]) => world.verdicts.get(key)?.state === "programmed"),
    60_000,
  );
  // What the proxy has acknowledged as all of the routes has come in one piece.
  assertEquals(await pushes(web), { cluster: 1, endpoints: 1, listener: 1, routes: 1 });
  for (const i of [0, routes / 2, routes - 1]) assertEquals(await get(address, `r${i}.example.com`), 200);
});
