/**
 * One signal out of several, for work that is shorter than what may cut it short.
 *
 * What `AbortSignal.any` makes is remembered by its sources, about 1 kB each, until one of them is aborted. For a stream, a
 * watch or one renewal of a lease, one of the sources is the whole process, so it would be remembered for good.
 *
 * @module
 */

/** A signal that no longer follows its sources, and that they no longer know, once it is disposed of. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** Aborted with the first of `sources` that is, for the same reason. */
export function linkSignals(...sources: readonly AbortSignal[]): LinkedSignal {
  const linked = new AbortController();
  const unlink = () => {
    for (const source of sources) source.removeEventListener("abort", follow);
  };
  const follow = () => {
    unlink();
    linked.abort(sources.find(({ aborted }) => aborted)?.reason);
  };
  for (const source of sources) source.addEventListener("abort", follow, { once: true });
  if (sources.some(({ aborted }) => aborted)) follow();
  return { signal: linked.signal, [Symbol.dispose]: unlink };
}
