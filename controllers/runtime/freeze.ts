/**
 * Freezing of whole values, to catch in tests whoever changes a row that others share.
 *
 * @module
 */

/** Freezes plain objects and arrays all the way down, stopping at what is frozen already. Returns its argument. */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
  return value;
}
