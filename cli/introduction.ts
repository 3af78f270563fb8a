/**
 * How long the first statuses wait for the proxies. After a restart, and after a change of leader, they say what they have had
 * all along; until then it would look as if they had nothing.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";

/** In milliseconds. */
const longest = 5_000;

export class Introduction {
  readonly #clock: Clock;
  readonly #pending: () => boolean;
  #wait: PromiseWithResolvers<void> | undefined;

  /** `pending` says whether there is a proxy or an object about which nothing is known yet. What was known before is not. */
  constructor({ clock, pending }: { readonly clock: Clock; readonly pending: () => boolean }) {
    this.#clock = clock;
    this.#pending = pending;
  }

  /** Takes in what has changed. */
  settled(): void {
    if (this.#wait && !this.#pending()) this.#wait.resolve();
  }

  /** Resolves once nothing is pending, or it has taken too long. */
  async over(signal: AbortSignal): Promise<void> {
    if (signal.aborted || !this.#pending()) return;
    const wait = this.#wait = Promise.withResolvers<void>(), end = () => wait.resolve();
    using _timer = this.#clock.timer(longest, end);
    signal.addEventListener("abort", end, { once: true });
    await wait.promise;
    signal.removeEventListener("abort", end);
    this.#wait = undefined;
  }
}
