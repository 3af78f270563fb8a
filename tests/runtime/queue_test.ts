import { assert, assertEquals } from "@std/assert";
import { silentLog } from "../../controllers/runtime/log.ts";
import { type AddOptions, priority, Queue, type QueueObserver } from "../../controllers/runtime/queue.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { random } from "../support/random.ts";

function setUp(observer?: QueueObserver) {
  const clock = new FakeClock();
  const queue = new Queue({ name: "test", clock, log: silentLog, ...(observer ? { observer } : {}) });
  const stop = new AbortController();
  return { clock, queue, stop, signal: stop.signal };
}

/** A worker whose work ends when the test says so. */
class Bench {
  readonly started: string[] = [];
  readonly #ends = new Map<string, PromiseWithResolvers<void>>();
  readonly work = (key: string): Promise<void> => {
    assert(!this.#ends.has(key), `two workers on ${key}`);
    this.started.push(key);
    const end = Promise.withResolvers<void>();
    this.#ends.set(key, end);
    return end.promise.finally(() => this.#ends.delete(key));
  };
  async finish(key: string, error?: Error): Promise<void> {
    const end = this.#ends.get(key);
    assert(end, `nobody works on ${key}`);
    if (error) end.reject(error);
    else end.resolve();
    await settle();
  }
}

Deno.test("queue: first in, first out; a key queued twice is worked on once", async () => {
  const { queue, signal } = setUp(), order: string[] = [];
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  assertEquals(queue.depth, 3);
  queue.close();
  await queue.run((key) => Promise.resolve(void order.push(key)), { signal });
  assertEquals(order, ["a", "b", "c"]);
});

Deno.test("queue: a key queued while it is worked on runs again afterwards, on one worker at a time", async () => {
  using queue = setUp().queue;
  const stop = new AbortController(), bench = new Bench();
  const running = queue.run(bench.work, { concurrency: 3, signal: stop.signal });
  queue.add("a");
  await settle();
  queue.add("a");
  queue.add("a");
  queue.add("b");
  await settle();
  assertEquals([bench.started, queue.depth], [["a", "b"], 0]);
  await bench.finish("a");
  assertEquals(bench.started, ["a", "b", "a"]);
  await bench.finish("a");
  assertEquals(bench.started.length, 3);
  await bench.finish("b");
  await queue.idle();
  stop.abort();
  await running;
});

Deno.test("queue: failures wait 5 ms, doubling up to 30 s, and start over after a success", async () => {
  const { clock, queue, stop, signal } = setUp(), at: number[] = [];
  let failing = true;
  const running = queue.run(() => {
    at.push(clock.monotonic());
    return failing ? Promise.reject(new Error("no")) : Promise.resolve();
  }, { signal });
  queue.add("a");
  await clock.advance(200_000);
  const gaps = at.slice(1).map((time, i) => time - at[i]!);
  assertEquals(gaps.slice(0, 15), [
    ...[5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480],
    ...[30_000, 30_000],
  ]);
  assertEquals(queue.failures("a"), at.length);
  failing = false;
  await clock.advance(30_000);
  assertEquals([queue.failures("a"), queue.waiting, clock.pending], [0, 0, 0]);
  failing = true;
  at.length = 0;
  queue.add("a");
  await clock.advance(5);
  assertEquals(at.length, 2);
  assertEquals(at[1]! - at[0]!, 5);
  stop.abort();
  await running;
  queue.close();
  assertEquals(clock.pending, 0);
});

Deno.test("queue: a failing key holds up no other, and a change does not wait for its turn", async () => {
  const { clock, queue, stop, signal } = setUp(), order: string[] = [];
  const running = queue.run((key) => {
    order.push(key);
    return key === "bad" ? Promise.reject(new Error("no")) : Promise.resolve();
  }, { signal });
  queue.add("bad");
  for (let i = 0; i < 10; i++) await clock.advance(clock.next ?? 0);
  order.length = 0;
  queue.add("good");
  queue.add("bad");
  await settle();
  assertEquals(order, ["good", "bad"]);
  assertEquals(clock.next, 5 * 2 ** 10, "still counted as failing");
  stop.abort();
  await running;
  queue.close();
});

Deno.test("queue: a delay ends at the earliest of the times asked for", async () => {
  const { clock, queue, stop, signal } = setUp(), at: number[] = [];
  const running = queue.run(() => Promise.resolve(void at.push(clock.monotonic())), { signal });
  queue.add("a", { after: 100 });
  queue.add("a", { after: 50 });
  queue.add("a", { after: 70 });
  await clock.advance(49);
  assertEquals(at, []);
  await clock.advance(1000);
  assertEquals(at, [50]);
  queue.add("a", { after: 100 });
  queue.add("a");
  await clock.advance(1000);
  assertEquals(at, [50, 1049]);
  stop.abort();
  await running;
});

Deno.test("queue: a worker may ask for its key again later", async () => {
  const { clock, queue, stop, signal } = setUp(), at: number[] = [];
  const running = queue.run((_key) => {
    at.push(clock.monotonic());
    return Promise.resolve(at.length < 3 ? { requeueAfter: 1000 } : undefined);
  }, { signal });
  queue.add("a");
  await clock.advance(10_000);
  assertEquals(at, [0, 1000, 2000]);
  stop.abort();
  await running;
});

Deno.test("queue: higher priorities go first; a key keeps its place and gets the highest of its priorities", async () => {
  const { queue, signal } = setUp(), order: string[] = [];
  for (const key of ["old1", "old2", "old3"]) queue.add(key, { priority: priority.resync });
  queue.add("live1");
  queue.add("old3");
  queue.add("old2", { priority: 10 });
  queue.add("live1", { priority: priority.resync });
  queue.add("waiting", { priority: 20, after: 5 });
  queue.add("waiting");
  queue.close();
  await queue.run((key) => Promise.resolve(void order.push(key)), { signal });
  assertEquals(order, ["waiting", "old2", "live1", "old3", "old1"]);
});

Deno.test("queue: a retry and a delayed key keep their priority", async () => {
  const { clock, queue, stop, signal } = setUp(), order: string[] = [], bench = new Bench();
  queue.add("low", { priority: priority.resync });
  queue.add("late", { priority: 5, after: 5 });
  const failing = new AbortController();
  const first = queue.run(() => Promise.reject(new Error("no")), { signal: failing.signal });
  await settle();
  failing.abort();
  await first;
  await clock.advance(5);
  queue.add("live");
  const running = queue.run((key) => {
    order.push(key);
    return bench.work(key);
  }, { signal });
  for (const key of ["late", "live", "low"]) {
    await settle();
    await bench.finish(key);
  }
  assertEquals(order, ["late", "live", "low"]);
  stop.abort();
  await running;
});

Deno.test("queue: closing lets the workers finish what is queued and drops what waits", async () => {
  const { clock, queue, signal } = setUp(), bench = new Bench();
  const running = queue.run(bench.work, { signal });
  queue.add("a");
  queue.add("b");
  queue.add("later", { after: 10 });
  await settle();
  queue.add("a");
  queue.close();
  queue.add("c");
  assertEquals([queue.waiting, clock.pending], [0, 0]);
  await bench.finish("a");
  await bench.finish("b", new Error("not retried any more"));
  await bench.finish("a");
  await running;
  assertEquals(bench.started, ["a", "b", "a"]);
});

Deno.test("queue: an abort lets begun work end, loses nothing, and the queue can be run again", async () => {
  const { queue, stop, signal } = setUp(), seen: string[] = [];
  const work = (key: string, signal: AbortSignal) =>
    new Promise<void>((_, reject) => {
      seen.push(key);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const running = queue.run(work, { signal });
  queue.add("a");
  queue.add("b");
  await settle();
  stop.abort();
  await running;
  assertEquals([seen, queue.depth, queue.failures("a")], [["a"], 2, 0]);
  queue.close();
  await queue.run((key) => Promise.resolve(void seen.push(key)), { signal: new AbortController().signal });
  assertEquals(seen, ["a", "b", "a"]);
});

Deno.test("queue: a deleted key is forgotten", async () => {
  const { clock, queue, signal } = setUp(), order: string[] = [];
  queue.add("a");
  queue.add("b");
  queue.add("c", { after: 5 });
  queue.delete("a");
  queue.delete("c");
  assertEquals([queue.depth, queue.waiting, clock.pending], [1, 0, 0]);
  queue.close();
  await queue.run((key) => Promise.resolve(void order.push(key)), { signal });
  assertEquals(order, ["b"]);
});

Deno.test("queue: what was in vain waits as long as it asks for, then longer each time, until it is not", async () => {
  const { clock, queue, stop, signal } = setUp(), at: number[] = [];
  const running = queue.run(() => {
    at.push(clock.monotonic());
    return Promise.resolve(at.length < 9 ? { requeueAfter: 100, failed: true } as const : undefined);
  }, { signal });
  queue.add("a");
  await clock.advance(10_000);
  const waits = at.slice(1).map((time, i) => time - at[i]!);
  assertEquals(waits, [100, 100, 100, 100, 100, 160, 320, 640]);
  assertEquals(queue.failures("a"), 0);
  stop.abort();
  await running;
});

Deno.test("queue: the observer hears of everything", async () => {
  const heard: string[] = [];
  const { clock, queue, stop, signal } = setUp({
    added: () => heard.push("added"),
    depth: (depth) => heard.push(`depth ${depth}`),
    started: (key, waited) => heard.push(`${key} waited ${waited}`),
    ended: (key, worked, outcome) => heard.push(`${key} worked ${worked}: ${outcome}`),
    retried: () => heard.push("retried"),
  });
  let runs = 0;
  queue.add("a");
  queue.add("a");
  await clock.advance(3);
  const running = queue.run(async () => {
    await clock.sleep(7);
    if (runs++ === 0) throw new Error("no");
    if (runs === 2) return { requeueAfter: 100 };
  }, { signal });
  await clock.advance(1000);
  assertEquals(heard, [
    ...["depth 1", "added", "depth 0", "a waited 3", "a worked 7: error", "retried"],
    ...["depth 1", "added", "depth 0", "a waited 0", "a worked 7: requeue_after"],
    ...["depth 1", "added", "depth 0", "a waited 0", "a worked 7: success"],
  ]);
  stop.abort();
  await running;
});

Deno.test("queue: whatever happens, no key is lost, none is worked on by two", async () => {
  let runs = 0, failures = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const rnd = random(seed), { clock, queue, stop, signal } = setUp(), busy = new Set<string>();
    /** Versions as they are wanted, and as the last successful work saw them when it began. */
    const wanted = new Map<string, number>(), done = new Map<string, number>();
    const running = queue.run(async (key) => {
      assert(!busy.has(key));
      busy.add(key);
      const version = wanted.get(key)!;
      await clock.sleep(rnd.int(20));
      busy.delete(key);
      runs++;
      if (rnd.oneIn(4)) {
        failures++;
        throw new Error("no");
      }
      done.set(key, version);
    }, { concurrency: 3, signal });
    for (let step = 0; step < 40; step++) {
      const key = `k${rnd.int(5)}`;
      wanted.set(key, step);
      const options: AddOptions = { priority: rnd.int(3), ...(rnd.oneIn(2) ? { after: rnd.int(30) } : {}) };
      queue.add(key, options);
      if (rnd.oneIn(2)) await clock.advance(rnd.int(10));
    }
    for (let i = 0; queue.depth + queue.waiting + busy.size > 0; i++) {
      assert(i < 1000);
      await clock.advance(clock.next ?? 0);
    }
    assertEquals(done, wanted, `seed ${seed}`);
    stop.abort();
    await running;
  }
  assert(runs > 1000 && failures > 200, `vacuous: ${runs} ${failures}`);
});
