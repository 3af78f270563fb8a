/**
 * Whether a request may be sent again, and when.
 *
 * @module
 */
import { ConnectionError, KubeError } from "./errors.ts";

/** A request that has just failed. */
export interface Attempt {
  readonly method: string;
  /** Whether its body can be sent, and its answer awaited, once more. */
  readonly repeatable: boolean;
  /** How often it has been sent again already. */
  readonly retries: number;
}

const mostRetries = 4;
/** In milliseconds. */
const firstDelay = 100, longestWish = 30_000;

/**
 * Milliseconds to wait before the next try, or `undefined` if there must be none.
 *
 * 429 says that the server has not acted, whatever was asked. All else is repeated for reads only: a write may have happened.
 */
export function retryDelay(
  error: unknown,
  attempt: Attempt,
  random: () => number = Math.random,
): number | undefined {
  if (!attempt.repeatable || attempt.retries >= mostRetries) return undefined;
  const reads = attempt.method === "GET" || attempt.method === "HEAD";
  const backoff = firstDelay * 2 ** attempt.retries * (1 + random());
  if (error instanceof KubeError) {
    const passing = error.status === 429 || reads && [502, 503, 504].includes(error.status);
    const wish = error.retryAfter ?? 0;
    if (!passing || wish > longestWish) return undefined;
    // Later than asked, never earlier, and not all at once.
    return Math.max(backoff, wish * (1 + random() / 4));
  }
  return reads && error instanceof ConnectionError && error.passing ? backoff : undefined;
}
