import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { watchEventLoop } from "../../controllers/runtime/event_loop.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createMetrics, type Metrics } from "../../controllers/runtime/metrics.ts";
import { Queue } from "../../controllers/runtime/queue.ts";
import { FakeClock } from "../support/fake_clock.ts";

function setUp(): { clock: FakeClock; metrics: Metrics; samples(): Promise<{ [line: string]: number }> } {
  const clock = new FakeClock(), metrics = createMetrics({ clock, version: "1.2.3" });
  return {
    clock,
    metrics,
    async samples() {
      const lines = (await metrics.render()).split("\n").filter((line) => line && !line.startsWith("#"));
      return Object.fromEntries(lines.map((line) => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }));
    },
  };
}

Deno.test("metrics: a queue counts as controller-runtime and client-go do", async () => {
  const { clock, metrics, samples } = setUp(), stop = new AbortController();
  const observer = metrics.queueObserver("status", 2);
  using queue = new Queue({ name: "status", clock, log: silentLog, observer });
  let failing = true;
  const running = queue.run(async (key) => {
    await clock.sleep(key === "slow" ? 4000 : 200);
    if (failing && key === "bad") throw new Error("no");
  }, { concurrency: 2, signal: stop.signal });
  for (const key of ["bad", "slow", "good"]) queue.add(key);
  await clock.advance(100);
  const before = await samples();
  assertEquals(before['workqueue_depth{name="status",controller="status"}'], 1);
  assertEquals(before['controller_runtime_active_workers{controller="status"}'], 2);
  assertEquals(before['controller_runtime_max_concurrent_reconciles{controller="status"}'], 2);
  assertEquals(before['workqueue_unfinished_work_seconds{name="status",controller="status"}'], 0.2);
  assertEquals(before['workqueue_longest_running_processor_seconds{name="status",controller="status"}'], 0.1);
  await clock.advance(100);
  failing = false;
  await clock.advance(10_000);
  stop.abort();
  await running;
  const after = await samples();
  assertEquals(after['controller_runtime_reconcile_total{controller="status",result="success"}'], 3);
  assertEquals(after['controller_runtime_reconcile_total{controller="status",result="error"}'], 1);
  assertEquals(after['controller_runtime_reconcile_errors_total{controller="status"}'], 1);
  assertEquals(after['controller_runtime_reconcile_time_seconds_count{controller="status"}'], 4);
  assertEquals(
    after['controller_runtime_reconcile_time_seconds_sum{controller="status"}'],
    0.2 + 0.2 + 0.2 + 4,
  );
  assertEquals(after['workqueue_adds_total{name="status",controller="status"}'], 4);
  assertEquals(after['workqueue_retries_total{name="status",controller="status"}'], 1);
  assertEquals(after['workqueue_depth{name="status",controller="status"}'], 0);
  assertEquals(after['workqueue_queue_duration_seconds_count{name="status",controller="status"}'], 4);
  assertEquals(after['workqueue_unfinished_work_seconds{name="status",controller="status"}'], 0);
});

Deno.test("metrics: the graph's work, sizes and failures", async () => {
  const { metrics, samples } = setUp();
  let time = 0;
  const graph = new Graph({ clock: { monotonic: () => time } }), numbers = graph.source<number>("numbers");
  graph.derive("odd", numbers, (n) => {
    time += 3;
    if (n % 2 === 0) throw new Error("even");
    return n;
  });
  metrics.watchTables(graph);
  for (let i = 0; i < 5; i++) numbers.set(`${i}`, i);
  metrics.settled(graph.settle());
  const seen = await samples();
  assertEquals(seen['gatehouse_table_rows{table="numbers"}'], 5);
  assertEquals(seen['gatehouse_table_rows{table="odd"}'], 2);
  assertEquals(seen['gatehouse_failed_rows{table="odd"}'], 3);
  assertEquals(seen['gatehouse_row_failures_total{table="odd"}'], 3);
  assertEquals(seen.gatehouse_rows_recomputed_total, 5);
  assertEquals(seen.gatehouse_rows_written_total, 7);
  assertEquals(seen.gatehouse_settle_duration_seconds_sum, 0.015);
});

Deno.test("metrics: the xDS server and the watches", async () => {
  const { metrics, samples } = setUp();
  metrics.xds.stream(1);
  metrics.xds.stream(1);
  metrics.xds.stream(-1);
  metrics.xds.pushed("routes", 1, 0, 700);
  metrics.xds.pushed("routes", 1, 0, 7);
  metrics.xds.acked("routes:default/web/80", 250);
  metrics.xds.nacked("listener:http");
  metrics.watchState("Gateway", "watching");
  metrics.watchState("HTTPRoute", "failing");
  metrics.watchState("TLSRoute", "failing");
  metrics.watchState("TLSRoute", "absent");
  const seen = await samples();
  assertEquals(seen.gatehouse_xds_streams, 1);
  assertEquals(seen['gatehouse_xds_pushes_total{type="routes"}'], 2);
  assertEquals(seen['gatehouse_xds_sent_bytes_total{type="routes"}'], 707);
  assertEquals(seen['gatehouse_xds_ack_seconds_sum{type="routes"}'], 0.25);
  assertEquals(seen['gatehouse_xds_nacks_total{type="listener"}'], 1);
  assertEquals(seen['gatehouse_watch_up{kind="Gateway"}'], 1);
  assertEquals(seen['gatehouse_watch_up{kind="HTTPRoute"}'], 0);
  assertEquals(seen['gatehouse_watch_up{kind="TLSRoute"}'], undefined, "not installed, so nothing is wrong");
  assertEquals(seen['gatehouse_watch_breaks_total{kind="HTTPRoute",reason="failing"}'], 1);
});

Deno.test("metrics: two processes in one do not share a registry, and every metric is explained", async () => {
  const one = setUp(), other = setUp();
  one.metrics.reconciles.inc({ controller: "a", result: "success" });
  assertEquals(
    (await other.samples())['controller_runtime_reconcile_total{controller="a",result="success"}'],
    undefined,
  );
  const text = await one.metrics.render();
  assertMatch(text, /^gatehouse_build_info\{version="1\.2\.3"\} 1$/m);
  const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  assert(names.length > 30, `${names.length}`);
  for (const [, name, type] of names) {
    assertMatch(text, new RegExp(`^# HELP ${name} \\S.*\\S$`, "m"));
    assertMatch(
      name!,
      /^(controller_runtime|workqueue|gatehouse|process)_[a-z_]+$/,
    );
    assertEquals(name!.endsWith("_total"), type === "counter", name);
  }
  assert((await one.samples()).process_resident_memory_bytes! > 10_000_000);
  assert((await one.samples()).process_cpu_seconds_total! > 0);
});

Deno.test("event loop: lag is what a timer comes late", async () => {
  const clock = new FakeClock(), lags: number[] = [], stop = new AbortController();
  let busy = 0;
  // A thread that is busy when the timer is due.
  const slow = { ...clock, monotonic: () => clock.monotonic() + busy, sleep: clock.sleep.bind(clock) };
  const watching = watchEventLoop({
    clock: { ...slow, now: () => clock.now(), timer: clock.timer.bind(clock), turn: clock.turn.bind(clock) },
    observe: (lag) => lags.push(lag),
    signal: stop.signal,
  });
  await clock.advance(1000);
  busy += 70;
  await clock.advance(1000);
  assertEquals(lags, [0, 0, 70, 0]);
  stop.abort(new Error("stop"));
  await assertRejects(() => watching, Error, "stop");
  assertEquals(clock.pending, 0);
});
