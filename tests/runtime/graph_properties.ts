/**
 * What has to hold of an engine of tables, as functions of the engine, so that broken ones can be held against it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Graph, GraphOptions, Table } from "../../controllers/runtime/graph.ts";
import { type Random, random } from "../support/random.ts";
import {
  deadly,
  type Gateway,
  lost,
  pipeline,
  poison,
  type Route,
  type Service,
  type Tables,
} from "./model.ts";

/** Makes a graph: the real one, or one that is broken on purpose. */
export type Engine = (options?: GraphOptions) => Graph;

type Dump = { readonly [table: string]: unknown };

/** Groups are written out in the order in which they iterate, which must not depend on the past either. */
function rowsOf(table: Table<unknown>): unknown {
  const rows = [...table.entries()].map((
    [key, value],
  ) => [key, value instanceof Object && Symbol.iterator in value ? [...value as Iterable<unknown>] : value]);
  return {
    rows: rows.sort(([a], [b]) => String(a) < String(b) ? -1 : 1),
    failures: [...table.failures.keys()].sort(),
  };
}

function dump(tables: Tables): Dump {
  return Object.fromEntries(Object.entries(tables.derived).map(([name, table]) => [name, rowsOf(table)]));
}

function gateway(rnd: Random): Gateway {
  return {
    name: `gw${rnd.int(3)}`,
    listeners: rnd.list(3, (i) => ({ name: `l${i}`, port: 80 + rnd.int(2) })),
  };
}

function service(rnd: Random): Service {
  return { name: `s${rnd.int(4)}`, port: 80 + rnd.int(2) };
}

function route(rnd: Random): Route {
  const prefixes = ["/", "/a", "/b", "/longer", poison, deadly, lost] as const;
  return {
    name: `r${rnd.int(8)}`,
    created: rnd.int(2),
    gateway: `gw${rnd.int(3)}`,
    hostnames: rnd.list(3, () => `h${rnd.int(2)}`),
    rules: rnd.list(3, () => ({
      prefix: rnd.oneIn(3) ? rnd.pick(prefixes) : "/a",
      service: `s${rnd.int(4)}`,
    })),
  };
}

/** One random change. */
function change(tables: Tables, rnd: Random): void {
  const sort = rnd.int(7);
  if (sort === 0) {
    const value = gateway(rnd);
    if (rnd.oneIn(4)) tables.gateways.delete(value.name);
    else tables.gateways.set(value.name, value);
  } else if (sort <= 2) {
    const value = service(rnd);
    if (rnd.oneIn(3)) tables.services.delete(value.name);
    else tables.services.set(value.name, value);
  } else if (sort === 3 && rnd.oneIn(4)) {
    const list = rnd.list(9, () => route(rnd));
    tables.routes.replace(list.map((value) => [value.name, value]));
  } else {
    const value = route(rnd);
    if (rnd.oneIn(4)) tables.routes.delete(value.name);
    else tables.routes.set(value.name, value);
  }
}

/** After any history, every table holds what a fresh graph makes of the same sources, given in any order. */
export function incrementalIsBatch(engine: Engine, runs = 150): void {
  const seen = { rows: 0, failures: 0, bigGroups: 0 };
  for (let seed = 1; seed <= runs; seed++) {
    const rnd = random(seed), graph = engine({ freeze: true }), live = pipeline(graph);
    for (let step = 0; step < 60; step++) {
      change(live, rnd);
      if (rnd.oneIn(2)) graph.settle();
    }
    graph.settle();
    const batch = engine(), fresh = pipeline(batch);
    for (const name of ["gateways", "services", "routes"] as const) {
      const target: { set(key: string, value: unknown): void } = fresh[name];
      for (const [key, value] of rnd.shuffle([...live[name].entries()])) target.set(key, value);
    }
    batch.settle();
    assertEquals(dump(live), dump(fresh), `history of seed ${seed}`);
    seen.rows += live.derived.hosts!.size;
    seen.failures += graph.stats.failing;
    for (const [, rules] of live.derived.hosts!.entries()) {
      if ((rules as unknown[]).length > 2) seen.bigGroups++;
    }
  }
  assert(
    seen.rows > runs && seen.failures > runs / 4 && seen.bigGroups > runs / 4,
    `vacuous: ${JSON.stringify(seen)}`,
  );
}

/** A settle in pieces, with changes between them, comes to the same as one in one go. */
export function piecesAreOneGo(engine: Engine, runs = 40): void {
  let pieces = 0;
  for (let seed = 1; seed <= runs; seed++) {
    const rnd = random(seed), graph = engine({ freeze: true }), live = pipeline(graph);
    const whole = engine(), other = pipeline(whole);
    for (let step = 0; step < 30; step++) {
      change(live, rnd);
      while (graph.settle(() => true) === undefined) {
        pieces++;
        assert(graph.settling);
        if (rnd.oneIn(4)) change(live, rnd); // For the next settle.
      }
      for (const name of ["gateways", "services", "routes"] as const) {
        const target: { replace(all: Iterable<readonly [string, unknown]>): void } = other[name];
        target.replace(live[name].entries());
      }
      whole.settle();
      assert(!graph.settling);
      assertEquals(dump(live), dump(other), `seed ${seed}, step ${step}`);
    }
  }
  assert(pieces > 20 * runs, `vacuous: ${pieces}`);
}

