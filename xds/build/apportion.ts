/**
 * Backends that are asked for different paths.
 *
 * Envoy can change the path for a route alone, not for one of its weighted clusters. So each such backend gets a route of its
 * own, and what weighted clusters would have decided is decided by which of the routes matches.
 *
 * @module
 */
import type { Fraction, Route } from "../../controllers/ir/mod.ts";

/** A route for some of the requests that match it. */
export interface Part {
  readonly route: Route;
  /** Those up to this fraction that no part before has taken; all that are left, if absent. */
  readonly upTo?: Fraction;
}

/**
 * Takes a route apart, if need be. Envoy draws one random number for each request and compares it with the fraction of each
 * route that it tries, which is why fractions add up.
 */
export function apportion(route: Route): readonly Part[] {
  const { action } = route;
  if (action.kind !== "forward") return [{ route }];
  const backends = action.backends.filter(({ weight }) => weight > 0);
  if (backends.length !== 1 && !backends.some(({ rewrite }) => rewrite?.path)) return [{ route }];
  const denominator = backends.reduce((sum, { weight }) => sum + weight, 0);
  let numerator = 0;
  return backends.map((backend): Part => {
    numerator += backend.weight;
    const rewrite = backend.rewrite && { ...action.rewrite, ...backend.rewrite };
    return {
      route: rewrite || backends.length > 1
        ? { ...route, action: { ...action, backends: [backend], ...rewrite && { rewrite } } }
        : route,
      ...numerator < denominator && { upTo: { numerator, denominator } },
    };
  });
}
