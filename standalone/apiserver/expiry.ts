/**
 * Events are kept for an hour, as on a real cluster.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Store } from "./store.ts";

const kept = 60 * 60_000;
const interval = 60_000;

/** Deletes old Events until `signal` is aborted. */
export async function expireEvents(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    for (const resource of ["events", "events.events.k8s.io"]) {
      const limit = clock.now().getTime() - kept;
      const old = store.rows(resource).filter(({ object }) =>
        Date.parse(object.metadata.creationTimestamp!) < limit
      );
      for (let i = 0; i < old.length; i += 100) {
        await store.write((tx) => old.slice(i, i + 100).forEach(({ key }) => tx.delete(resource, key)));
      }
    }
    await clock.sleep(interval, { signal });
  }
}
