/**
 * Facts about objects, in the words of conditions.
 *
 * @module
 */

/** Something that a user got wrong or that has to wait: a value, never an exception. */
export interface Fault {
  /** A reason of the specification. */
  readonly reason: string;
  /** Says what, where and how to put it right. */
  readonly message: string;
}

/** A condition as it should be. Observed generation and transition time are added where it is written. */
export interface DesiredCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** The fault that stands for a bug of ours, so that whoever looks at the object hears of it. */
export function bug(what: string, error: unknown): Fault {
  const problem = error instanceof Error ? error.message : String(error);
  return {
    reason: "InternalError",
    message: `Cannot ${what}: ${problem}; this is a bug in Gatehouse, please report it`,
  };
}

/** A condition that is True with `reason`, or False because of a fault. */
export function condition(
  type: string,
  fault: Fault | undefined,
  whenTrue: { readonly reason: string; readonly message: string },
): DesiredCondition {
  return fault === undefined ? { type, status: "True", ...whenTrue } : { type, status: "False", ...fault };
}

/** `"a"`, `"a" and "b"`, `"a", "b" and "c"`. */
export function enumerate(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** The API's limit on the length of a condition's message, in bytes of which we count on no more than this many. */
const limit = 32_768;

/** Several messages as one, cut where the API would refuse it. */
export function join(messages: readonly string[]): string {
  const whole = [...new Set(messages)].join("; ");
  return whole.length <= limit / 4 ? whole : `${whole.slice(0, limit / 4 - 1)}…`;
}
