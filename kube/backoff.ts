/**
 * Waiting longer after every failure, and never in step with others.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";

export interface BackoffOptions {
  readonly clock: Clock;
  /** In milliseconds. */
  readonly first: number;
  readonly most: number;
  /** After that long without a failure, the first delay comes again. */
  readonly reset: number;
  /** From 0 to 1; for tests. */
  readonly random?: () => number;
}

/** Delays that double, each with up to half of it taken off at random. */
export class Backoff {
  readonly #options: BackoffOptions;
  #delay: number;
  #healthySince: number | undefined;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#delay = options.first;
  }

  /** Things work from now on. */
  healthy(): void {
    this.#healthySince ??= this.#options.clock.monotonic();
  }

  /** A failure: how long to wait, in milliseconds. */
  failed(): number {
    const { clock, first, most, reset, random = Math.random } = this.#options;
    if (this.#healthySince !== undefined && clock.monotonic() - this.#healthySince >= reset) {
      this.#delay = first;
    }
    this.#healthySince = undefined;
    const delay = this.#delay;
    this.#delay = Math.min(delay * 2, most);
    return delay * (1 - random() / 2);
  }
}
