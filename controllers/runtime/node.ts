/**
 * The four sorts of tables behind {@linkcode Graph}: how each takes in what changed before it.
 *
 * @module
 */
import { equal } from "./equal.ts";
import { freeze } from "./freeze.ts";
import { kept } from "./kept.ts";
import { type Cell, Readers } from "./readers.ts";
import { SortedMap } from "./sorted_map.ts";
import type { Derivation, DeriveOptions, Failure, Key, Read, Source, SourceOptions, Table } from "./table.ts";

const nothing: readonly Readers[] = [];

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

/** Rows from outside. */
export class SourceNode<V> extends Node<V> implements Source<V> {
  #pending = new Map<Key, V | undefined>();
  /** What was pending when the settle that is under way began. */
  #taken = new Map<Key, V | undefined>();
  readonly #same: (before: V, after: V) => boolean;

  constructor(name: string, shared: Shared, ordinal: number, options: SourceOptions<V>) {
    super(name, shared, ordinal);
    this.#same = options.same ?? equal;
  }

  get pending(): boolean {
    return this.#pending.size > 0;
  }

  set(key: Key, value: V): void {
    this.#refuseWrites();
    this.#pending.set(key, value);
  }

  delete(key: Key): void {
    this.#refuseWrites();
    this.#pending.set(key, undefined);
  }

  replace(all: Iterable<readonly [Key, V]>): void {
    this.#refuseWrites();
    this.#pending.clear();
    for (const key of this.#taken.keys()) this.#pending.set(key, undefined);
    for (const key of this.rows.keys()) this.#pending.set(key, undefined);
    for (const [key, value] of all) this.#pending.set(key, value);
  }

  /** A settle begins: what is written from now on is for the next one. */
  begin(): void {
    if (this.#pending.size > 0) [this.#taken, this.#pending] = [this.#pending, this.#taken];
  }

  settle(): void {}

  resume(pause: () => boolean): boolean {
    for (const [key, value] of this.#taken) {
      this.#taken.delete(key);
      const before = this.rows.get(key);
      if (before !== value && !(before !== undefined && value !== undefined && this.#same(before, value))) {
        this.write(key, value);
      }
      if (pause()) break;
    }
    return this.#taken.size === 0;
  }

  #refuseWrites(): void {
    const { deriving } = this.shared;
    if (deriving !== undefined) {
      throw new Error(`Cannot change source "${this.name}" while deriving "${deriving}"`);
    }
  }
}

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

/** Rows of several tables side by side. */
export class UnionNode<V> extends Node<V> {
  readonly #parts: readonly (readonly [prefix: string, table: Table<V>])[];
  #rest: Iterator<void> = [][Symbol.iterator]();

  constructor(
    name: string,
    shared: Shared,
    ordinal: number,
    parts: readonly (readonly [prefix: string, table: Table<V>])[],
  ) {
    super(name, shared, ordinal);
    this.#parts = parts;
  }

  settle(): void {
    this.#rest = this.#rows();
  }

  resume(pause: () => boolean): boolean {
    while (!this.#rest.next().done) if (pause()) return false;
    return true;
  }

  *#rows(): Generator<void, void> {
    for (const [prefix, table] of this.#parts) {
      for (const key of table.changed) {
        this.write(prefix + key, table.get(key));
        yield;
      }
    }
  }
}

/** Rows made from rows, and from what they look up. */
export class DerivedNode<I, O> extends Node<O> {
  readonly #input: Table<I>;
  readonly #derivation: Derivation<I, O>;
  readonly #failed: DeriveOptions<I, O>["failed"];
  readonly #same: (before: O, after: O) => boolean;
  readonly #dirty = new Set<Key>();
  /** Only rows that look something up have one. */
  readonly #cells = new Map<Key, Cell>();
  /** What the running derivation has looked up so far. */
  readonly #reads: Readers[] = [];

  constructor(
    name: string,
    shared: Shared,
    ordinal: number,
    input: Table<I>,
    derivation: Derivation<I, O>,
    options: DeriveOptions<I, O>,
  ) {
    super(name, shared, ordinal);
    this.#input = input;
    this.#derivation = derivation;
    this.#failed = options.failed;
    this.#same = options.same ?? equal;
  }

  settle(): void {
    for (const key of this.#input.changed) this.#dirty.add(key);
  }

  resume(pause: () => boolean): boolean {
    for (const key of this.#dirty) {
      this.#dirty.delete(key);
      this.#recompute(key);
      if (pause()) break;
    }
    return this.#dirty.size === 0;
  }

  #recompute(key: Key): void {
    const input = this.#input.get(key);
    if (input === undefined) {
      this.failures.delete(key);
      this.#depend(key, nothing);
      return this.write(key, undefined);
    }
    this.shared.recomputed++;
    this.shared.deriving = this.name;
    let output: O | undefined, unchanged = false;
    try {
      output = this.#derivation(input, this.#read, key);
      unchanged = this.#unchanged(key, output);
      this.failures.delete(key);
    } catch (error) {
      this.fail(key, error);
      output = this.#replacement(error, input, key);
    } finally {
      this.shared.deriving = undefined;
    }
    this.#depend(key, this.#reads);
    if (!unchanged) this.write(key, output);
  }

  /** The cut-off: nothing that reads an unchanged row is computed anew. */
  #unchanged(key: Key, output: O | undefined): boolean {
    const before = this.rows.get(key);
    return before === output || before !== undefined && output !== undefined && this.#same(before, output);
  }

  #replacement(error: unknown, input: I, key: Key): O | undefined {
    try {
      return this.#failed?.(error, input, key);
    } catch (second) {
      this.fail(key, new AggregateError([error, second], `Cannot replace the failed row "${key}"`));
      return undefined;
    }
  }

  readonly #read: Read = (table, key) => {
    if (this.shared.deriving !== this.name) {
      throw new Error(`Cannot read "${table.name}" for "${this.name}" after its derivation has returned`);
    }
    if (!(table instanceof Node) || table.shared !== this.shared || table.ordinal >= this.ordinal) {
      throw new Error(
        `Cannot read "${table.name}" for "${this.name}": it is not an earlier table of the same graph`,
      );
    }
    let readers: Readers | undefined = table.readers.get(key);
    if (readers === undefined) table.readers.set(key, readers = new Readers(table, key));
    this.#reads.push(readers);
    return table.rows.get(key);
  };

  /** Makes `reads` all that a row depends on. Mostly they are what they were before. */
  #depend(key: Key, reads: readonly Readers[]): void {
    const cell = this.#cells.get(key) ?? { dirty: this.#dirty, key, reads: nothing };
    const known = same(cell.reads, reads), now = known ? cell.reads : kept(reads);
    this.#reads.length = 0;
    if (known) return;
    const before = new Set(cell.reads), after = new Set(now);
    for (const readers of before) {
      if (after.has(readers)) continue;
      readers.delete(cell);
      this.shared.dependencies--;
      if (readers.empty) readers.node.readers.delete(readers.key);
    }
    for (const readers of after) {
      if (before.has(readers)) continue;
      readers.add(cell);
      this.shared.dependencies++;
    }
    cell.reads = now;
    if (now.length > 0) this.#cells.set(key, cell);
    else this.#cells.delete(key);
  }
}

function same(a: readonly Readers[], b: readonly Readers[]): boolean {
  return a.length === b.length && a.every((readers, i) => readers === b[i]);
}
