/**
 * What a written status says that is news: conditions that changed hands, as Events tell them.
 *
 * @module
 */
import type { Condition } from "../crds/kind.ts";
import type { PatchOperation } from "../kube/types.ts";

/** A condition that has become another. */
export interface Transition {
  readonly type: string;
  readonly status: Condition["status"];
  readonly reason: string;
  readonly message: string;
  /** The listener that it is about, if it is about one. */
  readonly listener?: string;
  /** There was no status of ours before. */
  readonly first: boolean;
}

/** News for people. */
export interface News {
  readonly type: "Normal" | "Warning";
  /** One word of CamelCase. */
  readonly reason: string;
  /** A sentence. */
  readonly note: string;
}

type Unstamped = Omit<Condition, "lastTransitionTime"> & { readonly lastTransitionTime?: string };

/** The conditions that a patch of a status changes: those to which no time of transition has been given yet. */
export function transitionsOf(patch: readonly PatchOperation[]): readonly Transition[] {
  return patch.flatMap((operation) => {
    if (operation.op === "remove" || operation.op === "test") return [];
    return transitionsIn(operation.value, operation.op === "add");
  });
}

function transitionsIn(value: unknown, first: boolean, listener?: string): readonly Transition[] {
  if (Array.isArray(value)) return value.flatMap((element) => transitionsIn(element, first, listener));
  if (typeof value !== "object" || value === null) return [];
  if ("conditions" in value) {
    const { name, conditions } = value as { readonly name?: string; readonly conditions: unknown };
    return transitionsIn(conditions, first, name);
  }
  const { type, status, reason, message, lastTransitionTime } = value as Partial<Unstamped>;
  if (type === undefined || status === undefined || lastTransitionTime !== undefined) return [];
  return [{
    type,
    status,
    reason: reason ?? "",
    message: message ?? "",
    ...listener !== undefined && { listener },
    first,
  }];
}

/** Conditions that say that something is wrong when they are True. */
const alarms: ReadonlySet<string> = new Set([
  "Conflicted",
  "InsecureFrontendValidationMode",
  "OverlappingTLSConfig",
  "PartiallyInvalid",
]);

/** What is on its way is no news. */
const pending: ReadonlySet<string> = new Set(["Pending", "Waiting"]);

/** Kinds of which there are few, so that it is worth saying that all is well with a new one. */
const announced: ReadonlySet<string> = new Set(["GatewayClass", "Gateway"]);

/** What is worth telling of a transition; undefined if nothing is. */
export function newsOf(kind: string, transition: Transition): News | undefined {
  const { type, status, reason, message, listener, first } = transition, alarm = alarms.has(type);
  const said = message === "" ? `${type} is ${status}` : message;
  const note = listener === undefined ? said : `Listener "${listener}": ${said}`;
  if (status === (alarm ? "True" : "False")) {
    return pending.has(reason) ? undefined : { type: "Warning", reason: alarm ? type : reason, note };
  }
  // A new listener or route that is as it should be, and an alarm that was never raised.
  if (status === "Unknown" || listener !== undefined || first && (alarm || !announced.has(kind))) {
    return undefined;
  }
  return { type: "Normal", reason: alarm ? `Not${type}` : type, note };
}
