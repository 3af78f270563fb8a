/**
 * Shares of requests, as Envoy says them.
 *
 * @module
 */
import type { Fraction } from "../../controllers/ir/mod.ts";
import type { FractionalPercent } from "../wire/envoy/core.ts";

const denominators = { HUNDRED: 100, TEN_THOUSAND: 10_000, MILLION: 1_000_000 } as const;

/** The fraction with one of Envoy's denominators: the first that says it exactly, or else the nearest of millionths. */
export function fractionalPercent({ numerator, denominator }: Fraction): FractionalPercent {
  for (const [name, of] of Object.entries(denominators)) {
    const parts = numerator * of / denominator;
    if (Number.isInteger(parts) || of === denominators.MILLION) {
      return { numerator: Math.round(parts), denominator: name as keyof typeof denominators };
    }
  }
  throw new Error("The last denominator takes every fraction");
}

/** The nearest of millionths. Fractions that are compared with one random number need one denominator. */
export function millionths({ numerator, denominator }: Fraction): FractionalPercent {
  return {
    numerator: Math.round(numerator * denominators.MILLION / denominator),
    denominator: "MILLION",
  };
}
