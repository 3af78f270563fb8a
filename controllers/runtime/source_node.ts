/**
 * Tables that are filled from outside.
 *
 * @module
 */
import { equal } from "./equal.ts";
import { Node, type Shared } from "./node.ts";
import type { Key, Source, SourceOptions } from "./table.ts";

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

  /** Nothing comes before it. */
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
