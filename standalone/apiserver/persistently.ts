/**
 * Writes that nobody waits for, and that are tried until they succeed: a disk that is full must not end a cascade.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { type Store, type Transaction, WriteError } from "./store.ts";

/** Rejects with the reason of `signal` once that is aborted, and with whatever `decide` throws. */
export async function persistently<T>(
  { store, clock, log }: { readonly store: Store; readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
  decide: (tx: Transaction) => T,
): Promise<T> {
  for (;;) {
    try {
      return await store.write(decide);
    } catch (error) {
      if (!(error instanceof WriteError)) throw error;
      log.error("background write failed, will be tried again", { error });
      await clock.sleep(1000, { signal });
    }
  }
}
