/**
 * Assertions about one value, or two that have an order.
 *
 * @module
 */
import { AssertionError } from "./assertion_error.ts";
import { format } from "./show.ts";

/** How every message ends: with what the caller says, or with a full stop. */
export function ending(msg: string | undefined): string {
  return msg ? `: ${msg}` : ".";
}

/** Throws unless `expr` is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** What {@linkcode assertFalse} leaves. */
export type Falsy = false | 0 | 0n | "" | null | undefined;

/** Throws unless `expr` is falsy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is Falsy {
  if (expr) throw new AssertionError(msg);
}

/** Throws if `actual` is `null` or `undefined`. */
export function assertExists<T>(
  actual: T,
  msg?: string,
): asserts actual is NonNullable<T> {
  if (actual !== undefined && actual !== null) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to not be null or undefined${ending(msg)}`,
  );
}

/** Throws unless `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) throw unordered(actual, ">", expected, msg);
}

/** Throws unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  if (!(actual >= expected)) throw unordered(actual, ">=", expected, msg);
}

/** Throws unless `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) throw unordered(actual, "<", expected, msg);
}

/** Throws unless `actual <= expected`. */
export function assertLessOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  if (!(actual <= expected)) throw unordered(actual, "<=", expected, msg);
}

function unordered(
  actual: unknown,
  operator: string,
  expected: unknown,
  msg?: string,
): AssertionError {
  return new AssertionError(
    msg ?? `Expect ${format(actual)} ${operator} ${format(expected)}`,
  );
}

/** Throws if two numbers are further apart than `tolerance`, by default a ten-millionth of `expected`. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  const delta = Math.abs(expected - actual);
  const most = tolerance ??
    (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  if (delta <= most) return;
  const show = (n: number) => Number.isInteger(n) ? n : n.toExponential();
  throw new AssertionError(
    `Expected actual: "${show(actual)}" to be close to "${show(expected)}": ` +
      `delta "${show(delta)}" is greater than "${show(most)}"${ending(msg)}`,
  );
}

/** Throws unless the regular expression matches. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void {
  if (expected.test(actual)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to match: "${expected}"${ending(msg)}`,
  );
}

/** Throws if the regular expression matches. */
export function assertNotMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void {
  if (!expected.test(actual)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to not match: "${expected}"${ending(msg)}`,
  );
}

/** Throws unless `expected` is a part of `actual`. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  msg?: string,
): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to contain: "${expected}"${ending(msg)}`,
  );
}

/** Throws unless `actual instanceof expectedType`. */
export function assertInstanceOf<
  // deno-lint-ignore no-explicit-any
  T extends abstract new (...args: any[]) => any,
>(
  actual: unknown,
  expectedType: T,
  msg = "",
): asserts actual is InstanceType<T> {
  if (actual instanceof expectedType) return;
  const found = actual === null
    ? "null"
    : typeof actual === "object"
    ? actual.constructor?.name ?? "Object"
    : typeof actual;
  const but = found === expectedType.name
    ? ""
    : found === "function"
    ? " but was not an instanced object"
    : ` but was "${found}"`;
  throw new AssertionError(
    `Expected object to be an instance of "${expectedType.name}"${but}${ending(msg)}`,
  );
}

/** Throws if `actual instanceof unexpectedType`. */
export function assertNotInstanceOf<A, T>(
  actual: A,
  // deno-lint-ignore no-explicit-any
  unexpectedType: abstract new (...args: any[]) => T,
  msg?: string,
): asserts actual is Exclude<A, T> {
  // The type's kind instead of its name: so says the package.
  assertFalse(
    actual instanceof unexpectedType,
    `Expected object to not be an instance of "${typeof unexpectedType}"${ending(msg)}`,
  );
}

/** Throws. */
export function fail(msg?: string): never {
  throw new AssertionError(`Failed assertion${ending(msg)}`);
}

/** Throws: this line is not to be reached. */
export function unreachable(msg?: string): never {
  throw new AssertionError(`Unreachable${ending(msg)}`);
}

/** Throws: this is not written yet. */
export function unimplemented(msg?: string): never {
  throw new AssertionError(`Unimplemented${ending(msg)}`);
}
