/**
 * Lets a few large responses be on their way at a time.
 *
 * Of what is being sent, several copies lie in HTTP/2 and TLS. A route configuration that has changed goes to all proxies at once,
 * and what that takes for a moment is not given back to the system, since small things that stay lie in between.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";

export interface TurnsOptions {
  /** How many there are at a time. */
  readonly places: number;
  /** Who takes longer, in milliseconds, does not count any more: slow peers keep nobody waiting for long. */
  readonly patience: number;
  readonly clock: Clock;
}

export class Turns {
  readonly #options: TurnsOptions;
  /** Those who wait, in the order in which they came. */
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#free = options.places;
  }

  /** Waits for a turn, which lasts until it is disposed of. */
  async take(): Promise<Disposable> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      timer[Symbol.dispose]();
      this.#next();
    };
    const timer = this.#options.clock.timer(this.#options.patience, end);
    return { [Symbol.dispose]: end };
  }

  #next(): void {
    const start = this.#queue.shift();
    if (start) start();
    else this.#free++;
  }
}
