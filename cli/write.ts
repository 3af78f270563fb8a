/**
 * Brings an object of a manifest into being: made if it is missing, changed where it differs.
 *
 * @module
 */
import type { ApiObject, Kind } from "../crds/kind.ts";
import { equal } from "../controllers/runtime/equal.ts";
import { KubeError } from "../kube/client.ts";
import type { Kube, PatchOperation } from "../kube/types.ts";

/** Writes `object`. What the manifest does not mention stays as it is. Resolves with what was done. */
export async function write(
  kube: Kube,
  kind: Kind,
  object: ApiObject,
  signal: AbortSignal,
): Promise<"created" | "configured" | "unchanged"> {
  let observed: ApiObject;
  try {
    observed = await kube.get(kind, object.metadata, signal);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 404) throw error;
    await kube.create(kind, object, signal);
    return "created";
  }
  const operations = differences(observed, object);
  if (operations.length === 0) return "unchanged";
  await kube.patch(kind, object.metadata, operations, { signal });
  return "configured";
}

function differences(observed: ApiObject, wanted: ApiObject): readonly PatchOperation[] {
  const operations: PatchOperation[] = [];
  for (const [field, value] of Object.entries(wanted)) {
    if (["apiVersion", "kind", "metadata", "status"].includes(field)) continue;
    const before = (observed as unknown as Record<string, unknown>)[field];
    if (!contains(before, value)) operations.push({ op: "add", path: `/${field}`, value });
  }
  for (const field of ["labels", "annotations"] as const) {
    const before = observed.metadata[field] ?? {};
    const after = { ...before, ...wanted.metadata[field] };
    if (!equal(before, after)) operations.push({ op: "add", path: `/metadata/${field}`, value: after });
  }
  return operations;
}

/** Whether `observed` says all that `wanted` says; the API server may have added defaults. */
function contains(observed: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return Object.is(observed, wanted);
  if (typeof observed !== "object" || observed === null) return false;
  if (Array.isArray(wanted)) {
    return Array.isArray(observed) && observed.length === wanted.length &&
      wanted.every((item, i) => contains(observed[i], item));
  }
  return Object.entries(wanted).every(([key, value]) =>
    contains((observed as Record<string, unknown>)[key], value)
  );
}
