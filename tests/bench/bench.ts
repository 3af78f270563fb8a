/**
 * What a benchmark is: it reports figures, and asserts nothing. Work is asserted elsewhere, as counts.
 *
 * Every `*_bench.ts` in this folder exports one as its default; `deno task bench [WORD…]` runs those whose name has a
 * word in it. A word may have sizes, as in `new-route=10000`.
 *
 * @module
 */

/** One line of the table. */
export interface Figure {
  readonly bench: string;
  readonly name: string;
  /** How often it was measured. */
  readonly count: number;
  readonly unit: string;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** What it should be at most. */
  readonly target?: number;
}

export interface Target {
  /** In the unit of the figure. */
  readonly most: number;
}

export interface Report {
  /** Adds a line for many measurements of the same thing. A target is one for their median. */
  samples(name: string, unit: string, values: readonly number[], target?: Target): void;
  /** Adds a line for one number. */
  value(name: string, unit: string, value: number, target?: Target): void;
  /** Adds a line that says which share of its target something is. */
  ratio(name: string, value: number, target: Target): void;
}

export interface Bench {
  readonly name: string;
  /** `sizes` are other ones than usual, which it is up to the benchmark to understand. */
  run(report: Report, sizes: readonly number[]): Promise<void> | void;
}

/** Runs something and returns how many milliseconds it took. */
export async function milliseconds(run: () => unknown): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** The value below which the given share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
