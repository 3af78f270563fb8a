/**
 * Waiting for the end.
 *
 * @module
 */

/** Resolves once `signal` is aborted or `other` has resolved. */
export async function until(signal: AbortSignal, other?: Promise<void>): Promise<void> {
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>(), resolve = () => aborted.resolve();
  signal.addEventListener("abort", resolve, { once: true });
  try {
    await Promise.race([aborted.promise, ...other ? [other] : []]);
  } finally {
    signal.removeEventListener("abort", resolve);
  }
}
