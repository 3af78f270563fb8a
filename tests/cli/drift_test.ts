/**
 * What is measured of what is programmed against what is desired.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { watchDrift } from "../../cli/drift.ts";
import type { Proxy, Verdict } from "../../controllers/ir/mod.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { createMetrics } from "../../controllers/runtime/metrics.ts";
import { FakeClock } from "../support/fake_clock.ts";

Deno.test("drift: counts, the longest wait and the proxies of each Gateway, until it is gone", async () => {
  const clock = new FakeClock(), metrics = createMetrics({ clock, version: "1" }), graph = new Graph();
  const verdicts = graph.source<Verdict>("verdicts"), proxies = graph.source<readonly Proxy[]>("proxies");
  const behind = new Map([["a", 0], ["b", 2]]);
  const report = () =>
    [...behind].map(([proxy, behind]) => ({
      proxy,
      behind,
      connected: true,
      unacknowledged: behind * 3500,
      silent: behind > 0,
      refused: [],
    }));
  const settled = watchDrift({ metrics, verdicts, proxies, report, leading: () => true, clock });
  const seen = async () =>
    Object.fromEntries(
      (await metrics.render()).split("\n")
        .filter((line) => /^gatehouse_(contributions|oldest|proxies)/.test(line))
        .map((line) => line.replace("gatehouse_", "").replace('gateway="default/web"', "web").split(" ")),
    );
  const set = (origin: string, state: Verdict["state"], generation = 1) =>
    verdicts.set(`default/web|${origin}`, { generation, state, message: "" });

  proxies.set("default/web", [{ id: "a" }, { id: "b" }]);
  set("HTTPRoute/default/one", "programmed");
  set("HTTPRoute/default/two", "pending");
  graph.settle();
  settled();
  await clock.advance(3000);
  set("HTTPRoute/default/three", "pending");
  set("HTTPRoute/default/two", "pending", 2); // edited again, and still not there
  graph.settle();
  settled();
  await clock.advance(1000);
  assertEquals(await seen(), {
    'contributions{web,state="programmed"}': "1",
    'contributions{web,state="pending"}': "2",
    'contributions{web,state="rejected"}': "0",
    "oldest_unprogrammed_seconds{web}": "4",
    "oldest_unacknowledged_seconds{web}": "7",
    'proxies{web,state="expected"}': "2",
    'proxies{web,state="synced"}': "1",
    'proxies{web,state="left_out"}': "1",
  });

  set("HTTPRoute/default/two", "rejected");
  set("HTTPRoute/default/three", "programmed");
  behind.set("b", 0);
  graph.settle();
  settled();
  const after = await seen();
  assertEquals(after["oldest_unprogrammed_seconds{web}"], "0");
  assertEquals(after["oldest_unacknowledged_seconds{web}"], "0");
  assertEquals(after['contributions{web,state="rejected"}'], "1");
  assertEquals(after['proxies{web,state="synced"}'], "2");
  const samples = (await metrics.render()).split("\n").filter((line) => line.startsWith("gatehouse_time_to"));
  assertEquals(
    samples.filter((line) => /_(sum|count)/.test(line)),
    // Of what was edited again before it got there, the last edit does not begin anew; of what is refused there is none.
    ['sum{kind="HTTPRoute"} 1', 'count{kind="HTTPRoute"} 1'].map((end) =>
      `gatehouse_time_to_programmed_seconds_${end}`
    ),
  );

  verdicts.replace([]);
  proxies.replace([]);
  graph.settle();
  settled();
  assertEquals(await seen(), {});
});

Deno.test("drift: a replica that does not lead knows of its own proxies alone, and tells how far they are", async () => {
  const clock = new FakeClock(), metrics = createMetrics({ clock, version: "1" }), graph = new Graph();
  const verdicts = graph.source<Verdict>("verdicts"), proxies = graph.source<readonly Proxy[]>("proxies");
  const state = { leading: false };
  const settled = watchDrift({
    metrics,
    verdicts,
    proxies,
    report: () => [
      { proxy: "a", connected: true, behind: 1, unacknowledged: 2500, silent: false, refused: [] },
      { proxy: "b", connected: true, behind: 0, unacknowledged: 0, silent: false, refused: [] },
      { proxy: "elsewhere", connected: true, silent: false, refused: [] },
      { proxy: "stranger", connected: true, behind: 1, unacknowledged: 5000, silent: false, refused: [] },
    ],
    leading: () => state.leading,
    clock,
  });
  const oldest = async () =>
    (await metrics.render()).match(/^gatehouse_oldest_unprogrammed_seconds\{.*\} (.*)$/m)?.[1];
  const told = async () =>
    (await metrics.render()).split("\n").filter((line) =>
      /^gatehouse_(contributions|oldest|proxies)/.test(line)
    );
  proxies.set("default/web", [{ id: "a" }, { id: "b" }, { id: "elsewhere" }]);
  verdicts.set("default/web|HTTPRoute/default/one", { generation: 1, state: "pending", message: "" });
  graph.settle();
  settled();
  await clock.advance(60_000);
  const own = [
    'gatehouse_oldest_unacknowledged_seconds{gateway="default/web"} 2.5',
    'gatehouse_proxies{gateway="default/web",state="synced"} 1',
  ];
  assertEquals(await told(), own);
  state.leading = true;
  settled();
  await clock.advance(2_000);
  assertEquals(await oldest(), "2", "since it leads");
  assertEquals((await told()).filter((line) => line.includes("_proxies{")), [
    'gatehouse_proxies{gateway="default/web",state="synced"} 1',
    'gatehouse_proxies{gateway="default/web",state="expected"} 3',
    'gatehouse_proxies{gateway="default/web",state="left_out"} 0',
  ], "who is connected to another replica is that one's to tell");
  state.leading = false;
  settled();
  assertEquals(await told(), own);
});

Deno.test("drift: only so many Gateways are told apart, and one that goes makes room", async () => {
  const clock = new FakeClock(), metrics = createMetrics({ clock, version: "1" }), graph = new Graph();
  const verdicts = graph.source<Verdict>("verdicts"), proxies = graph.source<readonly Proxy[]>("proxies");
  const settled = watchDrift({ metrics, verdicts, proxies, report: () => [], leading: () => true, clock });
  const key = (i: number) => `default/web-${i}|HTTPRoute/default/${i}`;
  for (let i = 0; i < 1100; i++) verdicts.set(key(i), { generation: 1, state: "pending", message: "" });
  const told = async () => {
    graph.settle();
    settled();
    const text = await metrics.render();
    return [...text.matchAll(/^gatehouse_(contributions|oldest_un[a-z]+_seconds|proxies)\{.*$/gm)].length;
  };
  assertEquals(await told(), 1000 * 8);
  verdicts.delete(key(0));
  assertEquals(await told(), 1000 * 8);
  for (let i = 10; i < 1100; i++) verdicts.delete(key(i));
  assertEquals(await told(), 9 * 8);
});
