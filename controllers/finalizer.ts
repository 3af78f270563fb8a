/**
 * Adds finalizers and lets them go: once the proxies have stopped serving a Gateway, or after a while in any case.
 *
 * @module
 */
import { type ApiObject, type Kind, splitKey } from "../crds/kind.ts";
import { isStatus } from "../kube/errors.ts";
import { isConflict } from "../kube/patch.ts";
import type { Kube, PatchOperation } from "../kube/types.ts";
import { afterConflict, type Controller } from "./controller.ts";
import type { Clock } from "./runtime/clock.ts";
import type { Log } from "./runtime/log.ts";
import type { Key, Table } from "./runtime/graph.ts";

/** A finalizer to add or to remove. */
export interface FinalizerDue {
  readonly kind: string;
  /** `namespace/name`, or `name`. */
  readonly key: Key;
  readonly uid: string;
  readonly patch: readonly PatchOperation[];
  /** What it should wait for. */
  readonly wait?: string;
}

export interface FinalizerOptions {
  readonly due: Table<FinalizerDue>;
  readonly kube: Kube;
  readonly kindOf: (name: string) => Kind<ApiObject>;
  /** The version of a kind that the API server has. */
  readonly versionOf: (kind: Kind<ApiObject>) => string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a deletion waits for the proxies, in milliseconds; 30 s by default. */
  readonly patience?: number;
  /** Told of what was let go although the proxies still had it. */
  readonly abandoned?: (due: FinalizerDue) => void;
}

export function finalizerController(options: FinalizerOptions): Controller<FinalizerDue> {
  const { due, kube, kindOf, versionOf, clock, log, patience = 30_000, abandoned } = options;
  /** Since when something waits, by our own clock: that of the API server is another. */
  const since = new Map<Key, number>();
  return {
    name: "finalizers",
    due,
    observed(row, write) {
      if (write?.wait === undefined) since.delete(row);
      else if (!since.has(row)) since.set(row, clock.monotonic());
    },
    async apply(write, signal) {
      const { kind, key, patch, wait } = write, row = `${kind}/${key}`;
      if (wait !== undefined) {
        const begun = since.get(row) ?? clock.monotonic(), left = begun + patience - clock.monotonic();
        // The first thing that a new leader hears of it may be its turn.
        since.set(row, begun);
        if (left > 0) return { requeueAfter: left };
        log.warn("Letting go of an object that proxies still serve", { object: row, because: wait });
        abandoned?.(write);
      }
      const model = kindOf(kind), version = versionOf(model);
      try {
        await kube.patch(model, splitKey(key), patch, {
          ...version !== undefined && { version },
          signal,
        });
      } catch (error) {
        if (isStatus(error, 404)) return;
        // What happened is on the way to the tables, and makes the row another one or none.
        if (isConflict(error)) return afterConflict;
        throw error;
      }
    },
  };
}
