/**
 * Saying the same once a minute.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Repeats } from "../../controllers/runtime/repeats.ts";
import { FakeClock } from "../support/fake_clock.ts";

Deno.test("repeats: the same is said once a minute, with how often it was not", async () => {
  const clock = new FakeClock(), repeats = new Repeats({ clock });
  assertEquals(repeats.say("a"), { suppressed: 0 });
  assertEquals(repeats.say("b"), { suppressed: 0 });
  assertEquals([repeats.say("a"), repeats.say("a")], [undefined, undefined]);
  await clock.advance(59_999);
  assertEquals(repeats.say("a"), undefined);
  await clock.advance(1);
  assertEquals(repeats.say("a"), { suppressed: 3 });
  assertEquals(repeats.say("a"), undefined);
  assertEquals(repeats.say("b"), { suppressed: 0 });
});

Deno.test("repeats: whoever says something new each time is not heard for long, nor remembered", async () => {
  const clock = new FakeClock(), repeats = new Repeats({ clock, most: 3 });
  const said = () =>
    Array.from({ length: 10 }, () => repeats.say(crypto.randomUUID())).filter((it) => it).length;
  assertEquals(said(), 3);
  assertEquals(said(), 0);
  await clock.advance(60_000);
  assertEquals(said(), 3);
});
