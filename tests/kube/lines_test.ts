import { assert, assertEquals, assertRejects } from "@std/assert";
import { Backoff } from "../../kube/backoff.ts";
import { linesOf, LineTooLongError } from "../../kube/lines.ts";
import { FakeClock } from "../support/fake_clock.ts";

function bytesOf(...chunks: readonly string[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks).pipeThrough(new TextEncoderStream());
}

Deno.test("lines, whole ones only, empty ones not at all", async () => {
  assertEquals(await Array.fromAsync(linesOf(bytesOf("a\n", "\n\nb", "c", "\nd\ne"), 10)), ["a", "bc", "d"]);
  assertEquals(await Array.fromAsync(linesOf(bytesOf(), 10)), []);
});

Deno.test("the limit counts bytes of one line, complete or not", async () => {
  assertEquals(await Array.fromAsync(linesOf(bytesOf("aaaa\nääää\n".slice(0, 7), "\n"), 4)), ["aaaa", "ää"]);
  for (const chunks of [["aaaaa\n"], ["aaa", "aa\n"], ["ok\naaa", "aa"], ["äää"]]) {
    await assertRejects(() => Array.fromAsync(linesOf(bytesOf(...chunks), 4)), LineTooLongError);
  }
});

Deno.test("a line that never ends is cut off at the limit, not at the end of memory", async () => {
  let sent = 0, cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(++sent ? 1000 : 0)),
    cancel: () => {
      cancelled = true;
    },
  });
  await assertRejects(() => Array.fromAsync(linesOf(endless, 10_000)), LineTooLongError);
  assert(sent < 20 && cancelled);
});

Deno.test("a signal ends the lines, even if nothing more comes", async () => {
  const abort = new AbortController();
  const silent = new ReadableStream<Uint8Array>();
  const lines = Array.fromAsync(linesOf(silent, 10, { signal: abort.signal }));
  abort.abort();
  assertEquals(await lines, []);
  assertEquals(await Array.fromAsync(linesOf(bytesOf("a\n"), 10, { signal: abort.signal })), []);
});

Deno.test("pauses double up to a bound, and begin anew only after enough health", async () => {
  const clock = new FakeClock();
  const make = (random: () => number) => new Backoff({ clock, first: 100, most: 500, reset: 1000, random });
  const backoff = make(() => 0);
  backoff.healthy();
  await clock.advance(999);
  assertEquals([1, 2, 3, 4, 5].map(() => backoff.failed()), [100, 200, 400, 500, 500]);
  await clock.advance(5000);
  assertEquals(backoff.failed(), 500, "time alone is not health");
  backoff.healthy();
  await clock.advance(500);
  backoff.healthy();
  await clock.advance(500);
  assertEquals(backoff.failed(), 100);
  assertEquals(make(() => 1).failed(), 50, "half of it is random");
});
