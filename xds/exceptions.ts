/**
 * A value for each name, kept as exceptions from what is usual: a thousand proxies that have what they are to have
 * take no more memory than a few.
 *
 * @module
 */

export class Exceptions<V, Name extends string = string> {
  readonly #usual: (name: Name) => V;
  readonly #equal: (a: V, b: V) => boolean;
  readonly #exceptions = new Map<Name, V>();

  /** Whenever what is usual for a name changes, that must be told by {@linkcode keep}. */
  constructor(usual: (name: Name) => V, equal: (a: V, b: V) => boolean = Object.is) {
    this.#usual = usual;
    this.#equal = equal;
  }

  get(name: Name): V {
    const value = this.#exceptions.get(name);
    return value !== undefined || this.#exceptions.has(name) ? value as V : this.#usual(name);
  }

  set(name: Name, value: V): void {
    if (this.#equal(value, this.#usual(name))) this.#exceptions.delete(name);
    else this.#exceptions.set(name, value);
  }

  /** Keeps the value of a name for which `before` was usual until now. */
  keep(name: Name, before: V): void {
    this.set(name, this.#exceptions.has(name) ? this.#exceptions.get(name) as V : before);
  }

  /** The names whose value is not what is usual. */
  get names(): Iterable<Name> {
    return this.#exceptions.keys();
  }
}
