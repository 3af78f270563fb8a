/**
 * How deeply values may be nested.
 *
 * @module
 */
import { badRequest } from "./status.ts";

/**
 * No object of any kind comes near it, and everything that walks over values by recursion survives it. kube-apiserver stops
 * at 10,000.
 */
const deepest = 1000;

/**
 * Refuses a value that is nested too deeply, before anything recursive meets it.
 *
 * @param above how many levels there are around it
 * @throws {ApiError} 400
 */
export function checkDepth<T>(value: T, above = 0): T {
  const stack: (readonly [value: unknown, depth: number])[] = [[value, above]];
  for (let next; (next = stack.pop());) {
    const [value, depth] = next;
    if (typeof value !== "object" || value === null) continue;
    if (depth >= deepest) {
      throw badRequest(`the object provided is nested too deeply: more than ${deepest} levels`);
    }
    for (const inner of Object.values(value)) stack.push([inner, depth + 1]);
  }
  return value;
}
