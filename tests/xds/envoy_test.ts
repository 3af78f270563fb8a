/**
 * How a real Envoy takes what it is sent: nothing is lost on the way, nothing is sent twice.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { Agent } from "node:http";
import { ask, backend, type Echo, load } from "./support/http.ts";
import { forward, match, route } from "./support/ir.ts";
import { modelRig } from "./support/rig.ts";
import { freePort } from "../support/free_port.ts";

Deno.test("twenty swaps of clusters under load lose not one request", async () => {
  await using rig = await modelRig();
  await using web = backend("web");
  const port = freePort();
  const name = (i: number) => `ns/web-${i}/80`;
  rig.model.listener(port).cluster(name(0), [web.port])
    .routes(port, { "www.example.com": [route("web", forward(name(0)))] });
  rig.settle();
  await rig.envoy();
  await rig.synced();

  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  await using traffic = load(4, () => ask(port, "/", { agent }));
  for (let i = 1; i <= 20; i++) {
    rig.model.cluster(name(i), [web.port]).removeCluster(name(i - 1))
      .routes(port, { "www.example.com": [route("web", forward(name(i)))] });
    rig.settle();
    await rig.synced();
    await traffic.more(10);
  }
  await traffic.stop();
  agent.destroy();
  assertEquals([...traffic.counts.keys()], [200]);
});

Deno.test("a stream that is opened anew, to this server or another, is sent nothing; then changes as before", async () => {
  await using rig = await modelRig();
  await using web = backend("web");
  const port = freePort();
  rig.model.listener(port).cluster("ns/web/80", [web.port])
    .routes(port, { "www.example.com": [route("web", forward("ns/web/80"))] });
  rig.settle();
  await rig.envoy();
  await rig.synced();
  const { responses } = rig.pushed;
  const connections = () => rig.events.filter(({ type }) => type === "connected").length;
  await rig.restartServer();
  await rig.until("the proxy is back", () => connections() === 2);
  rig.events.splice(0, rig.events.findLastIndex(({ type }) => type === "connected"));
  await rig.synced();
  assertEquals(rig.pushed.responses, responses);
  assertEquals((await ask(port, "/")).status, 200);
  rig.model.routes(port, { "www.example.com": [route("web", { kind: "respond", status: 204 })] });
  rig.settle();
  await rig.synced();
  assertEquals((await ask(port, "/")).status, 204);
  assertEquals(rig.pushed.responses, responses + 1);
});

Deno.test("a cluster that changes goes on serving while it does", async () => {
  await using rig = await modelRig();
  await using web = backend("web");
  const port = freePort();
  rig.model.listener(port).cluster("ns/web/80", [web.port])
    .routes(port, { "www.example.com": [route("web", forward("ns/web/80"))] });
  rig.settle();
  const envoy = await rig.envoy();
  await rig.synced();
  for (const protocol of ["h2c", "http1", "h2c", "http1"] as const) {
    rig.model.cluster("ns/web/80", [web.port], protocol);
    rig.settle();
    await rig.synced();
    assertEquals((await ask(port, "/")).status, 200, protocol);
  }
  assertMatch(await envoy.admin("/stats?filter=warming_clusters"), /warming_clusters: 0/);
});

Deno.test("draining endpoints get traffic only when there are no others", async () => {
  await using rig = await modelRig();
  await using a = backend("a");
  await using b = backend("b");
  const port = freePort();
  const endpoints = (draining: readonly boolean[]) => {
    rig.ir.endpoints.set("ns/web/80", {
      cluster: "ns/web/80",
      localities: [{
        zone: "z",
        endpoints: [a, b].map((one, i) => ({ address: "127.0.0.1", port: one.port, draining: draining[i]! })),
      }],
    });
    rig.settle();
    return rig.synced();
  };
  rig.model.listener(port).cluster("ns/web/80", [])
    .routes(port, { "www.example.com": [route("web", forward("ns/web/80"))] });
  rig.settle();
  await rig.envoy();
  const answering = async () => {
    const names = new Set<string>();
    for (let i = 0; i < 20; i++) names.add((JSON.parse((await ask(port, "/")).body) as Echo).backend);
    return [...names].sort().join();
  };
  await endpoints([false, false]);
  assertEquals(await answering(), "a,b");
  await endpoints([true, false]);
  assertEquals(await answering(), "b");
  await endpoints([true, true]);
  assertEquals(await answering(), "a,b");
});

Deno.test("proxies of two Gateways get what is theirs, and one that is not asked for is refused", async () => {
  await using rig = await modelRig();
  const port = freePort(), other = freePort();
  rig.model.listener(port).routes(port, { "*": [route("one", { kind: "respond", status: 201 })] });
  const name = `default/other/${other}`;
  rig.ir.listeners.set(name, {
    gateway: "default/other",
    name,
    addresses: ["127.0.0.1"],
    port: other,
    protocol: "http",
    routes: name,
  });
  rig.ir.virtualHosts.set(`${name}/*`, {
    routes: name,
    hostname: "*",
    entries: [route("two", { kind: "respond", status: 202 })],
  });
  rig.ir.routeTables.set(name, { gateway: "default/other", name });
  rig.settle();
  const first = await rig.envoy("one");
  await rig.envoy("two", "default/other");
  await rig.synced("one");
  await rig.synced("two", "default/other");
  assertEquals([(await ask(port, "/")).status, (await ask(other, "/")).status], [201, 202]);
  const dump = await first.admin("/config_dump");
  assertEquals([dump.includes(`default/gw/${port}`), dump.includes("default/other")], [true, false]);
});

Deno.test("a listener that Envoy cannot have leaves the others alone and is told", async () => {
  await using rig = await modelRig();
  const good = freePort();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  rig.model.listener(good).routes(good, { "*": [route("a", { kind: "respond", status: 204 })] })
    .listener(taken.addr.port).routes(taken.addr.port, {});
  rig.settle();
  await rig.envoy();
  const id = `listener:default/gw/${taken.addr.port}`;
  await rig.until(
    "the listener is refused",
    () => rig.events.some((event) => event.type === "nacked" && event.id === id),
  );
  const refusal = rig.events.find((event) => event.type === "nacked");
  assertMatch(
    refusal?.type === "nacked" ? refusal.message : "",
    /cannot bind '127.0.0.1:\d+': Address already in use/,
  );
  await rig.until(
    "the other is there",
    () => rig.events.some((event) => event.type === "acked" && event.id === `routes:default/gw/${good}`),
  );
  assertEquals((await ask(good, "/")).status, 204);
});

Deno.test("WebSockets pass", async () => {
  await using rig = await modelRig();
  const port = freePort();
  const upgraded = Promise.withResolvers<string>();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => socket.send(`echo ${data}`);
    return response;
  });
  rig.model.listener(port).cluster("ns/ws/80", [server.addr.port])
    .routes(port, { "*": [route("ws", forward("ns/ws/80"), { match: match("/ws") })] });
  rig.settle();
  await rig.envoy();
  await rig.synced();
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  const closed = Promise.withResolvers<void>();
  socket.onopen = () => socket.send("hello");
  socket.onmessage = ({ data }) => upgraded.resolve(data);
  socket.onerror = (event) => upgraded.reject(new Error((event as ErrorEvent).message));
  socket.onclose = () => {
    upgraded.reject(new Error("Closed before anything came back"));
    closed.resolve();
  };
  assertEquals(await upgraded.promise, "echo hello");
  socket.close();
  await closed.promise;
});

Deno.test("an Envoy that starts, or gets another port, answers nothing before it can answer right", async () => {
  await using rig = await modelRig();
  await using web = backend("web");
  const ports = [freePort(), freePort()];
  const name = (i: number) => `ns/web-${i}/80`;
  const open = (port: number) => {
    rig.model.listener(port).routes(
      port,
      Object.fromEntries(
        Array.from({ length: 300 }, (_, i) => [`h${i}.example.com`, [route("r", forward(name(i)))]]),
      ),
    );
    rig.settle();
  };
  for (let i = 0; i < 300; i++) rig.model.cluster(name(i), [web.port]);
  open(ports[0]!);
  // Nobody listens at first.
  await using traffic = load(
    2,
    (turn) => ask(ports[turn % 2]!, "/", { host: `h${(turn >> 1) % 300}.example.com` }),
  );
  await rig.envoy();
  await rig.synced();
  open(ports[1]!);
  await rig.synced();
  for (const port of ports) assertEquals((await ask(port, "/", { host: "h299.example.com" })).status, 200);
  await traffic.more(2);
  await traffic.stop();
  assertEquals([...traffic.counts.keys()], [200]);
});
