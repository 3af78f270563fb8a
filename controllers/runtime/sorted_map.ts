/**
 * An immutable map, sorted by key, whose versions share almost everything.
 *
 * The groups of an index are such maps. Three things follow: a version that somebody kept never changes under
 * them; one edit of a group of 10,000 copies some 200 references and not 10,000 entries; and the order of
 * iteration follows the keys alone, so that no result can depend on the order in which things happened.
 *
 * @module
 */
import { kept } from "./kept.ts";

/** A run of neighbouring entries. `keys` is sorted and never empty. */
interface Chunk<V> {
  readonly keys: readonly string[];
  readonly values: readonly V[];
}

/** Chunks hold at most this many entries; one that shrinks below a quarter joins its neighbour. */
const chunkSize = 128;

/** Sorted by UTF-16 code units, as `<` compares strings. */
export class SortedMap<V> implements ReadonlyMap<string, V> {
  readonly #chunks: readonly Chunk<V>[];
  readonly size: number;

  private constructor(chunks: readonly Chunk<V>[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  static empty<V>(): SortedMap<V> {
    return new SortedMap<V>([], 0);
  }

  get(key: string): V | undefined {
    const chunk = this.#chunkOf(key);
    if (chunk === undefined) return undefined;
    const at = lowerBound(chunk.keys, key);
    return chunk.keys[at] === key ? chunk.values[at] : undefined;
  }

  has(key: string): boolean {
    const chunk = this.#chunkOf(key);
    return chunk !== undefined && chunk.keys[lowerBound(chunk.keys, key)] === key;
  }

  /**
   * A map with these entries set or, where the value is `undefined`, removed. Costs about the number of edits,
   * plus one reference for every {@linkcode chunkSize} entries.
   */
  with(edits: ReadonlyMap<string, V | undefined>): SortedMap<V> {
    if (edits.size === 0) return this;
    const sorted = [...edits.keys()].sort(byCodeUnits);
    const chunks: Chunk<V>[] = [];
    let size = this.size, next = 0, gap: Chunk<V> | undefined;
    const emit = (chunk: Chunk<V>) => {
      // A chunk that has become small waits here to be joined with whatever follows it.
      const whole: Chunk<V> = gap ? join(gap, chunk) : chunk;
      gap = undefined;
      if (whole.keys.length === 0) return;
      if (whole.keys.length < chunkSize / 4) gap = whole;
      else if (whole.keys.length <= chunkSize) chunks.push(whole);
      else split(whole, chunks);
    };
    const count = Math.max(this.#chunks.length, 1);
    for (let i = 0; i < count; i++) {
      const chunk: Chunk<V> = this.#chunks[i] ?? { keys: [], values: [] };
      const limit = this.#chunks[i + 1]?.keys[0];
      const from = next;
      while (next < sorted.length && (limit === undefined || sorted[next]! < limit)) next++;
      if (next === from) {
        if (gap === undefined) chunks.push(chunk);
        else emit(chunk);
        continue;
      }
      const merged = merge(chunk, sorted, from, next, edits);
      size += merged.keys.length - chunk.keys.length;
      emit(merged);
    }
    if (gap !== undefined) {
      const last = chunks.pop();
      if (last === undefined) chunks.push(gap);
      else if (last.keys.length + gap.keys.length <= chunkSize) chunks.push(join(last, gap));
      else chunks.push(last, gap);
    }
    return new SortedMap(kept(chunks), size);
  }

  /** How many entries lie in pieces that both versions hold in common: what a test of the sharing counts. */
  sharedWith(other: SortedMap<V>): number {
    const theirs = new Set(other.#chunks);
    let shared = 0;
    for (const chunk of this.#chunks) if (theirs.has(chunk)) shared += chunk.keys.length;
    return shared;
  }

  /** Whether both hold the same keys with values that are `same`; pieces in common are not looked at. */
  equals(other: SortedMap<V>, same: (a: V, b: V) => boolean): boolean {
    if (this === other) return true;
    if (this.size !== other.size) return false;
    const a = this.#chunks, b = other.#chunks;
    let i = 0, j = 0, x = 0, y = 0;
    while (i < a.length && j < b.length) {
      const p = a[i]!, q = b[j]!;
      if (p === q && x === 0 && y === 0) {
        i++, j++;
        continue;
      }
      if (p.keys[x] !== q.keys[y] || !same(p.values[x]!, q.values[y]!)) return false;
      if (++x === p.keys.length) i++, x = 0;
      if (++y === q.keys.length) j++, y = 0;
    }
    return true;
  }

  forEach(run: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const { keys, values } of this.#chunks) keys.forEach((key, i) => run(values[i]!, key, this));
  }

  *entries(): Generator<[string, V], undefined> {
    for (const { keys, values } of this.#chunks) {
      for (let i = 0; i < keys.length; i++) yield [keys[i]!, values[i]!];
    }
  }

  *keys(): Generator<string, undefined> {
    for (const { keys } of this.#chunks) yield* keys;
  }

  *values(): Generator<V, undefined> {
    for (const { values } of this.#chunks) yield* values;
  }

  [Symbol.iterator](): Generator<[string, V], undefined> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return "SortedMap";
  }

  [Symbol.for("Deno.customInspect")](inspect: (value: unknown, options: object) => string, options: object) {
    return `SortedMap ${inspect(new Map(this), options).replace(/^Map/, "")}`;
  }

  #chunkOf(key: string): Chunk<V> | undefined {
    let low = 0, high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#chunks[middle]!.keys[0]! <= key) low = middle + 1;
      else high = middle;
    }
    return this.#chunks[low - 1];
  }
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The first position whose key is not below `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0, high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function join<V>(a: Chunk<V>, b: Chunk<V>): Chunk<V> {
  return { keys: a.keys.concat(b.keys), values: a.values.concat(b.values) };
}

/** Cuts a chunk that is too long into even pieces of at most {@linkcode chunkSize}, appended to `out`. */
function split<V>(chunk: Chunk<V>, out: Chunk<V>[]): void {
  const { length } = chunk.keys;
  const pieces = Math.ceil(length / chunkSize);
  for (let i = 0; i < pieces; i++) {
    const from = Math.floor(length * i / pieces), to = Math.floor(length * (i + 1) / pieces);
    out.push({ keys: chunk.keys.slice(from, to), values: chunk.values.slice(from, to) });
  }
}

/** Applies the edits `sorted[from..to)` to one chunk; the result may be empty or too long. */
function merge<V>(
  chunk: Chunk<V>,
  sorted: readonly string[],
  from: number,
  to: number,
  edits: ReadonlyMap<string, V | undefined>,
): Chunk<V> {
  const keys: string[] = [], values: V[] = [];
  let at = 0;
  for (let e = from; e < to; e++) {
    const key = sorted[e]!;
    for (; at < chunk.keys.length && chunk.keys[at]! < key; at++) {
      keys.push(chunk.keys[at]!);
      values.push(chunk.values[at]!);
    }
    if (chunk.keys[at] === key) at++;
    const value = edits.get(key);
    if (value === undefined) continue;
    keys.push(key);
    values.push(value);
  }
  for (; at < chunk.keys.length; at++) {
    keys.push(chunk.keys[at]!);
    values.push(chunk.values[at]!);
  }
  return { keys: kept(keys), values: kept(values) };
}
