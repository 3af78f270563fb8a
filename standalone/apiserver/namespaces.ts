/**
 * The namespace controller: empties a namespace that is being deleted, then lets it go.
 *
 * @module
 */
import type { ApiObject, Condition } from "../../crds/kind.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import { remove, replace, timestamp } from "./deletion.ts";
import type { Collecting } from "./garbage.ts";
import { persistently } from "./persistently.ts";
import type { Unstructured } from "./resources.ts";
import type { Row, StoreEvent, Transaction } from "./store.ts";

/** How many objects one transaction deletes. */
const portion = 100;

/** Empties namespaces until `signal` is aborted. */
export async function emptyNamespaces(api: Collecting, signal: AbortSignal): Promise<void> {
  const pending = new Set<string>();
  const terminating = (row: Row | undefined) => row?.object.metadata.deletionTimestamp !== undefined;
  const notice = ({ row, type }: StoreEvent) => {
    const name = row.resource === "namespaces"
      ? row.key
      : type === "DELETED"
      ? row.object.metadata.namespace
      : undefined;
    if (name !== undefined && terminating(api.store.get("namespaces", name))) pending.add(name);
  };
  for (const row of api.store.rows("namespaces")) if (terminating(row)) pending.add(row.key);
  using _ = api.store.subscribe((events) => events.forEach(notice));
  let seen = api.store.revision;
  while (!signal.aborted) {
    const [name] = pending;
    if (name !== undefined) {
      pending.delete(name);
      if (await persistently(api, signal, (tx) => empty(tx, api, name))) pending.add(name);
      continue;
    }
    await api.store.changed(seen, signal);
    seen = api.store.revision;
  }
}

/** @returns whether there is more to delete at once */
function empty(tx: Transaction, api: Collecting, name: string): boolean {
  const namespace = tx.get("namespaces", name);
  if (namespace?.object.metadata.deletionTimestamp === undefined) return false;
  const now = api.clock.now();
  let budget = portion;
  const left: { readonly id: string; readonly rows: readonly Row[] }[] = [];
  for (const resource of api.resources.all.filter(({ kind }) => kind.namespaced)) {
    for (const row of tx.rows(resource.id, name)) {
      if (row.object.metadata.deletionTimestamp !== undefined) continue;
      if (budget-- <= 0) return true;
      remove(tx, resource, row, { propagation: "Background", now });
    }
    const rows = tx.rows(resource.id, name);
    if (rows.length > 0) left.push({ id: resource.id, rows });
  }
  if (left.length === 0) {
    const { spec, ...rest } = namespace.object as Unstructured & {
      readonly spec?: { readonly finalizers?: readonly string[] };
    };
    const finalizers = (spec?.finalizers ?? []).filter((name) => name !== "kubernetes");
    const left = finalizers.length > 0 ? { finalizers } : {};
    if (equal(spec, left)) return false;
    replace(tx, namespace, { ...rest, spec: left } as unknown as ApiObject);
    return false;
  }
  const status = { phase: "Terminating", conditions: conditions(namespace.object, left, timestamp(now)) };
  if (!equal((namespace.object as Unstructured)["status"], status)) {
    tx.put("namespaces", { ...namespace.object, status } as unknown as ApiObject);
  }
  return false;
}

/** What still holds the namespace, in the words of kube-controller-manager. */
function conditions(
  namespace: ApiObject,
  left: readonly { readonly id: string; readonly rows: readonly Row[] }[],
  now: string,
): readonly Condition[] {
  const finalizers = new Map<string, number>();
  for (const { object } of left.flatMap(({ rows }) => rows)) {
    for (const name of object.metadata.finalizers ?? []) {
      finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
    }
  }
  const content = left.map(({ id, rows }) => `${id} has ${rows.length} resource instances`).join(", ");
  const held = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).join(", ");
  const before =
    ((namespace as Unstructured)["status"] as { conditions?: readonly Condition[] })?.conditions ?? [];
  const condition = (type: string, reason: string, message: string): Condition => {
    const old = before.find((other) => other.type === type);
    return { type, status: "True", reason, message, lastTransitionTime: old?.lastTransitionTime ?? now };
  };
  return [
    condition("NamespaceContentRemaining", "SomeResourcesRemain", `Some resources are remaining: ${content}`),
    condition(
      "NamespaceFinalizersRemaining",
      "SomeFinalizersRemain",
      `Some content in the namespace has finalizers remaining: ${held}`,
    ),
  ];
}
