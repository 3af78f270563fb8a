/**
 * The loop: settles in pieces that let others have the thread, and hands over once all of it is through.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Loop } from "../../controllers/loop.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import type { ApiObject } from "../../crds/kind.ts";
import type { WatchEvent } from "../../kube/types.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** A clock on which work takes time. */
class WorkClock extends FakeClock {
  #worked = 0;
  /** How long each timer held up the thread. */
  readonly held: number[] = [];

  override monotonic(): number {
    return super.monotonic() + this.#worked;
  }

  /** Time but for work. */
  get elapsed(): number {
    return super.monotonic();
  }

  override timer(ms: number, run: () => void): Disposable {
    return super.timer(ms, () => {
      const start = this.monotonic();
      run();
      this.held.push(this.monotonic() - start);
    });
  }

  work(ms: number): void {
    this.#worked += ms;
  }
}

Deno.test("loop: nothing holds up the thread for more than 6 ms and a row, and nobody is told before all is through", async () => {
  const clock = new WorkClock(), graph = new Graph({ clock });
  const numbers = graph.source<number>("numbers");
  const doubles = graph.derive("doubles", numbers, (n) => {
    clock.work(3);
    return 2 * n;
  });
  const settled: (readonly [changed: number, milliseconds: number])[] = [], took: number[] = [];
  const loop = new Loop({
    graph,
    clock,
    log: silentLog,
    settled({ milliseconds }) {
      settled.push([doubles.changed.size, milliseconds]);
      return [];
    },
    measured: (milliseconds) => took.push(milliseconds),
  });
  for (let i = 0; i < 100; i++) numbers.set(`${i}`, i);
  loop.changed();
  clock.timer(0, () => numbers.set("late", 1)); // Between the first two pieces.
  await clock.advance(100);
  // Three turns in which nobody wants the thread, and with the fourth the next piece.
  assertEquals(clock.held, [6, 0, ...Array.from({ length: 49 }, () => [0, 0, 0, 6]).flat(), 0, 0, 0, 3]);
  assertEquals(settled, [[100, 300], [1, 3]]);
  assertEquals(took, [303]);
  assertEquals([doubles.size, doubles.get("late")], [101, 2]);
  await loop.idle();
});

Deno.test("loop: hands over in steps, others have the thread in between, and what changes then is settled afterwards", async () => {
  const clock = new WorkClock(), graph = new Graph({ clock });
  const numbers = graph.source<number>("numbers");
  const doubles = graph.derive("doubles", numbers, (n) => 2 * n);
  const seen: string[] = [];
  const loop = new Loop({
    graph,
    clock,
    log: silentLog,
    *settled() {
      const changed = [...doubles.changed];
      for (let step = 0; step < 9; step++) {
        clock.work(4);
        // Nothing has settled meanwhile.
        assertEquals([...doubles.changed], changed);
        yield;
      }
      seen.push(changed.join());
    },
  });
  numbers.set("first", 1);
  loop.changed();
  clock.timer(1, () => {
    assertEquals(seen, []);
    numbers.set("meanwhile", 2);
    loop.changed();
  });
  const ready = loop.current().then(() => seen.push("ready"));
  await clock.advance(100);
  await ready;
  assertEquals(seen, ["first", "meanwhile", "ready"]);
  assertEquals(clock.held.filter((ms) => ms > 0), Array(9).fill(8));
  numbers.set("later", 3);
  loop.changed();
  const current = loop.current().then(() => seen.push("current"));
  await clock.advance(200);
  await current;
  assertEquals(seen.slice(3), ["later", "current"]);
  await loop.current();
});

Deno.test("loop: goes on once others have had the thread and wanted it no more, but does not wait for that for ever", async () => {
  const clock = new WorkClock(), graph = new Graph({ clock });
  const numbers = graph.source<number>("numbers");
  const begun: number[] = [];
  graph.derive("doubles", numbers, (n) => {
    begun.push(clock.elapsed);
    clock.work(30);
    return 2 * n;
  });
  const loop = new Loop({ graph, clock, log: silentLog, settled: () => [] });
  for (const key of ["a", "b", "c", "d"]) numbers.set(key, 1);
  loop.changed();
  // Somebody has work once, and later more and more of it.
  for (const at of [0.3, ...Array.from({ length: 20 }, (_, i) => 0.9 + i / 8)]) {
    clock.timer(at, () => clock.work(3));
  }
  await clock.advance(50);
  assertEquals(begun, [0, 0.875, 1.125, 1.375]);
});

Deno.test("loop: whoever changes something while it hands over starts no second one, and nobody does once it has ended", async () => {
  const clock = new WorkClock(), graph = new Graph({ clock });
  const numbers = graph.source<number>("numbers");
  graph.derive("doubles", numbers, (n) => {
    clock.work(30);
    return 2 * n;
  });
  const pending: number[] = [];
  const loop: Loop = new Loop({
    graph,
    clock,
    log: silentLog,
    settled: () => {
      if (numbers.size < 3) numbers.set(`${numbers.size}`, 0);
      loop.changed();
      return [];
    },
  });
  numbers.set("0", 0);
  loop.changed();
  while (clock.pending > 0 && pending.length < 10) {
    pending.push(clock.pending);
    await clock.advance(clock.next!);
    if (numbers.size === 3) break;
  }
  assertEquals(numbers.size, 3);
  assertEquals(clock.pending, 1);
  loop[Symbol.dispose]();
  loop.changed();
  assertEquals(clock.pending, 0);
});

/** How often it is settled while `count` objects come, one each `apart` ms, and the longest that one of them waited. */
async function underEvents(count: number, apart: number): Promise<{ settles: number; longest: number }> {
  const clock = new FakeClock(), graph = new Graph({ clock });
  const services = graph.source<ApiObject>("services");
  const names = graph.derive("names", services, ({ metadata }) => metadata.name);
  const came = new Map<string, number>();
  let settles = 0, longest = 0;
  const loop = new Loop({
    graph,
    clock,
    log: silentLog,
    settled: () => {
      settles++;
      for (const key of names.changed) longest = Math.max(longest, clock.monotonic() - came.get(key)!);
      return [];
    },
  });
  async function* events(): AsyncGenerator<WatchEvent<ApiObject>> {
    for (let i = 0; i < count; i++) {
      await clock.sleep(apart);
      const object = { apiVersion: "v1", kind: "Service", metadata: { name: `${i}`, namespace: "a" } };
      came.set(`a/${i}`, clock.monotonic());
      yield { type: "set", object };
    }
  }
  const followed = loop.follow("services", events(), services);
  await clock.advance(count * apart + 1_000);
  await followed;
  assertEquals(names.size, count);
  return { settles, longest };
}

Deno.test("loop: a storm of events is taken in in few large pieces, and what comes less often at once", async () => {
  const storm = await underEvents(2_000, 1);
  assert(storm.settles <= 25, `${storm.settles} settles in two seconds`);
  assert(storm.longest > 10 && storm.longest <= 100, `an event waited ${storm.longest} ms`);
  const steady = await underEvents(200, 8);
  assert(steady.settles >= 100, `${steady.settles} settles for 200 events`);
  assert(steady.longest <= 10, `an event waited ${steady.longest} ms`);
  assertEquals(await underEvents(20, 100), { settles: 20, longest: 0 });
});
