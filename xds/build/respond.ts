/**
 * Answers of the proxy's own.
 *
 * @module
 */
import type { Cors } from "../../controllers/ir/mod.ts";
import type { Route } from "../wire/envoy/route.ts";
import { corsConfig } from "./cors.ts";

/**
 * Clusters that answer by themselves. `500` must not exist anywhere, since Envoy answers for a missing cluster what the
 * route says; `503` is a cluster without hosts in the bootstrap.
 */
export const reservedClusters = { 500: "gatehouse/500", 503: "gatehouse/503" } as const;

/** What makes {@linkcode reservedClusters} of 500 answer with that. */
export const missing = { cluster_not_found_response_code: "INTERNAL_SERVER_ERROR" } as const;

export function respond(status: number): Pick<Route, "direct_response"> {
  return { direct_response: { status } };
}

/**
 * The same for what pages of other origins may see: Envoy answers preflight requests of such a route, and not of one with a
 * direct response.
 */
export function respondTo(
  cors: Cors,
  status: keyof typeof reservedClusters = 500,
): Pick<Route, "route" | "typed_per_filter_config"> {
  return {
    route: { cluster: reservedClusters[status], ...(status === 500 ? missing : {}) },
    typed_per_filter_config: corsConfig(cors),
  };
}
