import { assertEquals, assertThrows } from "@std/assert";
import { type Failure, Graph, type Read, type Settlement } from "../../controllers/runtime/graph.ts";
import {
  changesAreExact,
  type Engine,
  incrementalIsBatch,
  nothingIsLeftBehind,
  piecesAreOneGo,
  workFollowsTheChange,
} from "./graph_properties.ts";

const engine: Engine = (options) => new Graph(options);

/** Settles a row at a time. */
class InPieces extends Graph {
  override settle(): Settlement {
    for (;;) {
      const settlement = super.settle(() => true);
      if (settlement) return settlement;
    }
  }
}

Deno.test("graph: incremental equals batch for random histories", () => incrementalIsBatch(engine));
Deno.test("graph: a settle in pieces comes to the same as one in one go", () => piecesAreOneGo(engine));
Deno.test("graph: what holds of one go holds of pieces", () => {
  for (const property of [incrementalIsBatch, changesAreExact]) {
    property((options) => new InPieces(options), 40);
  }
  workFollowsTheChange((options) => new InPieces(options));
});
Deno.test("graph: changed names exactly what differs", () => changesAreExact(engine));
Deno.test("graph: one edit among 5,000 touches a constant number of rows", () =>
  workFollowsTheChange(engine));
Deno.test("graph: no dependency outlives its rows", () => nothingIsLeftBehind(engine));

Deno.test("graph: a source shows changes from the next settle on, the last one of a key wins", () => {
  const graph = new Graph(), numbers = graph.source<number>("numbers");
  numbers.set("a", 1);
  numbers.set("a", 2);
  numbers.set("b", 3);
  numbers.delete("b");
  assertEquals([numbers.size, graph.pending], [0, true]);
  assertEquals(graph.settle().written, 1);
  assertEquals([numbers.get("a"), numbers.get("b"), graph.pending], [2, undefined, false]);
});

Deno.test("graph: replace removes what is not listed and undoes what came before it", () => {
  const graph = new Graph(), numbers = graph.source<{ readonly n: number }>("numbers");
  const kept = { n: 1 };
  numbers.replace([["kept", kept], ["gone", { n: 2 }]]);
  graph.settle();
  numbers.set("undone", { n: 9 });
  numbers.replace([["kept", { n: 1 }], ["new", { n: 3 }]]);
  numbers.set("after", { n: 4 });
  graph.settle();
  assertEquals([...numbers.changed].sort(), ["after", "gone", "new"]);
  assertEquals(numbers.get("kept") === kept, true, "an equal row stays the same object");
});

Deno.test("graph: one row that throws blocks no other, and recovers", () => {
  const told: Failure[] = [];
  const graph = new Graph({ onFailure: (failure) => told.push(failure) });
  const numbers = graph.source<number>("numbers"), limits = graph.source<number>("limits");
  const check = (n: number, read: Read): string => {
    if (n > (read(limits, "max") ?? Infinity)) throw new RangeError(`${n} is too much`);
    return `${n}`;
  };
  const bare = graph.derive("bare", numbers, check);
  const shown = graph.derive("shown", numbers, check, { failed: (error) => `${error}` });
  const lengths = graph.derive("lengths", shown, (text) => text.length);
  numbers.replace([["a", 1], ["b", 20]]);
  assertEquals(graph.settle().failures, []);

  limits.set("max", 10);
  const settled = graph.settle();
  assertEquals(Object.fromEntries(bare.entries()), { a: "1" });
  assertEquals(Object.fromEntries(shown.entries()), { a: "1", b: "RangeError: 20 is too much" });
  assertEquals(lengths.get("b"), 26);
  assertEquals(settled.failures.map(({ table, key }) => `${table} ${key}`), ["bare b", "shown b"]);
  assertEquals(told, [...settled.failures]);
  assertEquals([[...bare.failures.keys()], graph.stats.failing], [["b"], 2]);

  limits.delete("max"); // looked up before the throw, so it counts as read
  assertEquals(graph.settle().failures, []);
  assertEquals([bare.get("b"), shown.get("b"), graph.stats.failing], ["20", "20", 0]);
});

