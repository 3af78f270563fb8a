/**
 * Measures how long the event loop is held up: probes, webhooks and the lease share the thread with everything else.
 *
 * @module
 */
import type { Clock } from "./clock.ts";

/**
 * Milliseconds between two looks: an idle process has to stay idle. Of sections of 50 ms it meets every tenth, enough to
 * see them in a histogram; settles are measured one by one.
 */
const interval = 500;

/** Tells twice a second by how many milliseconds a timer came late. Ends with the abort reason. */
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
