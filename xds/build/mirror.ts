/**
 * Copies of requests.
 *
 * @module
 */
import type { Fraction, Mirror } from "../../controllers/ir/mod.ts";
import type { FractionalPercent } from "../wire/envoy/core.ts";
import type { RequestMirrorPolicy } from "../wire/envoy/route.ts";

/** The copy has the Host that the backend is asked with: it would not be a copy otherwise. */
export function buildMirror({ cluster, share }: Mirror): RequestMirrorPolicy {
  const always = share.numerator === share.denominator;
  return {
    cluster,
    ...(always ? {} : { runtime_fraction: { default_value: fractionalPercent(share) } }),
    disable_shadow_host_suffix_append: true,
  };
}

const denominators = { HUNDRED: 100, TEN_THOUSAND: 10_000, MILLION: 1_000_000 } as const;

/** The fraction with one of Envoy's denominators: the first that says it exactly, or else the nearest of millionths. */
function fractionalPercent({ numerator, denominator }: Fraction): FractionalPercent {
  for (const [name, of] of Object.entries(denominators)) {
    const parts = numerator * of / denominator;
    if (Number.isInteger(parts) || of === denominators.MILLION) {
      return { numerator: Math.round(parts), denominator: name as keyof typeof denominators };
    }
  }
  throw new Error("The last denominator takes every fraction");
}
