/**
 * Streams over time: who is served, what wakes them, what ends them.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import type { Table } from "../../controllers/runtime/graph.ts";
import { XdsCache } from "../../xds/cache.ts";
import { RefusedError, serve, type ServeOptions } from "../../xds/delta/serve.ts";
import type { DeltaResponse } from "../../xds/delta/stream.ts";
import { type ProxyEvent, resourceKey, type XdsResource } from "../../xds/types.ts";
import type { DeltaDiscoveryRequest } from "../../xds/wire/envoy/discovery.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { Channel } from "./support/channel.ts";
import { ack, nack, request, resource } from "./support/fake_envoy.ts";

/** A table which says that all its rows have changed, as after a settle. */
function changed(...rows: readonly XdsResource[]): Table<XdsResource> {
  const map = new Map(rows.map((row) => [resourceKey(row.gateway, row.id), row]));
  return {
    name: "resources",
    size: map.size,
    get: (key) => map.get(key),
    entries: () => map.entries(),
    changed: new Set(map.keys()),
    failures: new Map(),
  };
}

/** Opens a stream and collects what comes out of it. */
function open(options: Partial<ServeOptions> = {}, cache = new XdsCache()) {
  const clock = new FakeClock(), requests = new Channel<DeltaDiscoveryRequest>();
  const abort = new AbortController(), events: ProxyEvent[] = [], responses: DeltaResponse[] = [];
  const run = async () => {
    const stream = serve(requests, cache, {
      clock,
      allows: () => true,
      onEvent: (event) => events.push(event),
      signal: abort.signal,
      ...options,
    });
    for await (const response of stream) responses.push(response);
  };
  return { clock, cache, requests, abort, events, responses, ended: run() };
}

Deno.test("a stream is woken by requests and by changes, and reports what the proxy says", async () => {
  const { cache, requests, responses, events, ended } = open();
  const version = { major_number: 1, minor_number: 40, patch: 2 };
  const node = {
    id: "proxy",
    cluster: "default/gw",
    user_agent_name: "envoy",
    user_agent_build_version: { version },
  };
  requests.send({ ...request("cluster"), node });
  await settle();
  assertEquals(responses.length, 1);
  requests.send(ack(responses[0]!));
  cache.update(
    changed(resource("cluster:a", "1"), { ...resource("cluster:b", "1"), gateway: "default/other" }),
  );
  await settle();
  assertEquals(responses[1]?.resources.map(({ name }) => name), ["a"]);
  requests.send(ack(responses[1]!));
  await settle();
  requests.end();
  await ended;
  const identity = { proxy: "proxy", gateway: "default/gw" };
  assertEquals<readonly ProxyEvent[]>(events, [
    { type: "connected", ...identity, software: "envoy 1.40.2" },
    { type: "acked", ...identity, id: "cluster:a", version: "1" },
    { type: "disconnected", ...identity },
  ]);
  cache.update(changed(resource("cluster:c", "1")));
  assertEquals(cache.resources("default/gw").size, 2);
});

Deno.test("a proxy that may not be served is refused, and no word is said about it", async () => {
  const { requests, events, ended } = open({ allows: ({ gateway }) => gateway === "default/other" });
  requests.send(request("cluster"));
  const error = await assertRejects(() => ended, RefusedError);
  assertEquals(error.code, "PERMISSION_DENIED");
  assertEquals(events, []);
});

Deno.test("a proxy that does not say who it is, is refused", async () => {
  const { requests, ended } = open();
  requests.send({ ...request("cluster"), node: { id: "proxy" } });
  assertEquals((await assertRejects(() => ended, RefusedError)).code, "INVALID_ARGUMENT");
});

