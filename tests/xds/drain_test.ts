/**
 * Proxies that are about to end send their clients elsewhere, and lose nothing.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { drainingOf, versionOfDraining } from "../../xds/build/draining.ts";
import { Resource } from "../../xds/wire/envoy/discovery.ts";
import { decode } from "../../xds/wire/mod.ts";
import { until } from "../support/until.ts";
import { startClients } from "./support/clients.ts";
import { backend } from "./support/http.ts";
import { forward, route } from "./support/ir.ts";
import { type Envoy, modelRig } from "./support/rig.ts";
import { Service } from "./support/service.ts";
import { freePort } from "../support/free_port.ts";

/** A rig whose Envoy gives what it is asked to a backend. */
async function proxy(backend: number) {
  const rig = await modelRig(), port = freePort();
  rig.model.listener(port).cluster("ns/web/80", [backend])
    .routes(port, { "*": [route("web", forward("ns/web/80"))] });
  rig.settle();
  const envoy = await rig.envoy("proxy", "default/gw", {}, [
    ...["--drain-time-s", "600", "--drain-strategy", "immediate"],
  ]);
  await rig.synced();
  return {
    rig,
    envoy,
    port,
    /** How many clients are connected to it. */
    async active(): Promise<number> {
      const stats = await envoy.admin(`/stats?filter=^http.default/gw/${port}.downstream_cx_active`);
      return Number(/downstream_cx_active: (\d+)/.exec(stats)?.[1]);
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

async function isDraining(envoy: Envoy): Promise<boolean> {
  return (await envoy.admin("/config_dump?resource=dynamic_listeners")).includes(
    "max_requests_per_connection",
  );
}

Deno.test("a proxy that drains is left by all its clients, although it is still sent some, and nothing is lost", async () => {
  await using web = backend("web");
  await using first = await proxy(web.port);
  await using second = await proxy(web.port);
  await using service = await Service.open(first.port, second.port);
  await using busy = startClients(service.port, { http1: 4, http2: 4 });
  await using slow = startClients(service.port, { http1: 2, http2: 2, pause: 200 });
  await busy.more(500);
  await slow.more(8);
  assert(await first.active() >= 4);

  first.rig.cache.drain(new Set(["proxy"]));
  const before = busy.tally.connections;
  await busy.more(500);
  await slow.more(8);
  assert(busy.tally.connections > before, "who comes back to it is served, and sent away again");
  service.targets = [second.port];
  await until("everybody has left", async () => await first.active() === 0);
  await first.envoy[Symbol.asyncDispose]();
  await busy.more(500);
  await slow.more(8);
  assertEquals([busy.tally.lost, slow.tally.lost], [[], []]);
});

Deno.test("who has yet to answer when a proxy begins to drain does answer", async () => {
  const asked = Promise.withResolvers<void>(), answer = Promise.withResolvers<void>();
  await using web = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async () => {
    asked.resolve();
    await answer.promise;
    return new Response("late");
  });
  await using one = await proxy(web.addr.port);
  await using clients = startClients(one.port, { http1: 1, http2: 1 });
  await asked.promise;
  one.rig.cache.drain(new Set(["proxy"]));
  await until("its listener is another", () => isDraining(one.envoy));
  answer.resolve();
  await clients.more(2);
  assertEquals(clients.tally.lost, []);
});

Deno.test("only the listeners of a proxy that drains are others, and it is what it was once it does not", async () => {
  await using rig = await modelRig();
  const port = freePort();
  rig.model.listener(port).cluster("ns/web/80", [freePort()])
    .routes(port, { "*": [route("web", forward("ns/web/80"))] });
  rig.settle();
  const one = await rig.envoy("one"), id = `listener:default/gw/${port}` as const;
  await rig.synced("one");
  const listener = rig.cache.resources("default/gw").get(id)!, told: unknown[] = [];
  using two = rig.cache.follow("default/gw", "two", (changed) => told.push(changed));
  const acked = () => rig.events.filter(({ type }) => type === "acked").length, before = acked();
  rig.cache.drain(new Set(["one"]));
  await rig.until("the one has taken it", () => acked() > before);
  assertEquals(rig.events.at(-1), {
    type: "acked",
    proxy: "one",
    gateway: "default/gw",
    id,
    version: listener.version,
  });
  assertEquals([two.resources.get(id), told], [listener, []]);
  const drains = () => isDraining(one);
  assertEquals(await drains(), true);
  const { responses } = rig.pushed;
  await rig.restartServer();
  await rig.until("it is back", () => rig.events.filter(({ type }) => type === "connected").length === 2);
  rig.events.splice(0, rig.events.findLastIndex(({ type }) => type === "connected"));
  await rig.synced("one");
  assertEquals([rig.pushed.responses, await drains()], [responses, true], "it is not sent what it has");
  rig.cache.drain(new Set());
  await until("it is as before", async () => !await drains());
});

Deno.test("a listener for a draining proxy takes one request for each connection; all else is the same", async () => {
  await using rig = await modelRig();
  rig.model.listener(80).routes(80, { "*": [route("a", { kind: "respond", status: 204 })] });
  rig.settle();
  const resources = rig.cache.resources("default/gw");
  const listener = resources.get("listener:default/gw/80")!, routes = resources.get("routes:default/gw/80")!;
  assertEquals(drainingOf(routes), routes);
  const draining = drainingOf(listener);
  assertEquals(drainingOf(listener), draining, "made once");
  assertEquals(versionOfDraining(draining.version), listener.version);
  assertEquals(versionOfDraining(listener.version), undefined);
  const read = ({ bytes: [bytes] }: typeof listener) => decode(Resource, bytes!);
  const before = JSON.stringify(read(listener)), after = JSON.stringify(read(draining));
  assertEquals(
    after.replace(`"version":"${draining.version}"`, `"version":"${listener.version}"`)
      .replace(',"max_requests_per_connection":1', ""),
    before,
  );
});
