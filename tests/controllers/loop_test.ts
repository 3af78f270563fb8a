/**
 * The loop: settles in pieces that let others have the thread, and hands over once all of it is through.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Loop } from "../../controllers/loop.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** A clock on which work takes time. */
class WorkClock extends FakeClock {
  #worked = 0;
  /** How long each timer held up the thread. */
  readonly held: number[] = [];

  override monotonic(): number {
    return super.monotonic() + this.#worked;
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

Deno.test("loop: nothing holds up the thread for more than 20 ms and a row, and nobody is told before all is through", async () => {
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
    settled: ({ milliseconds }) => settled.push([doubles.changed.size, milliseconds]),
    measured: (milliseconds) => took.push(milliseconds),
  });
  for (let i = 0; i < 100; i++) numbers.set(`${i}`, i);
  loop.changed();
  clock.timer(0, () => numbers.set("late", 1)); // Between the first two pieces.
  await clock.advance(0);
  assertEquals(clock.held, [21, 0, ...Array(13).fill(21), 9]);
  assertEquals(settled, [[100, 300], [1, 3]]);
  assertEquals(took, [303]);
  assertEquals([doubles.size, doubles.get("late")], [101, 2]);
  await loop.idle();
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