Deno.test("a stream ends with its lifetime, with the signal, with its requests, and with their failure", async () => {
  const aging = open({ lifetime: 1_000 });
  aging.requests.send(request("cluster"));
  await aging.clock.advance(999);
  assertEquals(aging.events.length, 1);
  await aging.clock.advance(1);
  await aging.ended;
  assertEquals(aging.events.map(({ type }) => type), ["connected", "disconnected"]);
  assertEquals(aging.clock.pending, 0);

  const aborted = open();
  aborted.requests.send(request("cluster"));
  await settle();
  aborted.abort.abort();
  await aborted.ended;
  assertEquals(aborted.events.at(-1)?.type, "disconnected");

  const silent = open();
  silent.abort.abort();
  await silent.ended;
  assertEquals(silent.events, []);

  const failed = open();
  failed.requests.send(request("cluster"));
  await settle();
  failed.requests.end(new Error("connection reset"));
  await assertRejects(() => failed.ended, Error, "connection reset");
  assertEquals(failed.events.at(-1)?.type, "disconnected");
});

Deno.test("that a proxy drains is its own affair: it is told to have what others have, and its refusal is nobody's fault", async () => {
  const { cache, requests, responses, events, abort, ended } = open();
  cache.update(changed(resource("listener:a", "1"), resource("cluster:c", "1")));
  requests.send({ ...request("listener"), node: { id: "proxy", cluster: "default/gw" } });
  await settle();
  requests.send(ack(responses[0]!));
  await settle();
  const told = () =>
    events.map((event) => "id" in event ? `${event.type} ${event.id} ${event.version}` : event.type);
  assertEquals(told(), ["connected", "listed", "acked listener:a 1"]);
  cache.drain(new Set(["another"]));
  await settle();
  assertEquals(responses.length, 1);
  cache.drain(new Set(["another", "proxy"]));
  await settle();
  const variant = responses[1]!.resources[0]!;
  assertEquals([responses[1]!.resources.length, variant.name, variant.version === "1"], [1, "a", false]);
  requests.send(nack(responses[1]!, "no"));
  await settle();
  assertEquals(told(), ["connected", "listed", "acked listener:a 1"]);
  cache.update(changed(resource("listener:a", "2")));
  await settle();
  requests.send(ack(responses[2]!));
  await settle();
  assertEquals(told(), ["connected", "listed", "acked listener:a 1", "acked listener:a 2"]);
  cache.drain(new Set());
  await settle();
  assertEquals(responses[3]!.resources.map(({ version }) => version), ["2"]);
  abort.abort();
  await ended;
});

Deno.test("waiting ends by the clock, with nothing else happening", async () => {
  const patience = { dependency: 100, removal: 200, acknowledgement: 10_000 };
  const { cache, clock, requests, responses, abort, ended } = open({ patience });
  cache.update(changed(resource("cluster:stuck", "1"), resource("routes:r", "1", ["cluster:stuck"])));
  requests.send(request("cluster", { initial_resource_versions: { x: "1" } }));
  requests.send(request("routes", { resource_names_subscribe: ["r"] }));
  await settle();
  assertEquals(responses.map(({ type }) => type), ["cluster", "cluster"]);
  await clock.advance(99);
  assertEquals(responses.length, 2);
  await clock.advance(1);
  assertEquals(responses[2]?.type, "routes");
  abort.abort();
  await ended;
  assertEquals(clock.pending, 0);
});

Deno.test("no proxy is answered before the first configuration is complete", async () => {
  const complete = Promise.withResolvers<void>();
  const { cache, requests, responses, abort, events, ended } = open({}, new XdsCache(() => complete.promise));
  const node = { id: "proxy", cluster: "default/gw" };
  requests.send({ ...request("cluster"), node, initial_resource_versions: { a: "1" } });
  await settle();
  assertEquals([responses, events], [[], []], "what it has is not taken away");
  cache.update(changed(resource("cluster:a", "1"), resource("cluster:b", "1")));
  complete.resolve();
  await settle();
  assertEquals(responses.flatMap(({ resources }) => resources.map(({ name }) => name)), ["b"]);
  assertEquals(responses.flatMap(({ removed }) => removed), []);
  abort.abort();
  await ended;
});

Deno.test("a proxy that waits for the first configuration is let go when the server stops", async () => {
  const { requests, abort, ended } = open({}, new XdsCache(() => Promise.withResolvers<void>().promise));
  requests.send({ ...request("cluster"), node: { id: "proxy", cluster: "default/gw" } });
  await settle();
  abort.abort();
  await ended;
});
