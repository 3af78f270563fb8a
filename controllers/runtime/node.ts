/**
 * What the four sorts of tables behind {@linkcode Graph} have in common.
 *
 * @module
 */
import { freeze } from "./freeze.ts";
import type { Readers } from "./readers.ts";
import type { Failure, Key, Table } from "./table.ts";

/** What the tables of one graph share. */
export interface Shared {
  readonly freeze: boolean;
  /** The table whose derivation is running. */
  deriving: string | undefined;
  recomputed: number;
  written: number;
  dependencies: number;
  failures: Failure[];
}

/** A table as its graph sees it. */
export abstract class Node<V> implements Table<V> {
  readonly rows = new Map<Key, V>();
  readonly changed = new Set<Key>();
  readonly failures = new Map<Key, unknown>();
  readonly readers = new Map<Key, Readers>();

  constructor(readonly name: string, readonly shared: Shared, readonly ordinal: number) {}

  get size(): number {
    this.#refuseUntracked();
    return this.rows.size;
  }

  get(key: Key): V | undefined {
    this.#refuseUntracked();
    return this.rows.get(key);
  }

  entries(): MapIterator<[Key, V]> {
    this.#refuseUntracked();
    return this.rows.entries();
  }

  /** Notes what changed before it; {@linkcode resume} takes that in. */
  abstract settle(): void;

  /** Goes on until it is through, or `pause`, which is asked after each row, says that it is time to stop; false if something is left to do. */
  abstract resume(pause: () => boolean): boolean;

  protected write(key: Key, value: V | undefined): void {
    if (value === undefined) {
      if (!this.rows.delete(key)) return;
    } else {
      this.rows.set(key, this.shared.freeze ? freeze(value) : value);
    }
    this.changed.add(key);
    this.shared.written++;
    this.readers.get(key)?.dirty();
  }

  protected fail(key: Key, error: unknown): void {
    this.failures.set(key, error);
    this.shared.failures.push({ table: this.name, key, error });
  }

  /** A dependency that nobody remembers would make rows go stale without a sign. */
  #refuseUntracked(): void {
    const { deriving } = this.shared;
    if (deriving !== undefined) {
      throw new Error(`Cannot look at table "${this.name}" while deriving "${deriving}": use read`);
    }
  }
}
