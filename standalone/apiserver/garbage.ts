/**
 * The garbage collector: what is owned goes with its owners.
 *
 * As kube-controller-manager's: dependents of an owner that is gone are deleted unless they have another one
 * (background), those of an owner that waits in the foreground go before it, those that are to be orphaned lose their
 * reference. Owners of kinds that are not served here count as alive.
 *
 * @module
 */
import type { ApiObject, OwnerReference } from "../../crds/kind.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { persistently } from "./persistently.ts";
import { remove, replace } from "./deletion.ts";
import type { Resources } from "./resources.ts";
import type { Row, Store, StoreEvent, Transaction } from "./store.ts";

export interface Collecting {
  readonly store: Store;
  readonly resources: Resources;
  readonly clock: Clock;
  readonly log: Log;
}

/** `resource key` */
type Id = string;

const idOf = (row: Row): Id => `${row.resource} ${row.key}`;
const split = (id: Id): readonly [string, string] => id.split(" ") as [string, string];
const ownersOf = (object: ApiObject): readonly OwnerReference[] => object.metadata.ownerReferences ?? [];

const waitsFor = (object: ApiObject, finalizer: string): boolean =>
  object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).includes(finalizer);

/** Collects until `signal` is aborted. */
export async function collectGarbage(api: Collecting, signal: AbortSignal): Promise<void> {
  const collector = new Collector(api);
  using _ = api.store.subscribe((events) => collector.notice(events));
  let seen = api.store.revision;
  while (!signal.aborted) {
    const batch = collector.take(50);
    if (batch.length > 0) {
      await persistently(api, signal, (tx) => {
        for (const id of batch) collector.collect(tx, id);
      });
      continue;
    }
    await api.store.changed(seen, signal);
    seen = api.store.revision;
  }
}

class Collector {
  readonly #dependents = new Map<string, Set<Id>>();
  readonly #uids = new Map<string, Id>();
  readonly #pending = new Set<Id>();

  constructor(readonly api: Collecting) {
    for (const { id } of api.resources.all) {
      for (const row of api.store.rows(id)) this.#add(row);
    }
  }

  /** Objects that have to be looked at, and are no longer pending. */
  take(count: number): readonly Id[] {
    const taken = [...this.#pending.values().take(count)];
    for (const id of taken) this.#pending.delete(id);
    return taken;
  }

  notice(events: readonly StoreEvent[]): void {
    for (const { type, row, previous } of events) {
      if (previous) this.#drop(previous, type === "DELETED" ? [] : ownersOf(row.object));
      if (type === "DELETED") {
        this.#uids.delete(row.object.metadata.uid!);
        for (const id of this.#dependents.get(row.object.metadata.uid!) ?? []) this.#pending.add(id);
      } else this.#add(row);
    }
  }

  #add(row: Row): void {
    this.#uids.set(row.object.metadata.uid!, idOf(row));
    for (const { uid } of ownersOf(row.object)) {
      const dependents = this.#dependents.get(uid) ?? new Set();
      this.#dependents.set(uid, dependents.add(idOf(row)));
    }
    const waits = waitsFor(row.object, "foregroundDeletion") || waitsFor(row.object, "orphan");
    if (waits || ownersOf(row.object).length > 0) this.#pending.add(idOf(row));
  }

  #drop(row: Row, kept: readonly OwnerReference[]): void {
    for (const { uid } of ownersOf(row.object)) {
      if (kept.some((owner) => owner.uid === uid)) continue;
      const dependents = this.#dependents.get(uid);
      dependents?.delete(idOf(row));
      if (dependents?.size === 0) this.#dependents.delete(uid);
      // One dependent less: an owner that waits for it may be done.
      const owner = this.#uids.get(uid);
      if (owner !== undefined) this.#pending.add(owner);
    }
  }

