/**
 * What an operator tells about itself, and to whom in what form.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { admin, probes, type Report } from "../../cli/admin.ts";
import type { Level } from "../../controllers/runtime/log.ts";
import { createMetrics } from "../../controllers/runtime/metrics.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";

function rig() {
  const clock = new FakeClock(), listeners = new Set<() => void>(), stop = new AbortController();
  const state = { awaited: ["routes"] as string[], sequence: 1, level: "info" as Level };
  const app = admin({
    metrics: createMetrics({ clock, version: "1.2.3" }),
    awaited: () => state.awaited,
    report: (): Report => ({
      version: "1.2.3",
      sequence: state.sequence,
      gateways: {},
      watches: {},
      failures: [],
    }),
    watch(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    clock,
    log: state,
  }, stop.signal);
  return { app, clock, state, listeners, stop, changed: () => listeners.forEach((listener) => listener()) };
}

Deno.test("probes: alive at once, ready when nothing is awaited", async () => {
  const { app, state } = rig();
  assertEquals((await app.request("/healthz")).status, 200);
  const waiting = await app.request("/readyz");
  assertEquals([waiting.status, await waiting.text()], [503, "waiting for routes\n"]);
  state.awaited = [];
  assertEquals((await app.request("/readyz")).status, 200);
  const metrics = await app.request("/metrics");
  assertStringIncludes(await metrics.text(), 'gatehouse_build_info{version="1.2.3"} 1');
});

Deno.test("probes: one that comes too early is answered as soon as there is an answer", async () => {
  const clock = new FakeClock(), ready = Promise.withResolvers<void>(), state = { awaited: ["routes"] };
  const metrics = createMetrics({ clock, version: "1.2.3" });
  const app = probes({ metrics, clock, ready: ready.promise, awaited: () => state.awaited });
  const early = app.request("/readyz");
  await settle();
  state.awaited = [];
  ready.resolve();
  assertEquals((await early).status, 200);
  // A kubelet waits no longer than a second; who asks is told what is missing before.
  const never = probes({ metrics, clock, ready: new Promise(() => {}), awaited: () => ["routes"] });
  const answer = Promise.resolve(never.request("/readyz"));
  let answered = false;
  void answer.then(() => answered = true);
  await clock.advance(799);
  assertEquals(answered, false);
  await clock.advance(1);
  assertEquals([(await answer).status, await (await answer).text()], [503, "waiting for routes\n"]);
  // What is ready no more says so at once.
  state.awaited = ["the end"];
  assertEquals((await app.request("/readyz")).status, 503);
});

Deno.test("the log level can be changed, to one that there is", async () => {
  const { app, state } = rig();
  const put = (body: string) => app.request("/log-level", { method: "PUT", body });
  assertEquals([(await put("debug\n")).status, state.level], [200, "debug"]);
  const wrong = await put("loud");
  assertEquals([wrong.status, state.level], [400, "debug"]);
  assertMatch(await wrong.text(), /expected one of debug, info, warn, error/);
});

Deno.test("a report has an entity tag, and is not sent to who has it", async () => {
  const { app, state } = rig();
  const first = await app.request("/report"), etag = first.headers.get("etag")!;
  assertEquals((await first.json()).version, "1.2.3");
  const again = () => app.request("/report", { headers: { "if-none-match": etag } });
  const same = await again();
  assertEquals([same.status, await same.text()], [304, ""]);
  state.sequence = 2;
  assertEquals((await again()).status, 200);
  assertEquals((await app.request("/report", { headers: { accept: "text/html" } })).status, 406);
});

Deno.test("a stream of reports tells one at once, then what changes, not more often than it should, until it ends", async () => {
  const { app, clock, state, listeners, stop, changed } = rig();
  const response = await app.request("/report", { headers: { accept: "text/event-stream" } });
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => JSON.parse((await reader.read()).value!.replace(/^data:/, "")).sequence;
  assertEquals(await next(), 1);
  state.sequence = 2;
  changed();
  state.sequence = 3;
  changed();
  await clock.advance(100);
  assertEquals(await next(), 3);
  changed();
  await clock.advance(100);
  state.sequence = 4;
  changed();
  await clock.advance(100);
  assertEquals(await next(), 4, "what says the same is left out");
  stop.abort();
  assertEquals((await reader.read()).done, true);
  assertEquals(listeners.size, 0);
});

Deno.test("who stops reading is told nothing more", async () => {
  const { app, listeners } = rig();
  const response = await app.request("/report", { headers: { accept: "text/event-stream" } });
  assertEquals(listeners.size, 1);
  await response.body!.cancel();
  await settle();
  assertEquals(listeners.size, 0);
});
