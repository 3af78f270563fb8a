/**
 * The data plane of a machine at its end.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createAuthority } from "../../controllers/runtime/pki.ts";
import { parsePool } from "../../standalone/addresses/pool.ts";
import { DataPlane } from "../../standalone/data_plane.ts";
import { validity } from "../translate/secured.ts";
import { envoyBinaryForTests } from "./envoy_for_tests.ts";
import { scratch, staticBootstrap } from "./support.ts";
import { freePort } from "../support/free_port.ts";

Deno.test("data plane: Gateways that come and go while Envoys are drained change nothing", async () => {
  await using folder = await scratch();
  const pool = parsePool("127.0.92.0/30"), port = freePort();
  if ("problem" in pool) throw new Error(pool.problem);
  const told: string[] = [], running = Promise.withResolvers<void>();
  const plane = await DataPlane.open({
    directory: folder.path,
    binary: await envoyBinaryForTests(),
    pool: pool.pool,
    concurrency: 1,
    authority: await createAuthority({ commonName: "authority", ...validity }),
    identityOf: (gateway) => `urn:${gateway}`,
    envoy: ({ adminSocket }) => ({ bootstrap: staticBootstrap({ adminSocket, port }), files: {} }),
    clock: systemClock,
    log: silentLog,
    onAddresses: () => {},
    onProxies: (gateway, proxies) => told.push(`${gateway} ${proxies.length}`),
  });
  const want = (gateway: string) => ({ gateway, created: "2026-01-01T00:00:00Z", requested: [], ports: [] });
  const state = () => plane.statuses().get("default/web")?.state;
  let changes = 0;
  using _listening = plane.onChange(() => {
    if (state() === "running") running.resolve();
    // The operator goes on while its Envoys end.
    if (["draining", "stopped"].includes(state() ?? "")) {
      plane.sync(changes++ === 0 ? [] : [want("default/other")]);
    }
  });
  plane.sync([want("default/web")]);
  await running.promise;
  await plane.stop();
  assertEquals(told, ["default/web 1"]);
  assert(changes > 1, `${changes} changes`);
});
