/**
 * Arrays that are kept for long, in no more memory than they take.
 *
 * @module
 */

/**
 * A copy without the room that an array has for more of what is pushed to it, or comes of `filter` and `flatMap`: in V8 that is
 * 16 references with the first one already, and most of what tables keep are lists of one.
 */
export function kept<T>(grown: readonly T[]): readonly T[] {
  return grown.slice();
}
