/**
 * A wait that somebody else can cut short.
 *
 * @module
 */
import type { Clock } from "./clock.ts";
import { linkSignals } from "./signals.ts";

export class Nap {
  #woken = false;
  #current: AbortController | undefined;

  /** Ends the wait there is, or the next one as soon as it begins. */
  wake(): void {
    this.#woken = true;
    this.#current?.abort();
  }

  /** Resolves after `ms` milliseconds, or when woken; rejects with the reason of `signal` if that is aborted first. */
  async sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#woken) {
      const current = this.#current = new AbortController();
      using either = linkSignals(signal, current.signal);
      try {
        await clock.sleep(ms, { signal: either.signal });
      } catch (error) {
        if (!current.signal.aborted) throw error;
      }
    }
    this.#current = undefined;
    this.#woken = false;
  }
}
