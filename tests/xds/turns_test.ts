import { assertEquals } from "@std/assert";
import { Turns } from "../../xds/grpc/turns.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** Takers of turns, with who has had one so far, in that order. */
function takers(names: string, clock: FakeClock) {
  const turns = new Turns({ places: 2, patience: 100, clock });
  const started: string[] = [], held = new Map<string, Disposable>();
  for (const name of names) {
    void turns.take().then((turn) => {
      started.push(name);
      held.set(name, turn);
    });
  }
  return { started, end: (name: string) => held.get(name)?.[Symbol.dispose]() };
}

/** Lets promises that are resolved have their effect. */
async function effect(): Promise<void> {
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

Deno.test("turns: so many at a time, in the order in which they came", async () => {
  const clock = new FakeClock(), { started, end } = takers("abcd", clock);
  await effect();
  assertEquals(started.join(""), "ab");
  end("b");
  end("b"); // Again makes no more room.
  await effect();
  assertEquals(started.join(""), "abc");
  for (const name of "acd") end(name);
  await effect();
  assertEquals(started.join(""), "abcd");
  end("d");
  assertEquals(clock.pending, 0);
});

Deno.test("turns: who is slow keeps the others waiting for a bounded time", async () => {
  const clock = new FakeClock(), { started, end } = takers("abcde", clock);
  await effect();
  await clock.advance(99);
  assertEquals(started.join(""), "ab");
  await clock.advance(1);
  await effect();
  assertEquals(started.join(""), "abcd");
  end("a"); // Its turn was over, so this makes no room.
  await effect();
  assertEquals(started.join(""), "abcd");
  await clock.advance(100);
  await effect();
  assertEquals(started.join(""), "abcde");
  end("e");
  assertEquals(clock.pending, 0);
});
