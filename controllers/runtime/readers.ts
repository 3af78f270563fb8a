/**
 * Who looked up what, so that a change of it is told to them.
 *
 * @module
 */
import type { Node } from "./node.ts";
import type { Key } from "./table.ts";

/** One derived row as the owner of dependencies. */
export interface Cell {
  readonly dirty: Set<Key>;
  readonly key: Key;
  /** What its last computation looked up, in order; the same may be there twice. */
  reads: readonly Readers[];
}

/** Who looked up one key of one table: mostly one row, for which a set would be large. Not kept once it is nobody. */
export class Readers {
  #cells: Cell | Set<Cell> | undefined;

  constructor(readonly node: Node<unknown>, readonly key: Key) {}

  get empty(): boolean {
    return this.#cells === undefined;
  }

  add(cell: Cell): void {
    if (this.#cells === undefined) this.#cells = cell;
    else if (this.#cells instanceof Set) this.#cells.add(cell);
    else this.#cells = new Set([this.#cells, cell]);
  }

  delete(cell: Cell): void {
    if (this.#cells === cell) this.#cells = undefined;
    else if (this.#cells instanceof Set && this.#cells.delete(cell) && this.#cells.size === 1) {
      [this.#cells] = this.#cells;
    }
  }

  /** What they read has changed. */
  dirty(): void {
    if (this.#cells === undefined) return;
    for (const { dirty, key } of this.#cells instanceof Set ? this.#cells : [this.#cells]) dirty.add(key);
  }
}
