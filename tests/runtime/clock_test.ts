import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { FakeClock } from "../support/fake_clock.ts";

Deno.test("system clock: sleeps, and stops sleeping when told to", async () => {
  const start = systemClock.monotonic();
  await systemClock.sleep(2);
  assert(systemClock.monotonic() - start >= 1);
  const stop = new AbortController(), reason = new Error("stop");
  const sleeping = systemClock.sleep(60_000, { signal: stop.signal });
  stop.abort(reason);
  assertEquals(await sleeping.catch((error) => error), reason);
  await assertRejects(() => systemClock.sleep(1, { signal: stop.signal }), Error, "stop");
});

Deno.test("system clock: a timer that is disposed of does not run", async () => {
  let ran = 0;
  {
    using _timer = systemClock.timer(0, () => ran++);
  }
  await new Promise<void>((resolve) => {
    systemClock.timer(1, resolve);
  });
  assertEquals(ran, 0);
});

Deno.test("system clock: a turn lets others have the thread, what comes over the network included", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => new Response("ok"));
  /** How many turns a request takes. */
  const ask = async () => {
    let answered = false, turns = 0;
    const asked = fetch(`http://127.0.0.1:${server.addr.port}`).then((response) => response.text())
      .then(() => answered = true);
    await new Promise<void>((resolve) => {
      const turn = () => void systemClock.turn(answered ? resolve : (turns++, turn));
      turn();
    });
    await asked;
    return turns;
  };
  // One may take hundreds: the other thread can be so fast that the event loop finds its answer without a look around.
  let turns = Infinity;
  for (let i = 0; i < 50; i++) turns = Math.min(turns, await ask());
  assert(turns < 60, `${turns} turns; setImmediate takes over a hundred each time, a MessagePort thousands`);
  await server.shutdown();
  let ran = 0;
  systemClock.turn(() => ran++)[Symbol.dispose]();
  await new Promise<void>((resolve) => void systemClock.turn(resolve));
  assertEquals(ran, 0);
});

Deno.test("fake clock: timers run in order, each at its own time, those they make included", async () => {
  const clock = new FakeClock("2026-01-01T00:00:00Z"), seen: string[] = [];
  const note = (name: string) => () => seen.push(`${name} ${clock.monotonic()}`);
  clock.timer(20, note("c"));
  clock.timer(10, note("a"));
  clock.timer(10, note("b"));
  clock.timer(99, note("late"));
  const chain = (async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(5);
      note("chain")();
    }
  })();
  await clock.advance(30);
  await chain;
  assertEquals(seen, ["chain 5", "a 10", "b 10", "chain 10", "chain 15", "c 20"]);
  assertEquals([clock.pending, clock.next, clock.now().toISOString()], [1, 69, "2026-01-01T00:00:00.030Z"]);
  const stop = new AbortController();
  const sleeping = clock.sleep(10, { signal: stop.signal });
  stop.abort(new Error("stop"));
  await assertRejects(() => sleeping, Error, "stop");
  assertEquals(clock.pending, 1);
});
