/**
 * From acknowledgements to verdicts.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { named } from "../../xds/ledger/clues.ts";
import { gateway, LedgerWorld, piece, SimProxy } from "./support/ledger_world.ts";

const searching = "Finding out which of several changes the proxies refuse";

function world(...proxies: readonly string[]) {
  const made = new LedgerWorld();
  made.expect(...proxies);
  return { world: made, proxies: proxies.map((id) => new SimProxy(made, id)) };
}

Deno.test("programmed once every expected proxy has it, not before", () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  assertEquals(w.verdict("A"), "pending 1");
  a!.connect().takeAll();
  assertEquals(w.verdict("A"), "pending 1");
  b!.connect().takeAll();
  assertEquals(w.verdict("A"), "programmed 1");
});

Deno.test("in the middle of a hand-over no contribution counts as taken that was not sent yet", () => {
  const { world: w, proxies: [a] } = world("a");
  for (const origin of ["A", "B"]) w.contribute(origin, 1, piece(`${origin}/0`, "one"));
  w.settle();
  a!.connect().takeAll();
  for (const origin of ["A", "B"]) w.contribute(origin, 2, piece(`${origin}/0`, "two"));
  using told = w.ledger.outbox({ to: "leader", leads: true }, () => {});
  const steps: unknown[] = [];
  w.between = () => {
    if (w.graph.settling) return;
    // An answer about what there was before, and another replica whose proxies have everything.
    a!.answer("routes:r", a!.acked.get("routes:r"));
    const contributions = ["A", "B"].map((origin) => ({ origin, generation: 2, waiting: [] }));
    w.ledger.hear("other", { gateway, contributions });
    const news = [...told.take()].flatMap(({ contributions = [] }) => contributions);
    steps.push(news.map(({ origin, generation, waiting }) => `${origin} ${generation} ${waiting}`).sort());
  };
  w.settle();
  assertEquals(steps.slice(0, 3), [["A 2 a", "B 1 "], ["A 2 a", "B 2 a"], ["A 2 a", "B 2 a"]]);
  assertEquals([w.verdict("A"), w.verdict("B")], ["pending 2", "pending 2"]);
  w.between = () => {};
  a!.takeAll();
  assertEquals([w.verdict("A"), w.verdict("B")], ["programmed 2", "programmed 2"]);
});

Deno.test("what is refused in the midst of a settle is blamed on the culprit alone, and once", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("old", 1, piece("old/0", "good"));
  w.settle();
  a!.connect().takeAll();
  w.contribute("new", 1, piece("new/0", "bad"));
  w.settle();
  w.between = () => {
    if (w.graph.settling) a!.take("routes:r");
  };
  w.contribute("elsewhere", 1, piece("elsewhere/0", "good", "routes:s"));
  w.settle();
  w.between = () => {};
  assertEquals(w.kept(), { "new/0": "no bad" });
  a!.takeAll();
  assertEquals(w.kept(), { "new/0": "no bad" });
  assertEquals([w.verdict("old"), w.verdict("elsewhere")], ["programmed 1", "programmed 1"]);
});

Deno.test("what is let go on in the midst of a settle is not programmed before proxies have been sent it", () => {
  const { world: w, proxies: [a] } = world("a");
  a!.quotes = "nobody";
  for (const [origin, content] of [["A", "bad"], ["B", "good"]] as const) {
    w.contribute(origin, 1, piece(`${origin}/0`, content));
  }
  w.settle();
  a!.connect().take("routes:r");
  assertEquals(Object.keys(w.kept()), ["A/0", "B/0"], "nobody knows which");
  w.between = () => {
    if (w.graph.settling) a!.take("routes:r");
  };
  w.contribute("elsewhere", 1, piece("elsewhere/0", "good", "routes:s"));
  w.settle();
  w.between = () => {};
  assertEquals(Object.keys(w.kept()).length, 1, "one is tried");
  for (const origin of ["A", "B"]) assertMatch(w.verdict(origin)!, /^pending 1/);
  a!.takeAll();
  assertEquals([w.verdict("A"), w.verdict("B")], ["rejected 1 no way", "programmed 1"]);
});

Deno.test("without an expected proxy nothing is programmed, whoever else is connected", () => {
  const { world: w } = world();
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  new SimProxy(w, "stranger").connect().takeAll();
  assertEquals(w.verdict("A"), "pending 1");
  w.expect("stranger");
  w.settle();
  assertEquals(w.verdict("A"), "programmed 1");
});

Deno.test("a proxy that joins, restarts or leaves later changes nothing; a new generation does", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  a!.connect().takeAll();
  w.expect("a", "b");
  w.settle();
  assertEquals(w.verdict("A"), "programmed 1");
  a!.restart();
  assertEquals(w.verdict("A"), "programmed 1");
  w.contribute("A", 2, piece("A/0", "two"));
  w.settle();
  assertEquals(w.verdict("A"), "pending 2");
  a!.takeAll();
  assertEquals(w.verdict("A"), "pending 2");
  w.expect("a");
  w.settle();
  assertEquals(w.verdict("A"), "programmed 2");
  w.expect();
  w.settle();
  assertEquals(w.verdict("A"), "programmed 2");
});

Deno.test("how long a proxy takes is measured for changes, not for what it catches up with after connecting", async () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  await w.clock.advance(60_000);
  a!.connect().takeAll();
  assertEquals(w.ages, []);
  w.contribute("A", 2, piece("A/0", "two"));
  w.settle();
  await w.clock.advance(30);
  a!.takeAll();
  assertEquals(w.ages, [30]);
  await w.clock.advance(60_000);
  a!.restart();
  a!.takeAll();
  a!.disconnect();
  a!.connect().takeAll();
  assertEquals(w.ages, [30]);
});

Deno.test("a generation that changes nothing for the proxies is programmed at once", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  a!.connect().takeAll();
  w.contribute("A", 2, piece("A/0", "one"));
  w.settle();
  assertEquals(w.verdict("A"), "programmed 2");
});

Deno.test("an acknowledgement counts for what its version contained", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  const first = w.resources.get(`${gateway}|routes:r`)!.version;
  w.contribute("B", 1, piece("B/0", "two"));
  w.settle();
  a!.connect().answer("routes:r", first);
  assertEquals([w.verdict("A"), w.verdict("B")], ["programmed 1", "pending 1"]);
  a!.takeAll();
  assertEquals(w.verdict("B"), "programmed 1");
});

Deno.test("a contribution needs all of its resources", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one", "listener:l", "routes:r"));
  w.settle();
  a!.connect().take("routes:r");
  assertEquals(w.verdict("A"), "pending 1");
  a!.take("listener:l");
  assertEquals(w.verdict("A"), "programmed 1");
});

Deno.test("back to a version that the proxy has: programmed without another word from it", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  a!.connect().takeAll();
  w.contribute("A", 2, piece("A/0", "two"));
  w.settle();
  w.contribute("A", 3, piece("A/0", "one"));
  w.settle();
  assertEquals(w.verdict("A"), "programmed 3");
});

Deno.test("one that is silent for 15 seconds is left out and counted; once it answers, it is not", async () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  a!.connect().takeAll();
  await w.clock.advance(14_999);
  w.settle();
  assertEquals(w.verdict("A"), "pending 1");
  await w.clock.advance(1);
  assertEquals(w.wakes, 1);
  w.settle();
  assertEquals(w.verdict("A"), "programmed 1 Without 1 of 2 proxies, which have not answered for 15 seconds");
  assertEquals(w.ledger.report(gateway).map(({ proxy, behind, silent }) => [proxy, behind, silent]), [
    ["a", 0, false],
    ["b", 1, true],
  ]);
  b!.connect();
  b!.takeAll();
  assertEquals(w.verdict("A"), "programmed 1");
  await w.clock.advance(15_000);
  assertEquals(w.clock.pending, 0);
});

Deno.test("how long a proxy has not acknowledged: since it could have, however often that changes, also if it is left out", async () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  const waits = () => w.ledger.report(gateway).map(({ unacknowledged }) => unacknowledged);
  const change = (generation: number) => {
    w.contribute("A", generation, piece("A/0", `${generation}`));
    w.settle();
  };
  w.contribute("B", 1, piece("B/0", "one", "endpoints:e"));
  change(1);
  await w.clock.advance(60_000);
  assertEquals(waits(), [undefined, undefined], "none is connected");
  a!.connect();
  b!.connect();
  await w.clock.advance(2_000);
  assertEquals(waits(), [2_000, 2_000], "what there was before they came");
  a!.takeAll();
  b!.takeAll();
  assertEquals(waits(), [0, 0]);

  await w.clock.advance(60_000);
  change(2);
  await w.clock.advance(6_000);
  assertEquals(waits(), [6_000, 6_000]);
  a!.takeAll();
  w.contribute("B", 2, piece("B/0", "two", "endpoints:e"));
  w.settle();
  await w.clock.advance(10_000);
  w.settle();
  assertEquals(w.verdict("A"), "programmed 2 Without 1 of 2 proxies, which have not answered for 15 seconds");
  assertEquals(waits(), [10_000, 16_000], "of each what it lacks");
  b!.take("endpoints:e");
  assertEquals(waits(), [10_000, 16_000]);
  a!.takeAll();
  b!.takeAll();
  assertEquals(waits(), [0, 0]);

  for (let generation = 3; generation < 103; generation++) {
    change(generation);
    await w.clock.advance(1_000);
    a!.takeAll();
  }
  const [taken, late] = waits();
  assertEquals(taken, 0);
  assert(late! >= 30_000, `as far back as versions are remembered: ${late}`);
  b!.restart();
  await w.clock.advance(3_000);
  assertEquals(waits(), [0, 3_000], "it has begun anew");
});

Deno.test("if all are silent, nothing is programmed", async () => {
  const { world: w, proxies: [a] } = world("a", "b");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  await w.clock.advance(15_000);
  w.settle();
  assertEquals(w.verdict("A"), "pending 1 No proxy has answered for 15 seconds");
  a!.connect();
  assertEquals(w.verdict("A"), "pending 1");
  await w.clock.advance(10_000);
  a!.takeAll();
  assertEquals(w.verdict("A"), "programmed 1 Without 1 of 2 proxies, which have not answered for 15 seconds");
});

Deno.test("a proxy is not silent while it owes nothing", async () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  a!.connect().takeAll();
  await w.clock.advance(100_000);
  w.contribute("A", 2, piece("A/0", "two"));
  w.settle();
  await w.clock.advance(14_999);
  w.settle();
  assertEquals(w.verdict("A"), "pending 2");
  a!.takeAll();
  assertEquals(w.verdict("A"), "programmed 2");
  await w.clock.advance(15_000);
  assertEquals(w.clock.pending, 0);
});

Deno.test("a single suspect is the culprit at once; fixed, it is tried again by itself", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("A", 1, piece("A/0", "one"), piece("A/1", "two"));
  w.contribute("B", 1, piece("B/0", "three"));
  w.settle();
  a!.connect().takeAll();
  w.contribute("A", 2, piece("A/0", "one"), piece("A/1", "bad two"));
  w.settle();
  a!.take("routes:r");
  assertEquals(w.kept(), { "A/1": "no bad two" });
  assertEquals([w.verdict("A"), w.verdict("B")], ["rejected 2 no bad two", "programmed 1"]);
  assertEquals(a!.acked.get("routes:r"), '["one","two","three"]');
  a!.take("routes:r");
  assertEquals(a!.acked.get("routes:r"), '["one","","three"]');
  assertEquals(w.verdict("A"), "rejected 2 no bad two");
  w.contribute("A", 3, piece("A/0", "one"), piece("A/1", "good"));
  w.settle();
  assertEquals(w.kept(), {});
  assertEquals(w.verdict("A"), "pending 3");
  a!.takeAll();
  assertEquals(w.verdict("A"), "programmed 3");
});

Deno.test("of several suspects all are held back, then groups are released until the culprits are known", () => {
  const { world: w, proxies: [a] } = world("a");
  for (let i = 0; i < 4; i++) w.contribute(`O${i}`, 1, piece(`O${i}/0`, "old"));
  w.settle();
  a!.connect().takeAll();
  const { answers } = a!;
  a!.quotes = "nobody";
  for (let i = 4; i < 20; i++) {
    w.contribute(`N${i}`, 1, piece(`N${i}/0`, i === 7 || i === 15 ? `bad ${i}` : `good ${i}`));
  }
  w.settle();
  a!.take("routes:r");
  assertEquals(Object.keys(w.kept()).length, 16);
  assertEquals([w.verdict("N4"), w.verdict("O0")], [`pending 1 ${searching}`, "programmed 1"]);
  a!.takeAll();
  assertEquals(w.kept(), { "N7/0": "no way", "N15/0": "no way" });
  for (let i = 4; i < 20; i++) {
    assertEquals(w.verdict(`N${i}`), i === 7 || i === 15 ? "rejected 1 no way" : "programmed 1");
  }
  // The first refusal, all held back, then at most two rounds for each halving on the way to a culprit.
  const rounds = a!.answers - answers;
  assert(rounds <= 2 + 2 * 2 * Math.log2(16), `${rounds} rounds`);
});

Deno.test("what is edited during a search is tried anew, and what is deleted is forgotten", () => {
  const { world: w, proxies: [a] } = world("a");
  for (const name of ["A", "B", "C", "D"]) {
    w.contribute(name, 1, piece(`${name}/0`, name === "A" ? "bad" : "good"));
  }
  w.settle();
  a!.quotes = "nobody";
  a!.connect().take("routes:r");
  assertEquals(Object.keys(w.kept()), ["A/0", "B/0", "C/0", "D/0"]);
  w.contribute("A", 2, piece("A/0", "good"));
  w.withdraw("D");
  w.settle();
  assertEquals(Object.keys(w.kept()), ["B/0", "C/0"]);
  a!.takeAll();
  assertEquals(w.kept(), {});
  assertEquals(["A", "B", "C", "D"].map((name) => w.verdict(name)), [
    "programmed 2",
    "programmed 1",
    "programmed 1",
    undefined,
  ]);
});

Deno.test("routes are not blamed on the listener that carries them, nor listeners on routes", () => {
  const { world: w, proxies: [a] } = world("a");
  w.contribute("Gateway", 1, piece("Gateway/0", "listener", "listener:l", "routes:r"));
  w.contribute("A", 1, piece("A/0", "bad route"));
  w.settle();
  a!.connect().takeAll();
  assertEquals(w.kept(), { "A/0": "no bad route" });
  w.contribute("Gateway", 2, piece("Gateway/0", "bad listener", "listener:l"));
  w.settle();
  a!.takeAll();
  assertEquals(w.kept(), { "A/0": "no bad route", "Gateway/0": "no bad listener" });
  assertEquals(w.verdict("Gateway"), "rejected 2 no bad listener");
});

Deno.test("a search goes on with another proxy when the one that refused is gone", () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  for (const name of ["A", "B"]) w.contribute(name, 1, piece(`${name}/0`, name === "A" ? "bad" : "good"));
  w.settle();
  b!.connect();
  a!.connect().take("routes:r");
  a!.disconnect();
  w.expect("b");
  w.settle();
  b!.takeAll();
  assertEquals(w.kept(), { "A/0": "no bad" });
  assertEquals([w.verdict("A"), w.verdict("B")], ["rejected 1 no bad", "programmed 1"]);
});

Deno.test("Gateways do not mix, and a Gateway that is gone is forgotten", () => {
  const { world: w, proxies: [a] } = world("a");
  const other = "default/other";
  w.contribute("A", 1, piece("A/0", "one"));
  w.contributions.set(`${other}|A`, {
    gateway: other,
    origin: "A",
    generation: 1,
    pieces: [piece("A/0", "bad")],
  });
  w.proxies.set(other, [{ id: "z" }]);
  w.settle();
  a!.connect().takeAll();
  w.observe({ type: "connected", proxy: "z", gateway: other, software: "envoy 1.40.0" });
  w.observe({
    type: "nacked",
    proxy: "z",
    gateway: other,
    id: "routes:r",
    version: '["bad"]',
    message: "no",
  });
  assertEquals(w.verdict("A"), "programmed 1");
  assertEquals(w.verdicts.get(`${other}|A`), { generation: 1, state: "rejected", message: "no" });
  w.contributions.delete(`${other}|A`);
  w.proxies.delete(other);
  w.settle();
  w.observe({ type: "disconnected", proxy: "z", gateway: other });
  assertEquals(w.verdicts.get(`${other}|A`), undefined);
  assertEquals(w.rejections.size, 0);
  assertEquals(w.ledger.report(other), []);
  w.ledger[Symbol.dispose]();
});

Deno.test("whoever the complaint quotes is held back first; the others go on", () => {
  const { world: w, proxies: [a] } = world("a");
  for (let i = 0; i < 100; i++) w.contribute(`O${i}`, 1, piece(`O${i}/0`, i === 50 ? "bad 50" : `good ${i}`));
  w.settle();
  a!.connect().take("routes:r");
  assertEquals(w.kept(), { "O50/0": undefined });
  assertEquals(w.verdict("O50"), `pending 1 ${searching}`);
  a!.take("routes:r");
  assertEquals(w.kept(), { "O50/0": "no bad 50" });
  assertEquals([w.verdict("O50"), w.verdict("O51")], ["rejected 1 no bad 50", "programmed 1"]);
  assertEquals(a!.answers, 2);
});

Deno.test("a complaint that quotes the wrong one does not get it convicted", () => {
  const { world: w, proxies: [a] } = world("a");
  for (let i = 0; i < 9; i++) w.contribute(`O${i}`, 1, piece(`O${i}/0`, i === 5 ? "bad 5" : `good ${i}`));
  w.settle();
  a!.quotes = "anybody";
  a!.connect().takeAll();
  assertEquals(Object.keys(w.kept()), ["O5/0"]);
  for (let i = 0; i < 9; i++) assertMatch(w.verdict(`O${i}`)!, i === 5 ? /^rejected 1/ : /^programmed 1$/);
});

Deno.test("complaints are compared with all texts of a content, and the rarest decides", () => {
  const contents = [
    { match: { path: { type: "regex", value: "/a(" } } },
    { match: { path: { type: "regex", value: "/aa(" } }, hosts: ["a.example.com"] },
    { match: { path: { type: "exact", value: "/" } } },
    "x",
  ];
  const found = (complaint: string) => {
    const all = contents.map((content, i) => ({ content, i }));
    return named(all, complaint).map(({ i }) => i);
  };
  assertEquals(found("Invalid regex '/aa(': missing )"), [1]);
  assertEquals(found("Invalid regex '/a(': missing )"), [0]);
  assertEquals(found("Invalid regex"), [0, 1], "both are of a type with that name");
  assertEquals(found("duplicate domain a.example.com"), [1]);
  assertEquals(found("x"), []);
  assertEquals(found(""), []);
});

Deno.test("what only an older version refuses is tried again once no proxy runs that any more", () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  w.contribute("A", 1, piece("A/0", "bad in 1.40"));
  w.contribute("B", 1, piece("B/0", "bad for ever"));
  w.settle();
  a!.connect().takeAll();
  b!.connect().takeAll();
  const rejected = { "A/0": "no bad in 1.40", "B/0": "no bad for ever" };
  assertEquals(w.kept(), rejected);
  for (const proxy of [a!, b!]) {
    assertEquals(w.kept(), rejected, "one of the old is still there");
    proxy.disconnect();
    proxy.software = "envoy 1.41.0";
    proxy.tolerates = "bad in 1.40";
    proxy.restart();
  }
  a!.takeAll();
  b!.takeAll();
  assertEquals(w.kept(), { "B/0": "no bad for ever" });
  assertEquals([w.verdict("A"), w.verdict("B")], ["programmed 1", "rejected 1 no bad for ever"]);
});

Deno.test("a Gateway is taken down once no expected proxy has a listener of it", () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  w.contribute("G", 1, piece("G/0", "one", "listener:l", "routes:r"));
  w.contribute("A", 1, piece("A/0", "one"));
  w.settle();
  a!.connect().takeAll();
  b!.connect().takeAll();
  assertEquals(w.verdict("G"), "programmed 1");
  w.takeDown("G", 2);
  w.settle();
  assertEquals(w.verdict("G"), "pending 2");
  a!.take("listener:l");
  b!.take("routes:r");
  assertEquals(w.verdict("G"), "pending 2", "b still listens");
  b!.take("listener:l");
  assertEquals(w.verdict("G"), "programmed 2", "routes are for connections that drain");
});

Deno.test("a proxy that says nothing while its Gateway is taken down is waited for, however long", async () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  w.contribute("G", 1, piece("G/0", "one", "listener:l"));
  w.settle();
  a!.connect().takeAll();
  b!.connect().takeAll();
  w.takeDown("G", 2);
  w.settle();
  a!.takeAll();
  await w.clock.advance(14_999);
  assertEquals(w.verdict("G"), "pending 2");
  await w.clock.advance(1);
  w.settle();
  assertEquals(w.verdict("G"), "pending 2 1 of 2 proxies have not answered for 15 seconds");
  b!.takeAll();
  assertEquals(w.verdict("G"), "programmed 2");
});

Deno.test("a proxy of which nothing is known may serve a Gateway that is taken down", () => {
  const { world: w, proxies: [a, b] } = world("a", "b");
  w.takeDown("G", 2);
  w.settle();
  assertEquals(w.verdict("G"), "pending 2", "nobody has connected");
  b!.connect();
  a!.acked.set("cluster:c", "[]").set("listener:l", "[]");
  a!.connect();
  assertEquals(w.verdict("G"), "pending 2", "it has a listener, which it tells after its clusters");
  a!.takeAll();
  assertEquals(w.verdict("G"), "programmed 2", "the other has come with nothing");
});

Deno.test("a proxy that is out of reach may serve a Gateway that is taken down", () => {
  const { world: w, proxies: [a] } = world("a");
  a!.connect();
  a!.disconnect();
  w.takeDown("G", 2);
  w.settle();
  assertEquals(w.verdict("G"), "pending 2", "by another replica it may have got something since");
  a!.connect();
  assertEquals(w.verdict("G"), "programmed 2");
});
