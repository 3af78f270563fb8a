/**
 * Tables whose rows are groups of the rows of another.
 *
 * @module
 */
import { Node, type Shared } from "./node.ts";
import { SortedMap } from "./sorted_map.ts";
import type { Key, Table } from "./table.ts";

/** Rows of one table in groups. */
export class IndexNode<V> extends Node<SortedMap<V>> {
  readonly #input: Table<V>;
  readonly #groupsOf: (value: V, key: Key) => readonly Key[];
  readonly #memberships = new Map<Key, readonly Key[]>();
  /** Rows that are still to be looked at, then what that comes to in each group. */
  readonly #moved = new Set<Key>();
  readonly #edits = new Map<Key, Map<Key, V | undefined>>();

  constructor(
    name: string,
    shared: Shared,
    ordinal: number,
    input: Table<V>,
    groupsOf: (value: V, key: Key) => readonly Key[],
  ) {
    super(name, shared, ordinal);
    this.#input = input;
    this.#groupsOf = groupsOf;
  }

  settle(): void {
    for (const key of this.#input.changed) this.#moved.add(key);
  }

  resume(pause: () => boolean): boolean {
    for (const key of this.#moved) {
      this.#moved.delete(key);
      this.#regroup(key);
      if (pause()) return false;
    }
    for (const [group, members] of this.#edits) {
      this.#edits.delete(group);
      const after = (this.rows.get(group) ?? SortedMap.empty<V>()).with(members);
      this.write(group, after.size > 0 ? after : undefined);
      if (pause()) break;
    }
    return this.#edits.size === 0;
  }

  /** Notes what a row changes in which groups. */
  #regroup(key: Key): void {
    const edit = (group: Key, key: Key, value: V | undefined) => {
      const members = this.#edits.get(group);
      if (members) members.set(key, value);
      else this.#edits.set(group, new Map([[key, value]]));
    };
    for (const group of this.#memberships.get(key) ?? []) edit(group, key, undefined);
    const value = this.#input.get(key);
    const groups = value === undefined ? [] : this.#group(value, key);
    if (value === undefined) this.failures.delete(key);
    if (groups.length === 0) this.#memberships.delete(key);
    else this.#memberships.set(key, groups);
    for (const group of groups) edit(group, key, value);
  }

  #group(value: V, key: Key): readonly Key[] {
    this.shared.deriving = this.name;
    try {
      const groups = this.#groupsOf(value, key);
      this.failures.delete(key);
      return groups;
    } catch (error) {
      this.fail(key, error);
      return [];
    } finally {
      this.shared.deriving = undefined;
    }
  }
}
