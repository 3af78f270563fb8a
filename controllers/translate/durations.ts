/**
 * Durations as Gateway API writes them (GEP-2257).
 *
 * @module
 */

const units = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** Milliseconds of a duration such as `1m30s`; `NaN` if it is none. */
export function milliseconds(duration: string): number {
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(duration)) return NaN;
  let sum = 0;
  for (const [, number, unit] of duration.matchAll(/([0-9]+)(ms|h|m|s)/g)) {
    sum += Number(number) * units[unit as keyof typeof units];
  }
  return sum;
}
