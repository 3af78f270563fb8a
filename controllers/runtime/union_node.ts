/**
 * Tables side by side as one.
 *
 * @module
 */
import { Node, type Shared } from "./node.ts";
import type { Table } from "./table.ts";

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
