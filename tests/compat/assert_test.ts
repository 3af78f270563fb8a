/** What each name of the stand-in for `@std/assert` does; run with `deno.jsr.json`, the same holds for the real one. */
import * as a from "@std/assert";

/** Without colours: whether there are any depends on where the test runs. */
function plain(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/\x1b\[[0-9;]*m/g, "");
}

/** The message that `run` fails with, or `undefined` if it passes. */
function failure(run: () => void): string | undefined {
  try {
    run();
  } catch (error) {
    if (!(error instanceof a.AssertionError)) throw error;
    return plain(error.message);
  }
  return undefined;
}

/** Not an assertion of the package under test, so that a broken one cannot hide itself. */
function check(name: string, found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(
      `${name}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`,
    );
  }
}

class Point {
  #y: number;
  constructor(readonly x: number, y: number) {
    this.#y = y;
  }
  get y(): number {
    return this.#y;
  }
}

function ring(value: unknown): object {
  const object: Record<string, unknown> = { value };
  object.self = object;
  return object;
}

const equalCases: readonly (readonly [name: string, a: unknown, b: unknown, equal: boolean])[] = [
  ["zeros", 0, -0, true],
  ["NaN", NaN, NaN, true],
  ["kinds", 1, "1", false],
  ["null and undefined", null, undefined, false],
  ["objects", { a: { b: [1] } }, { a: { b: [1] } }, true],
  ["order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ["undefined is not absent", { a: undefined }, {}, false],
  [
    "undefined is not absent, other key",
    { a: undefined },
    { b: undefined },
    false,
  ],
  ["no prototype", Object.create(null), {}, true],
  ["array and object", [], {}, false],
  ["lengths", [1], [1, 2], false],
  ["holes", [, 1], [undefined, 1], false],
  ["symbols", { [Symbol.iterator]: 1 }, { [Symbol.iterator]: 2 }, false],
  ["dates", new Date(1), new Date(1), true],
  ["other dates", new Date(1), new Date(2), false],
  ["invalid dates", new Date(NaN), new Date(NaN), true],
  ["regexps", /a/g, /a/g, true],
  ["flags", /a/g, /a/i, false],
  ["urls", new URL("http://a/b"), new URL("http://a/b"), true],
  ["other urls", new URL("http://a/b"), new URL("http://a/c"), false],
  ["bytes", new Uint8Array([1, 2]), new Uint8Array([1, 2]), true],
  ["other bytes", new Uint8Array([1, 2]), new Uint8Array([1, 3]), false],
  ["kinds of bytes", new Uint8Array([1]), new Int8Array([1]), false],
  [
    "buffers",
    new Uint8Array([1]).buffer,
    new Uint8Array([2]).buffer,
    false,
  ],
  ["sets", new Set([1, 2]), new Set([2, 1]), true],
  [
    "sets of objects",
    new Set([{ a: 1 }, { a: 2 }]),
    new Set([{ a: 2 }, { a: 1 }]),
    true,
  ],
  [
    "other sets of objects",
    new Set([{ a: 1 }]),
    new Set([{ a: 2 }]),
    false,
  ],
  ["maps", new Map([[1, { a: 1 }]]), new Map([[1, { a: 1 }]]), true],
  ["a map to itself", new Map([[1, 1]]), new Map([[1, 2]]), false],
  [
    "maps by objects",
    new Map([[{ a: 1 }, 1]]),
    new Map([[{ a: 1 }, 1]]),
    true,
  ],
  ["set and map", new Set(), new Map(), false],
  ["classes", new Point(1, 2), new Point(1, 2), true],
  ["getters", new Point(1, 2), new Point(1, 3), false],
  ["class and literal", new Point(1, 2), { x: 1, y: 2 }, false],
  ["functions", () => 1, () => 1, false],
  ["cycles", ring(1), ring(1), true],
  ["other cycles", ring(1), ring(2), false],
];

Deno.test("equal", () => {
  for (const [name, left, right, expected] of equalCases) {
    check(name, a.equal(left, right), expected);
    check(`${name}, the other way`, a.equal(right, left), expected);
  }
  for (const value of [new WeakMap(), new WeakSet()]) {
    const error = a.assertThrows(
      () => a.equal(value, new (value.constructor as typeof WeakMap)()),
      TypeError,
    );
    check(
      "weak",
      error.message,
      `Cannot compare ${value.constructor.name} instances`,
    );
  }
});

const diffHead = "\n\n\n    [Diff] Actual / Expected\n\n\n";

const cases: {
  readonly [name: string]: readonly (readonly [run: () => void, message?: string])[];
} = {
  assert: [
    [() => a.assert("x")],
    [() => a.assert(0), ""],
    [() => a.assert(0, "zero"), "zero"],
  ],
  assertFalse: [
    [() => a.assertFalse("")],
    [() => a.assertFalse(1, "one"), "one"],
  ],
  assertExists: [
    [() => a.assertExists(0)],
    [
      () => a.assertExists(null),
      'Expected actual: "null" to not be null or undefined.',
    ],
    [
      () => a.assertExists(undefined, "x"),
      'Expected actual: "undefined" to not be null or undefined: x',
    ],
  ],
  assertEquals: [
    [() => a.assertEquals({ a: [1] }, { a: [1] })],
    [
      () => a.assertEquals(1, 2),
      `Values are not equal.${diffHead}-   1\n+   2\n`,
    ],
    [
      () => a.assertEquals(1, 2, "why"),
      `Values are not equal: why${diffHead}-   1\n+   2\n`,
    ],
    [
      () => a.assertEquals<unknown>({ a: 1, b: [2, 3] }, { b: [2, 4], a: 1 }),
      `Values are not equal.${diffHead}    {\n      a: 1,\n      b: [\n        2,\n-       3,\n+       4,\n      ],\n    }\n`,
    ],
    [
      () => a.assertEquals("a\nb", "a\nc"),
      `Values are not equal.${diffHead}    a\\n\n-   b\n+   c\n\n`,
    ],
  ],
  assertNotEquals: [
    [() => a.assertNotEquals<unknown>({ a: 1 }, { a: 2 })],
    [() => a.assertNotEquals(1, 1), "Expected actual: 1 not to be: 1."],
    [() => a.assertNotEquals(1, 1, "x"), "Expected actual: 1 not to be: 1: x"],
  ],
  assertStrictEquals: [
    [() => a.assertStrictEquals(NaN, NaN)],
    [
      () => a.assertStrictEquals(0, -0),
      `Values are not strictly equal.${diffHead}-   0\n+   -0\n`,
    ],
    [
      () => a.assertStrictEquals<unknown>({}, {}),
      "Values have the same structure but are not reference-equal.\n\n    {}\n",
    ],
  ],
  assertNotStrictEquals: [
    [() => a.assertNotStrictEquals({}, {})],
    [
      () => a.assertNotStrictEquals(1, 1),
      'Expected "actual" to not be strictly equal to: 1.\n',
    ],
  ],
  assertArrayIncludes: [
    [() => a.assertArrayIncludes([{ a: 1 }, 2, 3], [3, { a: 1 }])],
    [
      () => a.assertArrayIncludes([1], [2]),
      'Expected actual: "[\n  1,\n]" to include: "[\n  2,\n]".\nmissing: [\n  2,\n]',
    ],
  ],
  assertObjectMatch: [
    [() => a.assertObjectMatch({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } })],
    [() => a.assertObjectMatch({ list: [{ a: 1, b: 2 }, 3] }, { list: [{ a: 1 }] })],
    [() => a.assertObjectMatch({ at: new Date(1) }, { at: new Date(1) })],
    [() =>
      a.assertObjectMatch({
        m: new Map([["a", { b: 1, c: 2 }], ["z", { b: 0, c: 0 }]]),
      }, {
        m: new Map([["a", { b: 1 }]]),
      })],
    [() => a.assertObjectMatch({ p: new Point(1, 2) }, { p: { x: 1 } })],
    [
      () => a.assertObjectMatch({ a: 1, b: 2 }, { b: 3 }),
      `Values are not equal.${diffHead}    {\n-     b: 2,\n+     b: 3,\n    }\n`,
    ],
    [
      () => a.assertObjectMatch({ a: 1 }, { b: 3 }),
      `Values are not equal.${diffHead}    {\n-     a: 1,\n+     b: 3,\n    }\n`,
    ],
    [
      () => a.assertObjectMatch({ a: [1] }, { a: [1, 2] }),
      `Values are not equal.${diffHead}    {\n      a: [\n        1,\n+       2,\n      ],\n    }\n`,
    ],
  ],
  assertGreater: [
    [() => a.assertGreater(2, 1)],
    [() => a.assertGreater(1, 1), "Expect 1 > 1"],
    [() => a.assertGreater(1, 1, "x"), "x"],
  ],
  assertGreaterOrEqual: [
    [() => a.assertGreaterOrEqual(1, 1)],
    [() => a.assertGreaterOrEqual(NaN, 1), "Expect NaN >= 1"],
  ],
  assertLess: [
    [() => a.assertLess("a", "b")],
    [() => a.assertLess("b", "a"), 'Expect "b" < "a"'],
  ],
  assertLessOrEqual: [
    [() => a.assertLessOrEqual(1, 1)],
    [() => a.assertLessOrEqual(2, 1), "Expect 2 <= 1"],
  ],
  assertAlmostEquals: [
    [() => a.assertAlmostEquals(0.1 + 0.2, 0.3)],
    [() => a.assertAlmostEquals(1, 1.5, 1)],
    [
      () => a.assertAlmostEquals(1, 2),
      'Expected actual: "1" to be close to "2": delta "1" is greater than "2e-7".',
    ],
  ],
  assertMatch: [
    [() => a.assertMatch("abc", /b/)],
    [
      () => a.assertMatch("abc", /d/),
      'Expected actual: "abc" to match: "/d/".',
    ],
  ],
  assertNotMatch: [
    [() => a.assertNotMatch("abc", /d/)],
    [
      () => a.assertNotMatch("abc", /b/, "x"),
      'Expected actual: "abc" to not match: "/b/": x',
    ],
  ],
  assertStringIncludes: [
    [() => a.assertStringIncludes("abc", "bc")],
    [
      () => a.assertStringIncludes("abc", "d"),
      'Expected actual: "abc" to contain: "d".',
    ],
  ],
  assertInstanceOf: [
    [() => a.assertInstanceOf(new TypeError(), Error)],
    [
      () => a.assertInstanceOf(null, Error),
      'Expected object to be an instance of "Error" but was "null".',
    ],
    [
      () => a.assertInstanceOf({}, Error),
      'Expected object to be an instance of "Error" but was "Object".',
    ],
    [
      () => a.assertInstanceOf(() => {}, Error, "x"),
      'Expected object to be an instance of "Error" but was not an instanced object: x',
    ],
  ],
  assertNotInstanceOf: [
    [() => a.assertNotInstanceOf({}, Error)],
    [
      () => a.assertNotInstanceOf(new Error(), Error),
      'Expected object to not be an instance of "function".',
    ],
  ],
  assertIsError: [
    [() => a.assertIsError(new TypeError("abc"), Error, "bc")],
    [() =>
      a.assertIsError(
        new TypeError("\x1b[31mabc\x1b[39m"),
        TypeError,
        /^abc$/,
      )],
    [() => a.assertIsError("x"), 'Expected "error" to be an Error object.'],
    [
      () => a.assertIsError(new Error("x"), TypeError),
      'Expected error to be instance of "TypeError", but was "Error".',
    ],
    [
      () => a.assertIsError(new Error("x"), Error, "y", "z"),
      'Expected error message to include "y", but got "x": z',
    ],
  ],
  assertThrows: [
    [() =>
      a.assertThrows(() => {
        throw 1;
      })],
    [() => a.assertThrows(() => 1), "Expected function to throw."],
    [() => a.assertThrows(() => 1, "x"), "Expected function to throw: x"],
    [
      () => a.assertThrows(() => 1, Error, "y", "x"),
      "Expected function to throw: x",
    ],
    [
      () =>
        a.assertThrows(() => {
          throw 1;
        }, Error),
      "A non-Error object was thrown.",
    ],
    [
      () =>
        a.assertThrows(() => {
          throw new Error("x");
        }, TypeError),
      'Expected error to be instance of "TypeError", but was "Error".',
    ],
  ],
  fail: [[() => a.fail(), "Failed assertion."], [
    () => a.fail("x"),
    "Failed assertion: x",
  ]],
  unreachable: [[() => a.unreachable(), "Unreachable."]],
  unimplemented: [[() => a.unimplemented("x"), "Unimplemented: x"]],
};

