/**
 * Events are kept for an hour, as on a real cluster.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { persistently } from "./persistently.ts";
import type { Store } from "./store.ts";

const kept = 60 * 60_000;
const interval = 60_000;

/** Deletes old Events until `signal` is aborted. */
export async function expireEvents(
  { store, clock, log }: { readonly store: Store; readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const limit = clock.now().getTime() - kept;
    const old = store.rows("events").filter(({ object }) =>
      Date.parse(object.metadata.creationTimestamp!) < limit
    );
    for (let i = 0; i < old.length; i += 100) {
      await persistently(
        { store, clock, log },
        signal,
        (tx) => old.slice(i, i + 100).forEach(({ key }) => tx.delete("events", key)),
      );
    }
    await clock.sleep(interval, { signal });
  }
}
