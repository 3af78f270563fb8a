/**
 * Deep equality as the assertions mean it: by structure, by prototype, and with `0` equal to `-0`.
 *
 * @module
 */

const typedArray = Object.getPrototypeOf(Uint8Array) as {
  new (): ArrayLike<unknown>;
};

/** Types whose state is not in properties, but whole in their string form. */
const shownWhole: ReadonlySet<unknown> = new Set<unknown>(
  [
    RegExp,
    URL,
    URLSearchParams,
    Intl.Locale,
    Temporal.Duration,
    Temporal.Instant,
    Temporal.PlainDate,
    Temporal.PlainDateTime,
    Temporal.PlainTime,
    Temporal.PlainYearMonth,
    Temporal.PlainMonthDay,
    Temporal.ZonedDateTime,
  ].map((type) => type.prototype),
);

function same(a: unknown, b: unknown): boolean {
  return a === b || Object.is(a, b);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function sameElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  return a.length === b.length &&
    Array.prototype.every.call(a, (value, i) => same(value, b[i]));
}

function samePrototypes(a: object, b: object): boolean {
  const [pa, pb] = [Object.getPrototypeOf(a), Object.getPrototypeOf(b)];
  // An object without prototype is as good as a literal.
  return pa === pb || (pa ?? Object.prototype) === (pb ?? Object.prototype);
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype ||
    prototype === Array.prototype;
}

/** Own and inherited keys: what a class computes in getters counts as part of its value. */
function keysOf(value: object): PropertyKey[] {
  const keys: PropertyKey[] = [];
  for (
    let at: object | null = value;
    at && at !== Object.prototype && at !== Array.prototype;
    at = Object.getPrototypeOf(at) as object | null
  ) keys.push(...Reflect.ownKeys(at));
  return keys;
}

class Comparison {
  /** Pairs that are being compared or were found equal: what makes cycles end. */
  readonly #assumed = new Map<object, object>();

  equal(a: unknown, b: unknown): boolean {
    if (same(a, b)) return true;
    if (!isObject(a) || !isObject(b)) return false;
    if (a instanceof Date && b instanceof Date) {
      return Object.is(a.getTime(), b.getTime());
    }
    if (!samePrototypes(a, b)) return false;
    if (a instanceof typedArray) {
      return sameElements(a, b as ArrayLike<unknown>);
    }
    if (a instanceof ArrayBuffer || a instanceof SharedArrayBuffer) {
      return sameElements(new Uint8Array(a), new Uint8Array(b as ArrayBuffer));
    }
    if (a instanceof WeakMap) {
      throw new TypeError("Cannot compare WeakMap instances");
    }
    if (a instanceof WeakSet) {
      throw new TypeError("Cannot compare WeakSet instances");
    }
    if (a instanceof WeakRef) {
      return this.equal(a.deref(), (b as WeakRef<WeakKey>).deref());
    }
    if (this.#assumed.get(a) === b) return true;
    if (Object.keys(a).length !== Object.keys(b).length) return false;
    this.#assumed.set(a, b);
    if (a instanceof Map && b instanceof Map) return this.#maps(a, b);
    if (a instanceof Set && b instanceof Set) {
      return this.#maps(new Map(a.entries()), new Map(b.entries()));
    }
    if (!isPlain(a) && shownWhole.has(Object.getPrototypeOf(a))) {
      return String(a) === String(b);
    }
    return this.#properties(a as never, b as never);
  }

  #maps(
    a: ReadonlyMap<unknown, unknown>,
    b: ReadonlyMap<unknown, unknown>,
  ): boolean {
    if (a.size !== b.size) return false;
    const others = [...b];
    return [...a].every(([key, value]) => {
      if (b.has(key) && this.equal(value, b.get(key))) {
        return true;
      }
      // A key that is an object is looked for by its structure.
      return isObject(key) &&
        others.some(([otherKey, other]) => this.equal(key, otherKey) && this.equal(value, other));
    });
  }

  #properties(
    a: Record<PropertyKey, unknown>,
    b: Record<PropertyKey, unknown>,
  ): boolean {
    const keys = isPlain(a) ? Reflect.ownKeys({ ...a, ...b }) : new Set([...keysOf(a), ...keysOf(b)]);
    for (const key of keys) {
      if (!this.equal(a[key], b[key]) || (key in a) !== (key in b)) {
        return false;
      }
    }
    return true;
  }
}

/**
 * Whether two values have the same structure: same prototypes, same keys, equal values.
 *
 * @throws {TypeError} for a `WeakMap` or `WeakSet`, whose content cannot be known.
 */
export function equal(a: unknown, b: unknown): boolean {
  return new Comparison().equal(a, b);
}
