import { assert, assertEquals } from "@std/assert";
import { equal } from "../../controllers/runtime/equal.ts";
import { SortedMap } from "../../controllers/runtime/sorted_map.ts";
import { random } from "../support/random.ts";

function sorted(map: ReadonlyMap<string, number>): [string, number][] {
  return [...map].sort(([a], [b]) => a < b ? -1 : 1);
}

Deno.test("sorted map: any edits give what a Map gives, sorted, and earlier versions stay as they were", () => {
  let entries = 0, removed = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const rnd = random(seed), model = new Map<string, number>();
    let map = SortedMap.empty<number>();
    const kept: { readonly map: SortedMap<number>; readonly entries: readonly [string, number][] }[] = [];
    // Growing, steady and shrinking, by single edits and by many at once.
    for (let step = 0; step < 60; step++) {
      const edits = new Map<string, number | undefined>();
      for (let i = rnd.oneIn(3) ? rnd.int(400) : 1; i > 0; i--) {
        const key = `k${rnd.int(2000)}`, value = rnd.int(step < 30 ? 4 : 2) ? rnd.int(9) : undefined;
        edits.set(key, value);
        if (value === undefined) removed += Number(model.delete(key));
        else model.set(key, value);
      }
      map = map.with(edits);
      assertEquals(map.size, model.size);
      if (step % 10 === 0) kept.push({ map, entries: sorted(model) });
    }
    entries += map.size;
    const expected = sorted(model);
    assertEquals([...map], expected);
    assertEquals([...map.keys()], expected.map(([key]) => key));
    assertEquals([...map.values()], expected.map(([, value]) => value));
    const visited: [string, number][] = [];
    map.forEach((value, key) => visited.push([key, value]));
    assertEquals(visited, expected);
    for (let i = 0; i < 2000; i++) {
      assertEquals([map.get(`k${i}`), map.has(`k${i}`)], [model.get(`k${i}`), model.has(`k${i}`)]);
    }
    for (const { map, entries } of kept) assertEquals([...map], entries);
    assert(map.equals(SortedMap.empty<number>().with(model), Object.is), "whatever the way that led there");
    const all = map.with(new Map([...map.keys()].map((key) => [key, undefined])));
    assertEquals([all.size, [...all], all.get("k1"), all.has("")], [0, [], undefined, false]);
  }
  assert(entries > 60 * 300 && removed > 1000, `vacuous: ${entries} ${removed}`);
});

Deno.test("sorted map: one edit among 10,000 copies no more than a few hundred entries", () => {
  const key = (i: number) => `k${String(i).padStart(5, "0")}`;
  const before = SortedMap.empty<number>().with(
    new Map(Array.from({ length: 10_000 }, (_, i) => [key(i), i])),
  );
  for (
    const edit of [[key(5000), -1], [key(0), undefined], ["a", 1], ["z", 1], [key(9999), undefined]] as const
  ) {
    const after = before.with(new Map([edit]));
    assert(after.sharedWith(before) >= 10_000 - 300, `${edit}: ${after.sharedWith(before)}`);
  }
  // Not even after many of them, one at a time, nor once most entries are gone.
  let map = before;
  for (let i = 0; i < 9_000; i++) {
    const next = map.with(new Map([[key(i), undefined]]));
    assert(next.size - next.sharedWith(map) <= 300);
    map = next;
  }
  assertEquals(map.size, 1000);
});

Deno.test("sorted map: equality looks only at what two versions do not share", () => {
  const before = SortedMap.empty<number>().with(
    new Map(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i])),
  );
  let looks = 0;
  const same = (a: number, b: number) => (looks++, a === b);
  assert(before.with(new Map([["k77", 77]])).equals(before, same));
  assert(looks <= 128, `${looks}`);
  assert(!before.with(new Map([["k77", 78]])).equals(before, same));
  assert(!before.with(new Map([["k77", undefined], ["l", 77]])).equals(before, same));
  assert(!before.with(new Map([["k77", undefined]])).equals(before, same));
  assert(!equal(before, new Map(before)), "a Map may be changed");
});
