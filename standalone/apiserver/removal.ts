/**
 * Requests to delete: one object, or all that match.
 *
 * @module
 */
import { type Deletion, remove } from "./deletion.ts";
import type { DeleteOptions } from "./request.ts";
import type { Resource } from "./resources.ts";
import { forbidden, notFound, type Status, success } from "./status.ts";
import type { Row } from "./store.ts";
import { keyOfTarget, subjectOf, type Target, type Writing } from "./target.ts";

/** Resources whose objects are given back when they are deleted. */
const returned = ["services", "serviceaccounts"];

/** Deletes one object. */
export function removeOne(
  api: Writing,
  target: Target,
  options: DeleteOptions,
): Promise<Row | Status> {
  const { resource } = target;
  const subject = subjectOf(resource);
  const name = target.name!;
  return api.store.write((tx) => {
    const row = tx.get(resource.id, keyOfTarget(target));
    if (!row) throw notFound(subject, name);
    if (resource.id === "namespaces" && ["default", "kube-public", "kube-system"].includes(name)) {
      throw forbidden(subject, name, "this namespace may not be deleted");
    }
    const removed = remove(tx, resource, row, deletion(api, options));
    if (!removed.gone) return removed.row;
    if (!returned.includes(resource.id)) return success(subject, name, row.object.metadata.uid);
    return options.dryRun ? row : removed.row;
  }, options);
}

/** Deletes what matches, and answers with it as it was. */
export async function removeAll(
  api: Writing,
  resource: Resource,
  rows: readonly Row[],
  options: DeleteOptions,
): Promise<readonly Row[]> {
  const removed: Row[] = [];
  for (let i = 0; i < rows.length; i += 100) { // in portions: a transaction holds up all others
    removed.push(
      ...await api.store.write((tx) =>
        rows.slice(i, i + 100).flatMap(({ key }) => {
          const row = tx.get(resource.id, key);
          if (!row) return [];
          remove(tx, resource, row, deletion(api, options));
          return [row];
        }), options),
    );
  }
  return removed;
}

function deletion(api: Writing, options: DeleteOptions): Deletion {
  return { propagation: options.propagation, preconditions: options.preconditions, now: api.clock.now() };
}
