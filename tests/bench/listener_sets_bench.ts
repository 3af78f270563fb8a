/**
 * A Gateway that thousands of ListenerSets add to, with half of the size next to it: what grows faster than the size shows.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { piece } from "../../controllers/loop.ts";
import type { KeyPair } from "../../controllers/runtime/pki.ts";
import type { Bench, Report } from "./bench.ts";
import {
  certificates,
  domainOf,
  endpointSlice,
  gateway,
  listenerSet,
  route,
  service,
  setOf,
  tlsSecret,
} from "./support/objects.ts";
import { type Settled, Tables } from "./support/tables.ts";

/** ListenerSets, with 3.2 times as many routes; others by `deno task bench listener-sets=500`. */
const usual = [2_500];
const routesPerSet = 3.2, edits = 40;

const bench: Bench = {
  name: "listener-sets",
  async run(report, sizes) {
    const pair = await (await certificates())("*.example.com");
    for (const sets of sizes.length > 0 ? sizes : usual) compare(sets, pair, report);
  },
};
export default bench;

function compare(sets: number, pair: KeyPair, report: Report): void {
  const half = measure(sets / 2, pair), whole = measure(sets, pair);
  const what = `${sets} ListenerSets with ${sets * routesPerSet} routes`;
  const linear = (name: string, value: number, ofHalf: number) =>
    report.value(`${name}, against twice that of half as many`, "×", value / (2 * ofHalf), { most: 1.5 });
  report.value(`${what}: first settle`, "ms", whole.first);
  linear(`${what}: first settle`, whole.first, half.first);
  for (const [name, samples] of Object.entries(whole.edits)) {
    report.samples(`${what}: ${name}`, "ms", samples.map(({ milliseconds }) => milliseconds));
    linear(`${what}: ${name}`, least(samples), least(half.edits[name]!));
    // With no time in between, each collection of such a heap falls into some piece.
    const longest = samples.map(({ longest }) => longest);
    report.samples(`${what}: ${name}, longest that it blocks`, "ms", longest, { most: 50 });
  }
}

/** What others did meanwhile is not in the least of many measurements. */
const least = (samples: readonly Settled[]) => Math.min(...samples.map(({ milliseconds }) => milliseconds));

interface Measured {
  /** Milliseconds. */
  readonly first: number;
  readonly edits: { readonly [what: string]: readonly Settled[] };
}

function measure(sets: number, pair: KeyPair): Measured {
  const routes = Array.from({ length: sets * routesPerSet }, (_, i) => setRoute(i, sets));
  const objects = [
    gateway({ shared: true }),
    tlsSecret("tls", pair),
    service(0),
    endpointSlice(0),
    ...Array.from({ length: sets }, (_, i) => listenerSet(i)),
    ...routes,
  ];
  const tables = new Tables("127.0.60.2", objects);
  const one = (change: (edit: number) => ApiObject) =>
    Array.from({ length: edits }, (_, i) => {
      tables.set(change(i + 1));
      return tables.settle(piece);
    });
  return {
    first: tables.first.milliseconds,
    edits: {
      "a ListenerSet moves to another domain": one((edit) => listenerSet(edit * 7, { edit })),
      "a route is edited": one((edit) => setRoute(edit * 7 + 1, sets, edit)),
    },
  };
}

/** A route of its own host in the domain of a ListenerSet. */
function setRoute(i: number, sets: number, edit = 0): ApiObject {
  const set = i % sets;
  return route(i, {
    parent: { kind: "ListenerSet", name: setOf(set) },
    host: `h${i}.${domainOf(set)}`,
    edit,
  });
}
