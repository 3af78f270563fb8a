/**
 * JSON patches that hit only the object that they were made for. RFC 6902.
 *
 * @module
 */
import type { ApiObject } from "../crds/kind.ts";
import { isStatus } from "./errors.ts";
import type { PatchOperation } from "./types.ts";

/** A JSON pointer to a value. RFC 6901. */
export function pointer(...segments: readonly (string | number)[]): string {
  return segments.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(
    "",
  );
}

/** The operations, to be done only if the object is still the one observed: they were computed from it. */
export function guarded(
  observed: ApiObject,
  operations: readonly PatchOperation[],
): readonly PatchOperation[] {
  const { resourceVersion } = observed.metadata;
  if (resourceVersion === undefined) {
    throw new TypeError(
      `Cannot guard a patch of ${observed.kind} "${observed.metadata.name}": it has no version`,
    );
  }
  return [{ op: "test", path: "/metadata/resourceVersion", value: resourceVersion }, ...operations];
}

/**
 * Whether a write failed because the object has changed since it was read: a stale update is told as 409. A patch that does not
 * apply, such as for a failed `test`, is told as 422 without saying what failed; an object that is invalid is 422 as well, but
 * named with its fields.
 */
export function isConflict(error: unknown): boolean {
  if (isStatus(error, 409)) return error.reason !== "AlreadyExists";
  if (!isStatus(error, 422)) return false;
  const { name, causes = [] } = error.details;
  return name === undefined && causes.every(({ field }) => !field);
}
