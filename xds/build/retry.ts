/**
 * When a request that failed is sent again.
 *
 * @module
 */
import type { RetryPolicy } from "../wire/envoy/route.ts";

const previousHosts = "envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate";

/** Another attempt goes to another endpoint, if there is one. */
const elsewhere = {
  retry_host_predicate: [{
    name: "envoy.retry_host_predicates.previous_hosts",
    typed_config: { "@type": `type.googleapis.com/${previousHosts}` },
  }],
  host_selection_retry_max_attempts: 5,
} as const satisfies RetryPolicy;

/** Failures before any part of a request has reached a backend: to try again is safe for every request. */
const untouched = "connect-failure,refused-stream,reset-before-request";

/** For routes that do not ask for anything else. */
export const defaultRetries: RetryPolicy = { retry_on: untouched, num_retries: 2, ...elsewhere };
