/**
 * Copies of requests.
 *
 * @module
 */
import type { Mirror } from "../../controllers/ir/mod.ts";
import type { RequestMirrorPolicy } from "../wire/envoy/route.ts";
import { fractionalPercent } from "./fraction.ts";

/** The copy has the Host that the backend is asked with: it would not be a copy otherwise. */
export function buildMirror({ cluster, share }: Mirror): RequestMirrorPolicy {
  const always = share.numerator === share.denominator;
  return {
    cluster,
    ...(always ? {} : { runtime_fraction: { default_value: fractionalPercent(share) } }),
    disable_shadow_host_suffix_append: true,
  };
}