  collect(tx: Transaction, id: Id): void {
    const [resource, key] = split(id);
    const row = tx.get(resource, key);
    if (!row) return;
    if (waitsFor(row.object, "orphan")) return this.#orphan(tx, row);
    if (waitsFor(row.object, "foregroundDeletion")) return this.#foreground(tx, row);
    if (row.object.metadata.deletionTimestamp === undefined) this.#judge(tx, row);
  }

  /** Frees the dependents, then lets the owner go. */
  #orphan(tx: Transaction, owner: Row): void {
    const { uid } = owner.object.metadata;
    for (const row of this.#dependentsOf(tx, uid!)) {
      replace(tx, row, withOwners(row.object, ownersOf(row.object).filter((other) => other.uid !== uid)));
    }
    replace(tx, owner, withoutFinalizer(owner.object, "orphan"));
  }

  /** Lets the owner go once no dependent blocks it; until then asks them to go. */
  #foreground(tx: Transaction, owner: Row): void {
    const { uid } = owner.object.metadata;
    const dependents = this.#dependentsOf(tx, uid!);
    const blocking = dependents.filter(({ object }) =>
      ownersOf(object).some((other) => other.uid === uid && other.blockOwnerDeletion)
    );
    if (blocking.length === 0) {
      replace(tx, owner, withoutFinalizer(owner.object, "foregroundDeletion"));
      return;
    }
    for (const row of dependents) {
      if (row.object.metadata.deletionTimestamp === undefined) this.#pending.add(idOf(row));
    }
  }

  /** Deletes a dependent whose owners are all gone or going. */
  #judge(tx: Transaction, row: Row): void {
    const owners = ownersOf(row.object);
    if (owners.length === 0) return;
    const states = owners.map((owner) => this.#stateOf(tx, row, owner));
    if (states.every((state) => state === "alive")) return;
    const resource = this.api.resources.byId(row.resource);
    if (!resource) return;
    if (states.includes("alive")) {
      replace(tx, row, withOwners(row.object, owners.filter((_, index) => states[index] === "alive")));
      return;
    }
    const foreground = states.includes("waiting") &&
      this.#dependentsOf(tx, row.object.metadata.uid!).length > 0;
    remove(tx, resource, row, {
      propagation: foreground ? "Foreground" : this.#propagation(row.object),
      now: this.api.clock.now(),
    });
  }

  #propagation({ metadata }: ApiObject): "Orphan" | "Foreground" | "Background" {
    if (metadata.finalizers?.includes("orphan")) return "Orphan";
    return metadata.finalizers?.includes("foregroundDeletion") ? "Foreground" : "Background";
  }

  #stateOf(tx: Transaction, row: Row, owner: OwnerReference): "alive" | "gone" | "waiting" {
    const resource = this.api.resources.byKind(owner.apiVersion, owner.kind);
    if (!resource) return "alive";
    const { namespace } = row.object.metadata;
    const key = resource.kind.namespaced ? `${namespace ?? ""}/${owner.name}` : owner.name;
    const found = tx.get(resource.id, key)?.object;
    if (!found || found.metadata.uid !== owner.uid) return "gone";
    return owner.blockOwnerDeletion && waitsFor(found, "foregroundDeletion") ? "waiting" : "alive";
  }

  #dependentsOf(tx: Transaction, uid: string): readonly Row[] {
    return [...this.#dependents.get(uid) ?? []].map((id) => tx.get(...split(id))).filter((row) =>
      row !== undefined && ownersOf(row.object).some((owner) => owner.uid === uid)
    ) as Row[];
  }
}

function withOwners(object: ApiObject, owners: readonly OwnerReference[]): ApiObject {
  const { ownerReferences: _, ...metadata } = object.metadata;
  return { ...object, metadata: owners.length > 0 ? { ...metadata, ownerReferences: owners } : metadata };
}

function withoutFinalizer(object: ApiObject, name: string): ApiObject {
  const { finalizers = [], ...metadata } = object.metadata;
  const left = finalizers.filter((other) => other !== name);
  return { ...object, metadata: left.length > 0 ? { ...metadata, finalizers: left } : metadata };
}
