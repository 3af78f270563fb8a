/**
 * Random choices that a seed repeats, for property tests.
 *
 * @module
 */

export interface Random {
  /** A whole number from 0 up to but not including `n`. */
  int(n: number): number;
  /** True once in `n` times. */
  oneIn(n: number): boolean;
  pick<T>(from: readonly [T, ...T[]]): T;
  /** A list of up to `max` values. */
  list<T>(max: number, make: (index: number) => T): T[];
  shuffle<T>(list: readonly T[]): T[];
}

/** A generator (mulberry32): equal seeds give equal sequences. */
export function random(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
  const self: Random = {
    int: (n) => next() % n,
    oneIn: (n) => next() % n === 0,
    pick: (from) => from[next() % from.length] ?? from[0],
    list: (max, make) => Array.from({ length: next() % (max + 1) }, (_, i) => make(i)),
    shuffle(list) {
      const result = [...list];
      for (let i = result.length - 1; i > 0; i--) {
        const j = self.int(i + 1), held = result[i]!;
        result[i] = result[j]!;
        result[j] = held;
      }
      return result;
    },
  };
  return self;
}
