/** Signals that follow others leave nothing behind. */
import { assert, assertEquals } from "@std/assert";
import { runInNewContext } from "node:vm";
import { setFlagsFromString } from "node:v8";
import { linkSignals } from "../../controllers/runtime/signals.ts";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { XdsCache } from "../../xds/cache.ts";
import { serve } from "../../xds/delta/serve.ts";
import { CountingSignal } from "../support/counting_signal.ts";
import { request } from "../xds/support/fake_envoy.ts";

Deno.test("a linked signal aborts with the first of its sources, for the same reason", () => {
  for (const first of [0, 1]) {
    const sources = [new AbortController(), new AbortController()];
    using linked = linkSignals(...sources.map(({ signal }) => signal));
    assert(!linked.signal.aborted);
    sources[first]!.abort("first");
    sources[1 - first]!.abort("second");
    assertEquals([linked.signal.aborted, linked.signal.reason], [true, "first"]);
  }
  using late = linkSignals(new AbortController().signal, AbortSignal.abort("before"));
  assertEquals([late.signal.aborted, late.signal.reason], [true, "before"]);
});

Deno.test("its sources do not know it any more once it is disposed of, or aborted", () => {
  const long = new CountingSignal();
  {
    using _linked = linkSignals(long.signal);
    assertEquals(long.listeners, 1);
  }
  assertEquals(long.listeners, 0);
  const short = new AbortController(), linked = linkSignals(long.signal, short.signal);
  short.abort();
  assertEquals([long.listeners, linked.signal.aborted], [0, true]);
  const after = linkSignals(long.signal);
  after[Symbol.dispose]();
  long.abort();
  assert(!after.signal.aborted);
});

async function once(signal: AbortSignal): Promise<void> {
  const requests = async function* () {
    yield await Promise.resolve(request("cluster"));
  };
  const options = { clock: systemClock, allows: () => true, onEvent: () => {}, signal };
  for await (const _response of serve(requests(), new XdsCache(), options)) { /* there is none */ }
}

Deno.test("streams of xDS leave nothing on the signal of their server", async () => {
  const long = new CountingSignal();
  for (let i = 0; i < 100; i++) await once(long.signal);
  assertEquals(long.listeners, 0);
  assert(long.most > 0, "it was not listened to at all");

  // What a signal keeps otherwise than by listeners shows in the heap alone.
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const kept = async (count: number) => {
    for (let i = 0; i < count; i++) await once(long.signal);
    collect();
    return Deno.memoryUsage().heapUsed;
  };
  const before = await kept(500), after = await kept(3_000);
  const each = (after - before) / 3_000;
  assert(each < 400, `${Math.round(each)} bytes are kept for each stream`);
});
