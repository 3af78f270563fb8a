/**
 * The model as traffic sees it, through a real Envoy.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { ask, backend, type Echo, freePort } from "./support/http.ts";
import { forward, route } from "./support/ir.ts";
import { Rig } from "./support/rig.ts";

Deno.test("one gateway, one route: 200, then 404 once the route is gone", async () => {
  await using rig = await Rig.start();
  await using web = backend("web");
  const port = freePort();
  rig.model.listener(port)
    .routes(port, { "www.example.com": [route("web", forward("default/web/80"))] })
    .cluster("default/web/80", [web.port]);
  rig.settle();
  await using envoy = await rig.envoy();
  void envoy;
  await rig.synced();

  const answer = await ask(port, "/hello?x=1");
  assertEquals(answer.status, 200);
  const echo: Echo = JSON.parse(answer.body);
  assertEquals([echo.backend, echo.path, echo.headers.host], ["web", "/hello?x=1", "www.example.com"]);
  assertEquals((await ask(port, "/", { host: "other.example.com" })).status, 404);

  rig.model.routes(port, {}).removeCluster("default/web/80");
  rig.settle();
  await rig.synced();
  assertEquals((await ask(port, "/hello")).status, 404);
});
