/**
 * Deleting an object: at once, or by marking it until its finalizers are done.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import type { Propagation } from "./request.ts";
import type { Resource, Unstructured } from "./resources.ts";
import { conflict } from "./status.ts";
import type { Row, Transaction } from "./store.ts";
import type { Written } from "./target.ts";

/** Time as Kubernetes writes it into objects: whole seconds. */
export function timestamp(now: Date): string {
  return now.toISOString().replace(/\.\d+Z$/, "Z");
}

export interface Deletion {
  readonly propagation?: Propagation | undefined;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly now: Date;
}

/** What is left to be done before an object may go. A Namespace has finalizers in its spec, too. */
export function finalizersOf(object: ApiObject): readonly string[] {
  const spec = object.kind === "Namespace" ? (object as Unstructured)["spec"] : undefined;
  const inner = (spec as { readonly finalizers?: readonly string[] } | undefined)?.finalizers ?? [];
  return [...object.metadata.finalizers ?? [], ...inner];
}

/** `finalizers` with those that the propagation policy asks for. */
function forPropagation(
  finalizers: readonly string[],
  propagation: Propagation | undefined,
): readonly string[] {
  if (propagation === undefined) return finalizers;
  const others = finalizers.filter((name) => name !== "orphan" && name !== "foregroundDeletion");
  if (propagation === "Background") return others;
  return [...others, propagation === "Orphan" ? "orphan" : "foregroundDeletion"];
}

/**
 * Deletes what is in `row`, or marks it.
 *
 * @returns the last state, and whether it is gone
 * @throws {ApiError} 409 if a precondition does not hold
 */
export function remove(
  tx: Transaction,
  resource: Resource,
  row: Row,
  options: Deletion,
): { readonly gone: boolean; readonly row: Row } {
  const { metadata } = row.object;
  const { uid, resourceVersion } = options.preconditions ?? {};
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      { ...resource, kind: resource.kind.kind },
      metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      { ...resource, kind: resource.kind.kind },
      metadata.name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ` +
        metadata.resourceVersion,
    );
  }
  const finalizers = forPropagation(metadata.finalizers ?? [], options.propagation);
  const { finalizers: _, ...others } = metadata;
  const marked = {
    ...row.object,
    metadata: {
      ...others,
      ...(finalizers.length > 0 ? { finalizers } : {}),
      deletionTimestamp: metadata.deletionTimestamp ?? timestamp(options.now),
      ...(row.object.kind === "Namespace" ? {} : { deletionGracePeriodSeconds: 0 }),
      ...(metadata.generation !== undefined && !metadata.deletionTimestamp
        ? { generation: metadata.generation + 1 }
        : {}),
    },
    ...(row.object.kind === "Namespace"
      ? { status: { ...(row.object as Unstructured)["status"] as object, phase: "Terminating" } }
      : {}),
  } as ApiObject;
  if (finalizersOf(marked).length === 0) return { gone: true, row: tx.delete(row.resource, row.key)! };
  const unchanged = metadata.deletionTimestamp !== undefined &&
    JSON.stringify(finalizers) === JSON.stringify(metadata.finalizers ?? []);
  return { gone: false, row: unchanged ? row : tx.put(row.resource, marked) };
}

/** Replaces an object; one that is marked and has no finalizer left goes. */
export function replace(
  tx: Transaction,
  row: Row,
  object: ApiObject,
): Pick<Written, "object" | "row"> {
  if (object.metadata.deletionTimestamp !== undefined && finalizersOf(object).length === 0) {
    tx.delete(row.resource, row.key);
    return { object };
  }
  const next = tx.put(row.resource, object);
  return { object: next.object, row: next };
}
