/**
 * A signal that says how many listen to it.
 *
 * @module
 */

/** The signal of a process: it lives long, so whoever listens to it has to stop. */
export class CountingSignal {
  readonly #controller = new AbortController();
  readonly #listeners = new Set<unknown>();
  readonly signal: AbortSignal = this.#controller.signal;
  /** The most that have listened at the same time. */
  most = 0;

  constructor() {
    const { signal } = this, listeners = this.#listeners;
    const add = signal.addEventListener.bind(signal), remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners.add(args[1]);
      this.most = Math.max(this.most, listeners.size);
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.delete(args[1]);
      remove(...args);
    };
  }

  /** Those who do now. */
  get listeners(): number {
    return this.#listeners.size;
  }

  abort(): void {
    this.#controller.abort();
  }
}
