/**
 * A controller with its queue, run only while this replica is the one that writes.
 *
 * @module
 */
import { type Controller, enqueue, enqueueAll, worker } from "../controllers/controller.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import { Queue } from "../controllers/runtime/queue.ts";

export interface Effect {
  readonly name: string;
  /** Takes in what the last settle made due. */
  settled(): void;
  /** Does what is due, all of it at first, until `signal` is aborted and the work that has begun has ended. */
  run(signal: AbortSignal): Promise<void>;
}

export interface EffectOptions {
  /** How many rows are worked on at once. */
  readonly concurrency: number;
  /** What the first work of each term waits for. */
  readonly after?: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function effectOf<D>(controller: Controller<D>, options: EffectOptions): Effect {
  const { name } = controller, { concurrency, after, clock, log, metrics } = options;
  // A term has a queue of its own: what an earlier one has left waiting or failing is not to be carried over.
  const current: { queue?: Queue } = {};
  return {
    name,
    settled() {
      enqueue(controller, current.queue);
    },
    async run(signal) {
      const observer = metrics.queueObserver(name, concurrency);
      using queue = new Queue({ name, clock, log, observer });
      current.queue = queue;
      enqueueAll(controller, queue);
      try {
        await after?.(signal);
        await queue.run(worker(controller, log), { concurrency, signal });
      } finally {
        delete current.queue;
        observer.depth(0);
      }
    },
  };
}
