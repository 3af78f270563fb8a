/**
 * Tables that are derived.
 *
 * @module
 */
import { equal } from "./equal.ts";
import { kept } from "./kept.ts";
import { Node, type Shared } from "./node.ts";
import { type Cell, Readers } from "./readers.ts";
import type { Derivation, DeriveOptions, Key, Read, Table } from "./table.ts";

const nothing: readonly Readers[] = [];

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
