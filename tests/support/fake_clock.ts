/**
 * A clock whose time passes when a test says so.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../../controllers/runtime/clock.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Time stands still but for {@linkcode FakeClock.advance}. */
export class FakeClock implements Clock {
  readonly #start: number;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;

  constructor(start = "2026-01-01T00:00:00Z") {
    this.#start = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#start + this.#elapsed);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = this.timer(ms, () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      });
      const stop = () => {
        timer[Symbol.dispose]();
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  timer(ms: number, run: () => void): Disposable {
    const timer = { at: this.#elapsed + Math.max(0, ms), run };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** Takes an eighth of a millisecond. */
  turn(run: () => void): Disposable {
    return this.timer(0.125, run);
  }

  /** How many timers and sleepers are waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due, if there is one. */
  get next(): number | undefined {
    const first = this.#first();
    return first && first.at - this.#elapsed;
  }

  /**
   * Lets `ms` milliseconds pass. Timers run in order of their time, then of their making, each at its own time; before and
   * after each, everything that promises can do without time or I/O is done, so timers made by what ran count too.
   */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsed + ms;
    await settle();
    for (let timer = this.#first(); timer && timer.at <= until; timer = this.#first()) {
      this.#elapsed = timer.at;
      this.#timers.delete(timer);
      timer.run();
      await settle();
    }
    this.#elapsed = until;
  }

  #first(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (first === undefined || timer.at < first.at) first = timer;
    return first;
  }
}

/** Resolves once promises that wait for neither time nor I/O have settled. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
