/**
 * How long requests may take.
 *
 * @module
 */
import type { Retry, Timeouts } from "../../controllers/ir/mod.ts";
import type { RouteAction } from "../wire/envoy/route.ts";
import { buildRetry, seconds } from "./retry.ts";

/** Milliseconds after which a stream on which nothing moves ends, wherever nothing else is said. */
export const streamIdleTimeout = 300_000;

/**
 * The limits of a route, and what comes after an attempt that reached its own.
 *
 * Without a limit there is none: Envoy's own 15 s would cut long downloads. Without further attempts that take any time
 * the limit of one is one of the whole.
 */
export function buildTimeouts(
  { request = 0, backendRequest = 0 }: Timeouts,
  retry: Retry | undefined,
): Pick<RouteAction, "timeout" | "retry_policy"> {
  const retries = retry !== undefined && retry.attempts > 0;
  const limits = [request, ...(retries ? [] : [backendRequest])].filter((limit) => limit > 0);
  return {
    timeout: seconds(limits.length > 0 ? Math.min(...limits) : 0),
    ...(retries ? { retry_policy: buildRetry(retry, backendRequest) } : {}),
  };
}

/** A limit that is asked for is not to be undercut by that of idle streams. */
export function idleTimeout({ request, backendRequest }: Timeouts): Pick<RouteAction, "idle_timeout"> {
  const asked = [request, backendRequest].filter((limit) => limit !== undefined);
  if (asked.includes(0)) return { idle_timeout: "0s" };
  const longest = Math.max(0, ...asked);
  return longest > streamIdleTimeout ? { idle_timeout: seconds(longest) } : {};
}
