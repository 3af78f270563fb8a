import { assert, assertEquals } from "@std/assert";
import { equal } from "../../controllers/runtime/equal.ts";
import { freeze } from "../../controllers/runtime/freeze.ts";
import { SortedMap } from "../../controllers/runtime/sorted_map.ts";

const shared = { deep: [1, { a: "b" }] };

Deno.test("equal: values of the same structure", () => {
  const pairs: readonly (readonly [unknown, unknown])[] = [
    [1, 1],
    [NaN, NaN],
    ["a", "a"],
    [undefined, undefined],
    [null, null],
    [{ a: 1, b: [2, { c: 3 }] }, { b: [2, { c: 3 }], a: 1 }],
    [[], []],
    [Object.create(null), Object.create(null)],
    [new Map([["a", { x: 1 }]]), new Map([["a", { x: 1 }]])],
    [new Set(["a", "b"]), new Set(["b", "a"])],
    [Uint8Array.of(1, 2), Uint8Array.of(1, 2)],
    [SortedMap.empty().with(new Map([["a", [1]]])), SortedMap.empty().with(new Map([["a", [1]]]))],
    [{ shared }, { shared }],
  ];
  for (const [a, b] of pairs) assert(equal(a, b) && equal(b, a), Deno.inspect([a, b]));
});

Deno.test("equal: in doubt, different", () => {
  const pairs: readonly (readonly [unknown, unknown])[] = [
    [0, -0],
    [1, "1"],
    [null, undefined],
    [null, {}],
    [{}, []],
    [[], {}],
    [[1, 2], [1]],
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [{ a: undefined }, { b: 1 }],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ constructor: Object }, { other: 1 }],
    [new Map([["a", 1]]), new Map([["b", 1]])],
    [new Map(), new Set()],
    [new Set(["a"]), new Set(["b"])],
    [Uint8Array.of(1, 2), Uint8Array.of(1, 3)],
    [Uint8Array.of(1), Uint8Array.of(1, 3)],
    [new Date(1), new Date(1)],
    [/a/, /b/],
    [/a/, /a/],
    [() => 1, () => 1],
    [{}, Object.create(null)],
    [new URL("http://a"), new URL("http://b")],
  ];
  for (const [a, b] of pairs) assert(!equal(a, b) && !equal(b, a), Deno.inspect([a, b]));
});

Deno.test("equal: does not look into what is shared", () => {
  let looks = 0;
  const watched = new Proxy({ a: 1 }, { get: () => looks++, ownKeys: () => (looks++, []) });
  assert(equal([watched, { x: watched }], [watched, { x: watched }]));
  assertEquals(looks, 0);
});

Deno.test("freeze: plain values all the way down, and nothing else", () => {
  const bytes = Uint8Array.of(1), map = new Map([["a", 1]]);
  const value = freeze({ list: [{ a: 1 }], bytes, map });
  assert(Object.isFrozen(value) && Object.isFrozen(value.list) && Object.isFrozen(value.list[0]));
  bytes[0] = 2;
  map.set("b", 2);
});
