/**
 * Writes the statuses that are due.
 *
 * @module
 */
import { type ApiObject, apiVersion, type Kind, splitKey } from "../crds/kind.ts";
import { isStatus } from "../kube/errors.ts";
import { isConflict } from "../kube/patch.ts";
import type { Kube, PatchOperation } from "../kube/types.ts";
import { afterConflict, type Controller } from "./controller.ts";
import type { Clock } from "./runtime/clock.ts";
import type { Key, Table } from "./runtime/graph.ts";
import { priority } from "./runtime/queue.ts";
import { type Transition, transitionsOf } from "./transitions.ts";

/** A write to the status of one object. The patch tests the resource version that it was made for. */
export interface StatusPatch {
  readonly kind: string;
  /** `namespace/name`, or `name`. */
  readonly key: Key;
  readonly uid: string;
  /** The version of the object that the patch was made for. */
  readonly resourceVersion: string;
  readonly patch: readonly PatchOperation[];
  /** It says that proxies have not answered yet. */
  readonly provisional?: true;
}

/** `no_op`: an earlier write of ours had done it already, or it changed nothing, since the API server prunes what is new in it. */
export type WriteResult = "written" | "no_op" | "conflict" | "gone" | "failed";

export interface StatusOptions {
  readonly due: Table<StatusPatch>;
  readonly kube: Kube;
  readonly kindOf: (name: string) => Kind<ApiObject>;
  /** The version of a kind that the API server has. */
  readonly versionOf: (kind: Kind<ApiObject>) => string | undefined;
  /** Puts the time of the write into conditions that have changed. */
  readonly stamp: (patch: readonly PatchOperation[], now: Date) => readonly PatchOperation[];
  readonly clock: Clock;
  /** Told what came of each write. */
  readonly counted?: (kind: string, result: WriteResult) => void;
  /** Told of each status that was written, with what is news in it. */
  readonly told?: (object: ApiObject, transitions: readonly Transition[]) => void;
}

/**
 * An object is written to once in so many milliseconds, since each route that comes or goes is another number in the status of
 * its Gateway. Proxies have as long to answer before it is said that they have not, which halves the writes for a new route.
 */
const apart = 250;

/** Kinds of which there are few. */
const summing: ReadonlySet<string> = new Set(["GatewayClass", "Gateway", "ListenerSet", "EnvoyFleet"]);

export function statusController(options: StatusOptions): Controller<StatusPatch> {
  const { due, kube, kindOf, versionOf, stamp, clock, counted, told } = options;
  /** Versions of objects that a write of ours has superseded. What is due then is due anew once the watch shows the next one. */
  const superseded = new Map<Key, string>();
  /** When objects have been written to, the longest ago first; only as long as it matters. */
  const written = new Map<Key, number>();
  const wrote = (row: Key) => {
    const now = clock.monotonic();
    written.delete(row);
    written.set(row, now);
    for (const [earlier, at] of written) {
      if (now - at < apart) break;
      written.delete(earlier);
    }
  };
  return {
    name: "status",
    due,
    delay(row, { provisional }) {
      const last = written.get(row);
      const left = last === undefined ? 0 : last + apart - clock.monotonic();
      return provisional ? Math.max(left, apart) : left;
    },
    // Their statuses sum up those of thousands, behind which they would wait.
    priority: ({ kind }) => summing.has(kind) ? priority.first : priority.live,
    observed(row, write) {
      if (superseded.get(row) !== write?.resourceVersion) superseded.delete(row);
    },
    async apply({ kind, key, uid, resourceVersion, patch }, signal) {
      // An object that is only assumed, since it may not be read.
      if (resourceVersion === "") return;
      const row = `${kind}/${key}`, model = kindOf(kind), version = versionOf(model);
      if (superseded.get(row) === resourceVersion) {
        counted?.(kind, "no_op");
        return;
      }
      const name = splitKey(key);
      try {
        const { metadata } = await kube.patch(
          model,
          name,
          stamp(patch, clock.now()),
          {
            subresource: "status",
            ...version !== undefined && { version },
            signal,
          },
        );
        wrote(row);
        // No other version comes of it, so that whatever else becomes due is due for this one.
        if (metadata.resourceVersion === resourceVersion) {
          counted?.(kind, "no_op");
          return;
        }
        superseded.set(row, resourceVersion);
        counted?.(kind, "written");
        told?.({
          apiVersion: apiVersion(model, version),
          kind,
          metadata: { ...name, uid, resourceVersion },
        }, transitionsOf(patch));
      } catch (error) {
        const result = resultOf(error);
        if (result === "gone") superseded.delete(row);
        counted?.(kind, result);
        if (result === "failed") throw error;
        // What happened is on the way to the tables, and makes the row another one or none. If it was nothing, then once more.
        if (result === "conflict") return afterConflict;
      }
    },
  };
}

function resultOf(error: unknown): WriteResult {
  if (isStatus(error, 404)) return "gone";
  return isConflict(error) ? "conflict" : "failed";
}
