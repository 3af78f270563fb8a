/**
 * A Gateway's life while the API server refuses, delays, forgets and repeats: once that is over everything is as if it had never
 * been, and nothing is left to write.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import type { Fault } from "../../standalone/apiserver/faults.ts";
import { Life, type State } from "./support/life.ts";

const leases = "leases.coordination.k8s.io";

const storms: { readonly [name: string]: readonly Fault[] } = {
  "conflicts: every other write is answered with 409": [{ kind: "conflict", rate: 0.5 }],
  "a busy server: every other request is answered with 429": [{ kind: "throttle", rate: 0.5, seconds: 0 }],
  "a busier server: requests are answered with 429 and wait for a second, until the Lease is lost meanwhile":
    [
      { kind: "throttle", resource: leases, rate: 1, seconds: 1 },
      { kind: "throttle", rate: 0.5, seconds: 1 },
    ],
  // The three classes of "Automatic Reliability Testing for Cluster Management Controllers" (Sieve, OSDI 2022).
  "gaps: events that are dropped, merged or told twice": [
    { kind: "drop", rate: 0.4 },
    { kind: "duplicate", rate: 0.4 },
    { kind: "merge", rate: 0.5, milliseconds: 30 },
  ],
  "time travel: watches that break, and lists from the past after that": [
    { kind: "cut", rate: 0.1 },
    { kind: "expire", rate: 0.1 },
    { kind: "stale", rate: 0.7, revisions: 15 },
  ],
  "states in between: late events and late answers": [
    { kind: "latency", rate: 0.5, milliseconds: 40 },
    { kind: "merge", milliseconds: 100 },
  ],
};

/** How often each fault has to strike in each part of the life, and how long that may take in milliseconds. */
const strikes = 2, patience = 30_000;

/** Lives through it with one replica; gives what there is after each part. */
async function live(life: Life, faults: readonly Fault[]): Promise<readonly State[]> {
  const states: State[] = [], leader = await life.replica(), { api } = life;
  const costsLease = faults.some(({ resource }) => resource === leases);
  try {
    await life.until("it leads", () => leader.content());
    for (const { name, begin, ended } of life.parts) {
      for (const fault of faults) api.faults.add(fault);
      const before = new Map(api.faults.struck);
      const missing = () => [
        ...faults.map(({ kind }) => kind).filter((kind) =>
          (api.faults.struck.get(kind) ?? 0) < (before.get(kind) ?? 0) + strikes
        ),
        ...costsLease && leader.operator.operator.ledger.leading ? ["end of the term"] : [],
      ];
      await begin();
      const deadline = systemClock.monotonic() + patience;
      do {
        await life.unrest(6);
        assert(
          systemClock.monotonic() < deadline,
          `${name}: no ${missing().join(", no ")}`,
        );
      } while (missing().length > 0);
      if (costsLease) {
        const { length } = life.writes;
        await life.unrest(6);
        assertEquals(
          life.writes.slice(length),
          [],
          `${name}: what has waited is not written without the Lease`,
        );
      }
      api.faults.clear();
      if (faults.length > 0) life.relist();
      await life.until(name, async () => await ended() && await leader.content());
      // Not at a single look: a machine that stands still costs it the Lease of its fast clock, which it gets again.
      await life.rest(() => leader.content());
      states.push(life.state());
    }
    assertEquals(leader.operator.operator.graph.tables.flatMap(({ failures }) => [...failures]), []);
    assert(!leader.operator.scope.signal.aborted, "it went on all the time");
    return states;
  } finally {
    await leader.end();
  }
}

Deno.test("storms pass without a trace", async (t) => {
  await using calm = await Life.begin();
  const expected = await live(calm, []);
  for (const [name, faults] of Object.entries(storms)) {
    await t.step(name, async () => {
      await using life = await Life.begin();
      for (const [i, state] of (await live(life, faults)).entries()) {
        assertEquals(state, expected[i], life.parts[i]!.name);
      }
    });
  }
});
