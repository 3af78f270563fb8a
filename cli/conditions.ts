/**
 * Whether a condition says that something is as it should be.
 *
 * @module
 */

/** Conditions that are good when they are False. */
const negative = new Set(["PartiallyInvalid", "Conflicted", "OverlappingTLSConfig"]);

/** Whether a condition of this type is good when it is False. */
export function isNegative(type: string): boolean {
  return negative.has(type);
}

/** Whether it is as it should be; `Unknown` is not. */
export function isGood({ type, status }: { readonly type: string; readonly status: string }): boolean {
  return status === (isNegative(type) ? "False" : "True");
}
