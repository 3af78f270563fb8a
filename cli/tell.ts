/**
 * What becomes an Event.
 *
 * @module
 */
import type { FinalizerDue } from "../controllers/finalizer.ts";
import { newsOf, type Transition } from "../controllers/transitions.ts";
import { type ApiObject, apiVersion, type Kind, splitKey } from "../crds/kind.ts";
import type { EventRecorder } from "../kube/events.ts";

/** Tells what is news in a status that was written. */
export function tell(
  recorder: EventRecorder,
  regarding: ApiObject,
  transitions: readonly Transition[],
): void {
  for (const transition of transitions) {
    const news = newsOf(regarding.kind, transition);
    if (news) recorder.record({ regarding, action: "Reconcile", ...news });
  }
}

/** Tells of an object that was let go although proxies still had it. */
export function tellAbandoned(recorder: EventRecorder, due: FinalizerDue, kind: Kind): void {
  const { key, uid, wait } = due;
  recorder.record({
    regarding: {
      apiVersion: apiVersion(kind),
      kind: kind.kind,
      metadata: { ...splitKey(key), uid },
    },
    type: "Warning",
    reason: "TeardownTimedOut",
    action: "Teardown",
    note: `Let go although proxies may still serve it: ${wait}`,
  });
}
