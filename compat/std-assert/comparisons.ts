/**
 * Assertions that compare two values.
 *
 * @module
 */
import { AssertionError } from "./assertion_error.ts";
import { ending } from "./checks.ts";
import { equal } from "./equal.ts";
import { difference, format, inRed } from "./show.ts";

/** Throws unless the values are {@linkcode equal}; the message holds the difference. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  throw new AssertionError(
    `Values are not equal${ending(msg)}\n${difference(actual, expected)}`,
  );
}

/** Throws if the values are {@linkcode equal}. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) return;
  throw new AssertionError(
    `Expected actual: ${format(actual)} not to be: ${format(expected)}${ending(msg)}`,
  );
}

/** Throws unless the values are the same by `Object.is`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  const shown = format(actual);
  if (shown === format(expected)) {
    const indented = shown.split("\n").map((line) => `    ${line}`).join("\n");
    throw new AssertionError(
      `Values have the same structure but are not reference-equal${ending(msg)}\n\n${inRed(indented)}\n`,
    );
  }
  throw new AssertionError(
    `Values are not strictly equal${ending(msg)}\n${difference(actual, expected)}`,
  );
}

/** Throws if the values are the same by `Object.is`. */
export function assertNotStrictEquals<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  if (!Object.is(actual, expected)) return;
  throw new AssertionError(
    `Expected "actual" to not be strictly equal to: ${format(actual)}${ending(msg)}\n`,
  );
}

/** An array or anything like one, but not a string. */
export type ArrayLikeArg<T> = ArrayLike<T> & object;

/** Throws unless each element of `expected` is {@linkcode equal} to some element of `actual`. */
export function assertArrayIncludes<T>(
  actual: ArrayLikeArg<T>,
  expected: ArrayLikeArg<T>,
  msg?: string,
): void {
  const has = Array.from(actual);
  const missing = Array.from(expected).filter((item) => !has.some((other) => equal(item, other)));
  if (missing.length === 0) return;
  throw new AssertionError(
    `Expected actual: "${format(actual)}" to include: "${format(expected)}"${ending(msg)}\nmissing: ${
      format(missing)
    }`,
  );
}

type Loose = Record<PropertyKey, unknown>;

/**
 * Throws unless `actual` has everything that `expected` has, at any depth; arrays are compared up to the shorter one's
 * length.
 */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  // Both sides pass through the same sieve, so that classes count as plain objects on both.
  assertEquals<unknown>(
    new Sieve().object(actual, expected),
    new Sieve().object(expected, expected),
    msg,
  );
}

/** Keeps of a value what another one speaks of. */
class Sieve {
  readonly #seen = new WeakMap<object, object>();

  object(value: Loose, by: Loose): Loose {
    if (
      typeof value !== "object" && typeof value !== "function" || value === null
    ) {
      throw new TypeError(
        `Cannot assertObjectMatch ${value === null ? null : `type ${typeof value}`}`,
      );
    }
    if (this.#met(value, by)) return value;
    const kept: Loose = {};
    const keep = (key: PropertyKey, value: unknown) =>
      Object.defineProperty(kept, key, {
        value,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    const own = Reflect.ownKeys(value);
    const asked = new Set(Reflect.ownKeys(by));
    const shared = own.filter((key) => asked.has(key));
    if (shared.length === 0 && asked.size > 0) {
      // Nothing in common: all of it, which makes a difference that says something.
      for (const key of own) keep(key, value[key]);
    } else {
      for (const key of shared) keep(key, this.#any(value[key], by[key]));
    }
    return kept;
  }

  #array(value: unknown[], by: unknown[]): unknown[] {
    if (this.#met(value, by)) return value;
    return value.slice(0, by.length).map((item, i) => this.#any(item, by[i]));
  }

  #any(value: unknown, by: unknown): unknown {
    if (value instanceof RegExp || value instanceof Date) return value;
    if (Array.isArray(value) && Array.isArray(by)) {
      return this.#array(value, by);
    }
    if (
      typeof value !== "object" || value === null || typeof by !== "object" ||
      by === null
    ) return value;
    if (value instanceof Map && by instanceof Map) {
      return new Map(
        [...value].filter(([key]) => by.has(key)).map(([key, item]) => {
          const other = by.get(key);
          const objects = typeof item === "object" && item &&
            typeof other === "object" && other;
          return [key, objects ? this.object(item, other) : item];
        }),
      );
    }
    if (value instanceof Set && by instanceof Set) {
      return value.intersection(by);
    }
    return this.object(value as Loose, by as Loose);
  }

  /** Whether this pair came by already, as it does in a cycle; remembers it. */
  #met(value: object, by: object): boolean {
    if (this.#seen.get(value) === by) return true;
    this.#seen.set(value, by);
    return false;
  }
}
