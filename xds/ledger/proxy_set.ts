/**
 * Sets of proxies that take a bit for each: thousands of contributions may wait for hundreds of proxies.
 *
 * @module
 */
import type { ProxyState } from "./proxy.ts";

/** Bits of a word: what V8 keeps in an array without a box. */
const width = 30;

/** Who has which bit: each proxy in its own place. */
export type Bits = readonly (ProxyState | undefined)[];

export class ProxySet {
  readonly #bits: Bits;
  readonly #words: number[] = [];
  #size = 0;

  /** An empty set. Whoever gives up a bit is in no set any more. */
  constructor(bits: Bits) {
    this.#bits = bits;
  }

  get size(): number {
    return this.#size;
  }

  has({ bit }: ProxyState): boolean {
    return ((this.#words[Math.floor(bit / width)] ?? 0) & maskOf(bit)) !== 0;
  }

  add(proxy: ProxyState): void {
    if (this.has(proxy)) return;
    const index = Math.floor(proxy.bit / width);
    while (this.#words.length <= index) this.#words.push(0);
    this.#words[index]! |= maskOf(proxy.bit);
    this.#size++;
  }

  /** Whether it was in it. */
  delete(proxy: ProxyState): boolean {
    if (!this.has(proxy)) return false;
    this.#words[Math.floor(proxy.bit / width)]! &= ~maskOf(proxy.bit);
    this.#size--;
    return true;
  }

  /** How many are in the other one as well. */
  common(other: ProxySet): number {
    let count = 0;
    if (other.#size === 0) return count;
    for (let index = 0; index < this.#words.length; index++) {
      for (let rest = this.#words[index]! & (other.#words[index] ?? 0); rest !== 0; rest &= rest - 1) count++;
    }
    return count;
  }

  clear(): void {
    this.#words.length = this.#size = 0;
  }

  /** By their bits. What is changed meanwhile may be told or not. */
  *[Symbol.iterator](): Generator<ProxyState, void> {
    for (const [index, word] of this.#words.entries()) {
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        const proxy = this.#bits[index * width + 31 - Math.clz32(rest & -rest)];
        if (proxy) yield proxy;
      }
    }
  }
}

function maskOf(bit: number): number {
  return 1 << bit % width;
}