Deno.test("graph: a derivation cannot look at tables behind its back", () => {
  const graph = new Graph(), other = new Graph();
  const numbers = graph.source<number>("numbers"), later: { read?: Read } = {};
  const foreign = other.source<number>("foreign");
  const attempts = {
    'Cannot look at table "numbers" while deriving "t0": use read': () => numbers.get("a"),
    'Cannot look at table "numbers" while deriving "t1": use read': () => [...numbers.entries()],
    'Cannot change source "numbers" while deriving "t2"': () => numbers.set("a", 2),
    'Cannot settle while deriving "t3"': () => graph.settle(),
    'Cannot read "foreign" for "t4": it is not an earlier table of the same graph': (read: Read) =>
      read(foreign, "a"),
  };
  const tables = Object.values(attempts).map((attempt, i) =>
    graph.derive(`t${i}`, numbers, (_n, read) => {
      later.read = read;
      return attempt(read);
    })
  );
  numbers.set("a", 1);
  graph.settle();
  assertEquals(tables.map((table) => (table.failures.get("a") as Error).message), Object.keys(attempts));
  assertThrows(() => later.read?.(numbers, "a"), Error, "after its derivation has returned");
  assertThrows(() => graph.derive("x", foreign, () => 1), Error, "a table of another graph");
  assertThrows(
    () => graph.union("x", [["a", numbers], ["ab", numbers]]),
    Error,
    "do not keep the keys apart",
  );
  assertThrows(() => graph.source("numbers"), Error, "there is one of that name");
});

Deno.test("graph: frozen rows refuse changes all the way down", () => {
  const graph = new Graph({ freeze: true });
  const lists = graph.source<{ items: number[] }>("lists");
  const derived = graph.derive("derived", lists, ({ items }) => ({ deep: { items } }));
  lists.set("a", { items: [1] });
  graph.settle();
  assertThrows(() => derived.get("a")?.deep.items.push(2), TypeError);
});

Deno.test("graph: a settle says how long it took", () => {
  let time = 0;
  const graph = new Graph({ clock: { monotonic: () => time } }), numbers = graph.source<number>("numbers");
  graph.derive("slow", numbers, () => time += 7);
  numbers.set("a", 1);
  assertEquals(graph.settle().milliseconds, 7);
});

Deno.test("graph: a custom comparison cuts off", () => {
  const graph = new Graph();
  const objects = graph.source<{ version: string; body: number }>("objects", {
    same: (a, b) => a.version === b.version,
  });
  const bodies = graph.derive("bodies", objects, (o) => [o.body], {
    same: (a, b) => a[0]! >> 1 === b[0]! >> 1,
  });
  objects.set("a", { version: "1", body: 2 });
  graph.settle();
  objects.set("a", { version: "1", body: 8 });
  assertEquals(graph.settle().changed, false);
  objects.set("a", { version: "2", body: 3 });
  assertEquals([graph.settle().written, bodies.get("a")], [1, [2]]);
});

Deno.test("graph: a group that somebody kept does not change", () => {
  const graph = new Graph(), numbers = graph.source<number>("numbers");
  const parity = graph.index("parity", numbers, (n) => n === 0 ? [] : [n % 2 ? "odd" : "even"]);
  for (let i = 0; i < 300; i++) numbers.set(`n${i}`, i);
  graph.settle();
  const kept = parity.get("odd")!;
  assertEquals(kept.size, 150);
  numbers.set("n1", 2);
  graph.settle();
  assertEquals([kept.size, kept.get("n1"), parity.get("odd")?.size, parity.get("even")?.size], [
    150,
    1,
    149,
    150,
  ]);
  assertEquals([...kept.keys()], [...kept.keys()].sort());
});

Deno.test("graph: what is written while a settle is under way is for the next one, whichever table it has come to", () => {
  const graph = new Graph(), first = graph.source<number>("first"), last = graph.source<number>("last");
  const sums = graph.derive("sums", first, (a, read, key) => a + (read(last, key) ?? 0));
  for (const source of [first, last]) for (const key of ["a", "b"]) source.set(key, 1);
  assertEquals(graph.settle(() => true), undefined);
  for (const source of [first, last]) source.set("b", 10);
  while (graph.settle(() => true) === undefined);
  assertEquals([...sums.entries()], [["a", 2], ["b", 2]]);
  graph.settle();
  assertEquals([...sums.entries()], [["a", 2], ["b", 20]]);
});

Deno.test("graph: a new list in the middle of a settle replaces what that one is still taking in", () => {
  const graph = new Graph(), source = graph.source<number>("source");
  for (const key of ["a", "b", "c"]) source.set(key, 1);
  assertEquals(graph.settle(() => true), undefined);
  source.replace([["b", 2]]);
  while (graph.settle(() => true) === undefined);
  graph.settle();
  assertEquals([...source.entries()], [["b", 2]]);
});
