/**
 * Time as an argument, so that tests decide how it passes.
 *
 * @module
 */

export interface Clock {
  /** Wall-clock time, for what is shown to people or written into objects. */
  now(): Date;
  /** Milliseconds that only grow, for measuring and for deadlines. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the abort reason if `signal` is aborted first. */
  sleep(ms: number, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Calls `run` once after `ms` milliseconds unless disposed of before. */
  timer(ms: number, run: () => void): Disposable;
  /**
   * Calls `run` once whatever else is due has had the thread, and what has come from outside as well, unless disposed of
   * before.
   */
  turn(run: () => void): Disposable;
}

const nothing = new Uint8Array();

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep(ms, options = {}) {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const id = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, Math.max(0, ms));
      const stop = () => {
        clearTimeout(id);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
    });
  },
  timer(ms, run) {
    // A time that has come meanwhile is now.
    const id = setTimeout(run, Math.max(0, ms));
    return { [Symbol.dispose]: () => clearTimeout(id) };
  },
  turn(run) {
    // An answer of another thread: to get it, the event loop looks at what comes from outside as a rule, the network included. For
    // immediates and messages it does not, and a timer lets it sleep for a millisecond or two.
    let wanted = true;
    void crypto.subtle.digest("SHA-256", nothing).then(() => wanted && run());
    return { [Symbol.dispose]: () => void (wanted = false) };
  },
};
