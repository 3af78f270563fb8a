/**
 * A queue of keys to work on, with the semantics of client-go's work queue.
 *
 * A key that is queued twice is worked on once; a key that is queued while it is being worked on is worked on again afterwards,
 * never by two at once; a key whose work fails comes back after a time of its own that doubles with every failure.
 *
 * @module
 */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Usual priorities; any number will do, higher ones go first. */
export const priority = { first: 100, live: 0, resync: -100 } as const;

export interface AddOptions {
  /** {@linkcode priority}`.live` if absent. A key that is queued with several priorities has the highest. */
  readonly priority?: number;
  /** Milliseconds to wait before. A key that is waiting already goes at the earlier of the two times. */
  readonly after?: number;
}

/** What came of the work on one key. */
export type Outcome = "success" | "requeue_after" | "error";

/** What the worker of a key may ask for; nothing means that it is done with it. */
export interface Again {
  /** Milliseconds until the key is to be worked on once more. */
  readonly requeueAfter: number;
  /** The work was in vain: it counts as a failure, and the wait is that after a failure where that is longer. */
  readonly failed?: true;
}

/** Works on one key. Rejects to have it retried. */
export type Worker = (key: string, signal: AbortSignal) => Promise<Again | void>;

/** Hears of everything that metrics count. Times are in milliseconds. */
export interface QueueObserver {
  /** A key may be worked on that could not be before. */
  added(): void;
  /** How many keys may be worked on has changed. */
  depth(depth: number): void;
  started(key: string, waited: number): void;
  ended(key: string, worked: number, outcome: Outcome): void;
  retried(): void;
}

export interface QueueOptions {
  /** For logs and metrics. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: QueueObserver;
  /** Milliseconds after the first failure, and at most; 5 and 30,000 if absent. */
  readonly backoff?: { readonly base: number; readonly max: number };
}

interface Waiting {
  readonly at: number;
  readonly priority: number;
  readonly timer: Disposable;
}

/** See the module. */
export class Queue implements Disposable {
  readonly name: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #observer: QueueObserver | undefined;
  readonly #backoff: { readonly base: number; readonly max: number };
  /** Keys that may be worked on, by priority; oldest first, with the time since when. */
  readonly #ready = new Map<number, Map<string, number>>();
  readonly #waiting = new Map<string, Waiting>();
  /** Keys that are being worked on, each with how it was queued meanwhile. */
  readonly #running = new Map<string, AddOptions | undefined>();
  readonly #failures = new Map<string, number>();
  /** Workers and others to wake when something changes. */
  readonly #sleepers = new Set<() => void>();
  #depth = 0;
  #closed = false;

  constructor(options: QueueOptions) {
    this.name = options.name;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#observer = options.observer;
    this.#backoff = options.backoff ?? { base: 5, max: 30_000 };
  }

  /** How many keys may be worked on now. */
  get depth(): number {
    return this.#depth;
  }

