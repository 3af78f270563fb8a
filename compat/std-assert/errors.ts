/**
 * Assertions about what is thrown.
 *
 * @module
 */
import { AssertionError } from "./assertion_error.ts";
import { ending } from "./checks.ts";
import { withoutColors } from "./show.ts";

// deno-lint-ignore no-explicit-any
type ErrorType<E extends Error> = abstract new (...args: any[]) => E;

/** Throws unless `error` is an Error of that class whose message has that part or matches. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  ErrorClass?: ErrorType<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) {
    throw new AssertionError(
      `Expected "error" to be an Error object${ending(msg)}`,
    );
  }
  if (ErrorClass && !(error instanceof ErrorClass)) {
    throw new AssertionError(
      `Expected error to be instance of "${ErrorClass.name}", but was "${error.constructor?.name}"${
        ending(msg)
      }`,
    );
  }
  if (!msgMatches) return;
  const message = withoutColors(error.message);
  const matches = typeof msgMatches === "string"
    ? message.includes(withoutColors(msgMatches))
    : msgMatches.test(message);
  if (matches) return;
  const wanted = typeof msgMatches === "string" ? JSON.stringify(msgMatches) : String(msgMatches);
  throw new AssertionError(
    `Expected error message to include ${wanted}, but got ${JSON.stringify(error.message)}${ending(msg)}`,
  );
}

function isErrorType<E extends Error>(type: ErrorType<E>): boolean {
  return type.prototype instanceof Error || type.prototype === Error.prototype;
}

/** Throws unless `fn` throws; returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Throws unless `fn` throws an error of that class, whose message has that part; returns the error. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: ErrorType<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClassOrMsg?: ErrorType<E> | string,
  msgIncludesOrMsg?: string,
  msg?: string,
): unknown {
  const isClass = typeof errorClassOrMsg === "function" &&
    isErrorType(errorClassOrMsg);
  if (typeof errorClassOrMsg === "string") msg = errorClassOrMsg;
  else if (errorClassOrMsg && !isClass) msg = msgIncludesOrMsg;
  try {
    fn();
  } catch (error) {
    if (isClass) {
      if (!(error instanceof Error)) {
        throw new AssertionError(`A non-Error object was thrown${ending(msg)}`);
      }
      assertIsError(error, errorClassOrMsg, msgIncludesOrMsg, msg);
    }
    return error;
  }
  throw new AssertionError(`Expected function to throw${ending(msg)}`);
}

/** Rejects unless the promise of `fn` does; resolves with what it rejected with. */
export function assertRejects(
  fn: () => PromiseLike<unknown>,
  msg?: string,
): Promise<unknown>;
/** Rejects unless the promise of `fn` rejects with an error of that class, whose message has that part. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ErrorType<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClassOrMsg?: ErrorType<E> | string,
  msgIncludesOrMsg?: string,
  msg?: string,
): Promise<unknown> {
  const isClass = typeof errorClassOrMsg === "function" &&
    isErrorType(errorClassOrMsg);
  if (typeof errorClassOrMsg === "string") msg = errorClassOrMsg;
  let promise: PromiseLike<unknown> | undefined;
  try {
    promise = fn();
  } catch {
    // Reported below: throwing at once is not rejecting.
  }
  if (typeof promise !== "object" || typeof promise?.then !== "function") {
    throw new AssertionError(
      `Function throws when expected to reject${ending(msg)}`,
    );
  }
  try {
    await promise;
  } catch (error) {
    if (isClass) {
      if (!(error instanceof Error)) {
        throw new AssertionError(
          `A non-Error object was rejected${ending(msg)}`,
        );
      }
      assertIsError(error, errorClassOrMsg, msgIncludesOrMsg, msg);
    }
    return error;
  }
  throw new AssertionError(`Expected function to reject${ending(msg)}`);
}
