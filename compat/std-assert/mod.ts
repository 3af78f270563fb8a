/**
 * A stand-in for `@std/assert`, for machines that cannot reach JSR: a part of its names, with the same parameters, results
 * and messages.
 *
 * @module
 */
export * from "./assertion_error.ts";
export {
  assert,
  assertAlmostEquals,
  assertExists,
  assertFalse,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotInstanceOf,
  assertNotMatch,
  assertStringIncludes,
  fail,
  type Falsy,
  unimplemented,
  unreachable,
} from "./checks.ts";
export * from "./comparisons.ts";
export * from "./equal.ts";
export * from "./errors.ts";