  /** How many keys are waiting for their time. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Failures of a key since its last success. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Queues a key. Does nothing once the queue is closed. */
  add(key: string, options: AddOptions = {}): void {
    if (this.#closed) return;
    if (this.#running.has(key)) this.#running.set(key, merge(this.#running.get(key), options));
    else this.#enqueue(key, options);
  }

  /** Forgets a key that is queued or waiting, and its failures. Work that has begun goes on. */
  delete(key: string): void {
    this.#failures.delete(key);
    this.#cancel(key);
    if (this.#running.has(key)) this.#running.set(key, undefined);
    for (const keys of this.#ready.values()) if (keys.delete(key)) this.#setDepth(this.#depth - 1);
  }

  /**
   * Takes no more keys. Those that may be worked on still are, then {@linkcode Queue.run} returns; those that wait for
   * their time are dropped.
   */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#waiting.values()) timer[Symbol.dispose]();
    this.#waiting.clear();
    this.#wake();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Resolves once no key may be worked on and none is; keys may be waiting for their time. */
  async idle(): Promise<void> {
    while (this.#depth > 0 || this.#running.size > 0) await this.#sleep();
  }

  /**
   * Works on keys, on `concurrency` of them at once. Returns once the queue is closed and empty, or once `signal` is
   * aborted and the work that has begun, which sees the signal too, has ended; the queue can be run again then. Never
   * rejects because of the work.
   */
  async run(
    worker: Worker,
    options: { readonly concurrency?: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { concurrency = 1, signal } = options;
    const wake = () => this.#wake();
    signal.addEventListener("abort", wake);
    try {
      await Promise.all(Array.from({ length: concurrency }, () => this.#work(worker, signal)));
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  async #work(worker: Worker, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#take();
      if (next !== undefined) await this.#workOn(next.key, next.priority, worker, signal);
      else if (this.#closed) return; // What is queued meanwhile falls to the worker that is still busy.
      else await this.#sleep();
    }
  }

  async #workOn(key: string, priority: number, worker: Worker, signal: AbortSignal): Promise<void> {
    const start = this.#clock.monotonic();
    let outcome: Outcome = "success", next: AddOptions | undefined;
    try {
      const again = await worker(key, signal);
      if (!again?.failed) this.#failures.delete(key);
      if (again) {
        outcome = "requeue_after";
        const least = again.failed ? this.#nextDelay(key) : 0;
        next = { priority, after: Math.max(again.requeueAfter, least) };
      }
    } catch (error) {
      outcome = "error";
      if (signal.aborted) {
        next = { priority }; // Interrupted, not failed: for whoever runs the queue next.
      } else {
        const after = this.#nextDelay(key);
        next = { priority, after };
        this.#log.warn(`Work on ${this.name} failed, to be retried`, { item: key, retryInMs: after, error });
      }
    }
    const meanwhile = this.#running.get(key);
    this.#running.delete(key);
    this.#observer?.ended(key, this.#clock.monotonic() - start, outcome);
    if (outcome === "error" && !this.#closed) this.#observer?.retried();
    if (!this.#closed) {
      if (next) this.#enqueue(key, next);
      if (meanwhile) this.#enqueue(key, meanwhile);
    } else if (meanwhile && meanwhile.after === undefined) this.#enqueue(key, meanwhile);
    this.#wake();
  }

  #nextDelay(key: string): number {
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    return Math.min(this.#backoff.base * 2 ** failures, this.#backoff.max);
  }

  #enqueue(key: string, options: AddOptions): void {
    const after = options.after ?? 0, waiting = this.#waiting.get(key);
    let wanted = options.priority ?? priority.live;
    for (const [at, keys] of this.#ready) {
      const since = keys.get(key);
      if (since === undefined) continue;
      if (after <= 0 && wanted > at) {
        keys.delete(key);
        this.#bucket(wanted).set(key, since);
      }
      return; // It goes before any delay is over.
    }
    if (waiting) wanted = Math.max(wanted, waiting.priority);
    if (after > 0) {
      const at = Math.min(this.#clock.monotonic() + after, waiting?.at ?? Infinity);
      this.#cancel(key);
      const timer = this.#clock.timer(at - this.#clock.monotonic(), () => {
        this.#waiting.delete(key);
        this.add(key, { priority: wanted });
      });
      this.#waiting.set(key, { at, priority: wanted, timer });
      return;
    }
    this.#cancel(key);
    this.#bucket(wanted).set(key, this.#clock.monotonic());
    this.#setDepth(this.#depth + 1);
    this.#observer?.added();
    this.#wake();
  }

  #take(): { readonly key: string; readonly priority: number } | undefined {
    let best: number | undefined;
    for (const [level, keys] of this.#ready) {
      if (keys.size > 0 && (best === undefined || level > best)) best = level;
    }
    if (best === undefined) return undefined;
    for (const [key, since] of this.#bucket(best)) {
      this.#bucket(best).delete(key);
      this.#setDepth(this.#depth - 1);
      this.#running.set(key, undefined);
      this.#observer?.started(key, this.#clock.monotonic() - since);
      return { key, priority: best };
    }
    return undefined;
  }

  #setDepth(depth: number): void {
    this.#depth = depth;
    this.#observer?.depth(depth);
  }

  #bucket(level: number): Map<string, number> {
    const keys = this.#ready.get(level) ?? new Map<string, number>();
    this.#ready.set(level, keys);
    return keys;
  }

  #cancel(key: string): void {
    this.#waiting.get(key)?.timer[Symbol.dispose]();
    this.#waiting.delete(key);
  }

  #sleep(): Promise<void> {
    return new Promise((resolve) => this.#sleepers.add(resolve));
  }

  #wake(): void {
    for (const wake of this.#sleepers) wake();
    this.#sleepers.clear();
  }
}

/** The more urgent of two requests in each respect. */
function merge(a: AddOptions | undefined, b: AddOptions): AddOptions {
  if (a === undefined) return b;
  const after = Math.min(a.after ?? 0, b.after ?? 0);
  return {
    priority: Math.max(a.priority ?? priority.live, b.priority ?? priority.live),
    ...(after > 0 ? { after } : {}),
  };
}
