/**
 * When a request that failed is sent again.
 *
 * @module
 */
import type { Retry } from "../../controllers/ir/mod.ts";
import type { RetryPolicy } from "../wire/envoy/route.ts";

const previousHosts = "envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate";

/** Another attempt goes to another endpoint, if there is one. */
const elsewhere = {
  retry_host_predicate: [{
    name: "another", // The type says which it is; every virtual host repeats the name.
    typed_config: { "@type": `type.googleapis.com/${previousHosts}` },
  }],
  // Each is a matter of chance, and costs next to nothing.
  host_selection_retry_max_attempts: 20,
} as const satisfies RetryPolicy;

/** Failures before any part of a request has reached a backend: to try again is safe for every request. */
const untouched = "connect-failure,refused-stream,reset-before-request";

/** For clusters whose routes do not ask for anything else. */
export const defaultRetries: RetryPolicy = { retry_on: untouched, num_retries: 2, ...elsewhere };

/** `attemptTimeout` is for each attempt, in milliseconds; 0 for none. */
export function buildRetry({ attempts, codes, backoff }: Retry, attemptTimeout: number): RetryPolicy {
  const conditions = [
    untouched,
    ...(codes.length > 0 ? ["retriable-status-codes"] : []),
    // What a timeout does to an attempt.
    ...(attemptTimeout > 0 ? ["reset"] : []),
  ];
  return {
    retry_on: conditions.join(),
    num_retries: attempts,
    ...(attemptTimeout > 0 ? { per_try_timeout: seconds(attemptTimeout) } : {}),
    ...elsewhere,
    ...(codes.length > 0 ? { retriable_status_codes: codes } : {}),
    // Envoy waits for at least a millisecond.
    ...(backoff === undefined ? {} : { retry_back_off: { base_interval: seconds(Math.max(backoff, 1)) } }),
  };
}

/**
 * How much of a body is kept to be sent again, in bytes, where a route asks for retries. A request that is larger is
 * sent just once.
 */
export const keptBody = 1_048_576;

/** Milliseconds as Envoy writes them. */
export function seconds(milliseconds: number): `${number}s` {
  return `${milliseconds / 1000}s`;
}