/** `changed` names exactly the rows that differ from before, and nothing differs after a settle without changes. */
export function changesAreExact(engine: Engine, runs = 40): void {
  let compared = 0;
  for (let seed = 1; seed <= runs; seed++) {
    const rnd = random(seed), graph = engine(), live = pipeline(graph);
    const all: readonly Table<unknown>[] = [
      live.gateways,
      live.services,
      live.routes,
      ...Object.values(live.derived),
    ];
    for (let step = 0; step < 40; step++) {
      const before = all.map((table) => new Map(table.entries())), { sequence } = graph;
      for (let i = rnd.int(3); i >= 0; i--) change(live, rnd);
      const settled = graph.settle();
      let written = 0;
      all.forEach((table, i) => {
        const old = before[i]!, keys = new Set([...old.keys(), ...[...table.entries()].map(([key]) => key)]);
        const differing = [...keys].filter((key) => old.get(key) !== table.get(key));
        assertEquals([...table.changed].sort(), differing.sort(), `seed ${seed}, ${table.name}`);
        written += differing.length;
      });
      compared += written;
      assertEquals(settled.written, written);
      assertEquals(settled.changed, written > 0);
      assertEquals(settled.sequence, sequence + (written > 0 ? 1 : 0));
      const idle = graph.settle();
      assertEquals([idle.changed, idle.recomputed, idle.sequence], [false, 0, settled.sequence]);
      assert(all.every((table) => table.changed.size === 0));
    }
  }
  assert(compared > runs * 40, `vacuous: ${compared}`);
}

const edited = (i: number, edit: number): Route => ({
  name: `r${i}`,
  created: i,
  gateway: "gw",
  hostnames: [`h${i}`, "shared"],
  rules: [{ prefix: `/${edit}`, service: "s" }],
});

/** One edit among 5,000 routes, all in one group, touches a constant number of rows and copies next to nothing. */
export function workFollowsTheChange(engine: Engine): void {
  const graph = engine(), tables = pipeline(graph), { attachments, hosts, byHost } = tables.derived;
  tables.gateways.set("gw", { name: "gw", listeners: [{ name: "http", port: 80 }] });
  tables.services.set("s", { name: "s", port: 80 });
  tables.routes.replace(Array.from({ length: 5_000 }, (_, i) => [`r${i}`, edited(i, 0)]));
  graph.settle();
  assertEquals(hosts!.size, 5_001);

  tables.routes.set("r7", edited(7, 1));
  const one = graph.settle();
  // The attachment, its host and the shared host; the route table and the summary are cut off.
  assertEquals([...attachments!.changed], ["r7"]);
  assertEquals([...hosts!.changed].sort(), ["gw/80/h7", "gw/80/shared"]);
  assertEquals(one.recomputed, 2 + 2 + 1 + 1, "attachment and strict, hosts, route table, usage");
  assertEquals(byHost!.get("gw/80/shared") instanceof Map, false);

  // An equal object, as every relist brings: nothing beyond the comparison.
  tables.services.set("s", { name: "s", port: 80 });
  assertEquals(graph.settle(), { ...one, changed: false, recomputed: 0, written: 0, milliseconds: 0 });

  // A change that reaches no output: the gateway's other listener has the same port.
  tables.gateways.set("gw", { name: "gw", listeners: [{ name: "other", port: 80 }] });
  const cut = graph.settle();
  assertEquals(attachments!.changed.size, 0);
  assertEquals([cut.recomputed, cut.written], [2, 1], "ports and summaries; the source's row alone");

  // A row that nobody looked up before, and then one that everybody does.
  tables.services.set("t", { name: "t", port: 80 });
  assertEquals(graph.settle().recomputed, 1, "its own usage");
  tables.services.set("s", { name: "s", port: 81 });
  assert(graph.settle().recomputed > 5_000);
}

/** Once everything is gone, no dependency is remembered and no row is left. */
export function nothingIsLeftBehind(engine: Engine): void {
  for (let seed = 1; seed <= 20; seed++) {
    const rnd = random(seed), graph = engine(), tables = pipeline(graph);
    let most = 0;
    for (let step = 0; step < 60; step++) {
      change(tables, rnd);
      graph.settle();
      most = Math.max(most, graph.stats.dependencies);
      // What is remembered is what the last computation of each row looked up.
      const batch = engine(), fresh = pipeline(batch);
      fresh.gateways.replace(tables.gateways.entries());
      fresh.services.replace(tables.services.entries());
      fresh.routes.replace(tables.routes.entries());
      batch.settle();
      assertEquals(graph.stats.dependencies, batch.stats.dependencies, `seed ${seed}, step ${step}`);
    }
    assert(most > 5, "vacuous");
    for (const source of [tables.gateways, tables.services, tables.routes]) source.replace([]);
    graph.settle();
    assertEquals(graph.stats.dependencies, 0);
    assertEquals(graph.stats.failing, 0);
    assertEquals(graph.tables.map((table) => table.size), graph.tables.map(() => 0));
  }
}
