/**
 * What every effect has in common: a table of rows that are due, and a function that makes one of them true.
 *
 * A row exists exactly while something has to be done. It goes away when the watch shows that it has been done, so nothing is
 * lost when an attempt fails, and nothing is done twice.
 *
 * @module
 */
import type { Key, Table } from "./runtime/graph.ts";
import type { Log } from "./runtime/log.ts";
import type { AddOptions, Again, Queue, Worker } from "./runtime/queue.ts";

/** After a conflict: usually the watch has shown by then what happened. */
export const afterConflict: Again = { requeueAfter: 100, failed: true };

export interface Controller<D> {
  readonly name: string;
  /** Rows of what has to be done now. */
  readonly due: Table<D>;
  /** Told of every row that has changed, gone ones included, before it is queued. */
  observed?(key: Key, due: D | undefined): void;
  /** How long to wait before it is done, in milliseconds, in case something better is due by then; not at all if absent. */
  delay?(key: Key, due: D): number;
  /** How soon its turn comes among all that is due, of the usual priorities of queues; `live` if absent. */
  priority?(due: D): number;
  /** Does it. Rejects if it has to be tried again. */
  apply(due: D, signal: AbortSignal): Promise<Again | void>;
}

/** Queues the rows that the last settle made due; without a queue, since another replica writes, they are only observed. */
export function enqueue<D>(controller: Controller<D>, queue: Queue | undefined): void {
  for (const key of controller.due.changed) {
    const due = controller.due.get(key);
    controller.observed?.(key, due);
    if (due === undefined || !queue) continue;
    const after = controller.delay?.(key, due) ?? 0;
    queue.add(key, { ...turnOf(controller, due), ...after > 0 && { after } });
  }
}

/** Queues all that is due: at a start, and when this replica becomes the one that writes. */
export function enqueueAll<D>(controller: Controller<D>, queue: Queue): void {
  for (const [key, due] of controller.due.entries()) queue.add(key, turnOf(controller, due));
}

function turnOf<D>(controller: Controller<D>, due: D): AddOptions {
  const priority = controller.priority?.(due);
  return priority === undefined ? {} : { priority };
}

/** The worker of a controller's queue: it looks the row up when its turn comes, since it may be done by then. */
export function worker<D>(
  controller: Controller<D>,
  log: Log,
): Worker {
  return async (key, signal) => {
    const due = controller.due.get(key);
    if (due === undefined) return;
    log.debug(`Applying ${controller.name}`, { item: key });
    return await controller.apply(due, signal);
  };
}
