/**
 * What a table graph offers: the types of {@linkcode Graph} in `graph.ts`, from where everybody imports them.
 *
 * @module
 */

export type Key = string;

/** A read-only keyed collection. Values are immutable. */
export interface Table<V> {
  readonly name: string;
  readonly size: number;
  get(key: Key): V | undefined;
  /** In no particular order. */
  entries(): MapIterator<[Key, V]>;
  /** Keys added, replaced or removed by the last {@linkcode Graph.settle}. */
  readonly changed: ReadonlySet<Key>;
  /** Keys whose function threw, with what it threw: bugs, since what a user gets wrong is a value. */
  readonly failures: ReadonlyMap<Key, unknown>;
}

/** A table that is filled from outside. Changes are seen from the next {@linkcode Graph.settle} on. */
export interface Source<V> extends Table<V> {
  set(key: Key, value: V): void;
  delete(key: Key): void;
  /** Makes these all the rows there are, as after a new list; equal rows do not count as changed. */
  replace(all: Iterable<readonly [Key, V]>): void;
}

/** Looks a row up and remembers that the caller depends on it, whether the row is there or not. */
export type Read = <V>(table: Table<V>, key: Key) => V | undefined;

/** Pure: same `input`, same reads, same result. `undefined` means no row. */
export type Derivation<I, O> = (input: I, read: Read, key: Key) => O | undefined;

/** A function that threw in one settle. */
export interface Failure {
  readonly table: string;
  readonly key: Key;
  readonly error: unknown;
}

/** What one {@linkcode Graph.settle} did. */
export interface Settlement {
  /** Whether any row of any table changed. */
  readonly changed: boolean;
  /** How many settles so far changed anything: names the state that the tables are in now. */
  readonly sequence: number;
  /** Calls of derivations. */
  readonly recomputed: number;
  /** Rows added, replaced or removed, in all tables. */
  readonly written: number;
  readonly failures: readonly Failure[];
  /** How long it took, without the time between its pieces; 0 without a clock. */
  readonly milliseconds: number;
}

/** Totals since the start, for metrics and for tests that count work. */
export interface Stats {
  readonly settles: number;
  readonly recomputed: number;
  readonly written: number;
  /** Keys that are failing now, over all tables. */
  readonly failing: number;
  /** Look-ups that are remembered now, over all tables. */
  readonly dependencies: number;
}

export interface GraphOptions {
  /** Freezes every row all the way down: for tests. */
  readonly freeze?: boolean;
  /** Measures {@linkcode Settlement.milliseconds}. */
  readonly clock?: { monotonic(): number };
  /** Told of every function that threw, once the settle is through. */
  readonly onFailure?: (failure: Failure) => void;
}

/** How a table compares; two values that are the `same` must be interchangeable for everybody who reads them. */
export interface SourceOptions<V> {
  /** By structure if absent. */
  readonly same?: (before: V, after: V) => boolean;
}

export interface DeriveOptions<I, O> extends SourceOptions<O> {
  /** Gives the row to show where the derivation threw; pure as well. Without it there is no row. */
  readonly failed?: (error: unknown, input: I, key: Key) => O | undefined;
}

/** A group of an {@linkcode Graph.index}: its members by key, sorted. */
export type Group<V> = ReadonlyMap<Key, V>;
