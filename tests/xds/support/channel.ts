/**
 * A queue to be read as an async iterable.
 *
 * @module
 */

export class Channel<T> implements AsyncIterable<T> {
  readonly #values: T[] = [];
  #ended = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  send(...values: readonly T[]): void {
    this.#values.push(...values);
    this.#wake?.();
  }

  end(failure?: unknown): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      for (let value = this.#values.shift(); value !== undefined; value = this.#values.shift()) yield value;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }
}
