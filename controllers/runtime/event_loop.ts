/**
 * Measures how long the event loop is held up: probes, webhooks and the lease share the thread with everything else.
 *
 * @module
 */
import type { Clock } from "./clock.ts";

/** Milliseconds between two looks. Short enough to meet most sections over 50 ms, long enough to cost nothing. */
const interval = 100;

/** Tells every tenth of a second by how many milliseconds a timer came late. Ends with the abort reason. */
export async function watchEventLoop(
  options: { readonly clock: Clock; readonly observe: (lag: number) => void; readonly signal: AbortSignal },
): Promise<never> {
  const { clock, observe, signal } = options;
  while (true) {
    const start = clock.monotonic();
    await clock.sleep(interval, { signal });
    observe(Math.max(0, clock.monotonic() - start - interval));
  }
}
