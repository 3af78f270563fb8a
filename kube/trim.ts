/**
 * Takes out of objects what is large and of no use to us.
 *
 * @module
 */
import type { ApiObject } from "../crds/kind.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** The object without `managedFields` and without the copy of itself that `kubectl apply` leaves. */
export function trim<T extends ApiObject>(object: T): T {
  const { managedFields: _, annotations, ...rest } = object.metadata as T["metadata"] & {
    readonly managedFields?: unknown;
  };
  const { [lastApplied]: __, ...others } = annotations ?? {};
  const metadata = Object.keys(others).length > 0 ? { ...rest, annotations: others } : rest;
  return { ...object, metadata };
}
