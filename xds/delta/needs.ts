/**
 * What resources need, as sets.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { XdsResource } from "../types.ts";

const sets = new WeakMap<XdsResource["needs"], ReadonlySet<ResourceId>>();

/** All ids in lists of ids. Made once per version of a resource, however many streams ask. */
export function idsIn(needs: XdsResource["needs"]): ReadonlySet<ResourceId> {
  let ids = sets.get(needs);
  if (!ids) sets.set(needs, ids = new Set(needs.flat()));
  return ids;
}