for (const [name, table] of Object.entries(cases)) {
  Deno.test(name, () => {
    for (const [run, message] of table) {
      check(String(run), failure(run), message);
    }
  });
}

Deno.test("assertThrows returns what was thrown", () => {
  const error = new TypeError("abc");
  const thrower = () => {
    throw error;
  };
  check("any", a.assertThrows(thrower) === error, true);
  check("typed", a.assertThrows(thrower, TypeError, "b") === error, true);
});

Deno.test("assertRejects", async () => {
  const error = new TypeError("abc");
  check(
    "any",
    await a.assertRejects(() => Promise.reject(error)) === error,
    true,
  );
  check(
    "typed",
    await a.assertRejects(() => Promise.reject(error), Error, "bc") === error,
    true,
  );
  const failing: readonly (readonly [run: () => Promise<unknown>, message: string])[] = [
    [
      () => a.assertRejects(() => Promise.resolve()),
      "Expected function to reject.",
    ],
    [
      () => a.assertRejects(() => Promise.resolve(), "x"),
      "Expected function to reject: x",
    ],
    [() =>
      a.assertRejects(() => {
        throw error;
      }), "Function throws when expected to reject."],
    [
      () => a.assertRejects(() => 1 as never),
      "Function throws when expected to reject.",
    ],
    [
      () => a.assertRejects(() => Promise.reject(1), Error),
      "A non-Error object was rejected.",
    ],
    [
      () => a.assertRejects(() => Promise.reject(error), RangeError),
      'Expected error to be instance of "RangeError", but was "TypeError".',
    ],
    [
      () => a.assertRejects(() => Promise.reject(error), TypeError, "z"),
      'Expected error message to include "z", but got "abc".',
    ],
  ];
  for (const [run, message] of failing) {
    const found = await run().then(
      () => undefined,
      (e) => e instanceof a.AssertionError ? plain(e.message) : e,
    );
    check(String(run), found, message);
  }
});

Deno.test("AssertionError has a name and a cause", () => {
  const error = new a.AssertionError("x", { cause: 1 });
  check("error", [
    error.name,
    error.message,
    error.cause,
    error instanceof Error,
  ], ["AssertionError", "x", 1, true]);
});
