/**
 * Whatever happens in whatever order, the verdicts in the end depend on the objects alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Piece, ResourceId } from "../../controllers/ir/mod.ts";
import { random as seeded } from "../support/random.ts";
import { gateway, LedgerWorld, piece, SimProxy } from "./support/ledger_world.ts";

const ids: readonly ResourceId[] = ["routes:r", "routes:s", "listener:l"];
const proxies = ["p", "q", "r"];

/** Runs one random history; gives how often something was refused and whether only fresh pieces were ever held. */
function history(seed: number, { restarts }: { readonly restarts: boolean }) {
  const random = seeded(seed), w = new LedgerWorld();
  const sims = proxies.map((id) => new SimProxy(w, id));
  const meant = new Map<string, { readonly generation: number; readonly pieces: readonly Piece[] }>();
  /** Pieces that every proxy has taken as they are. */
  const taken = new Map<string, unknown>(), suspected = new Map<string, unknown>();
  let contents = 0;
  w.expect(...proxies);
  const generations = new Map<string, number>();

  const edit = () => {
    for (let i = random.int(4); i >= 0; i--) {
      const origin = `O${random.int(8)}`;
      if (random.int(6) === 0) {
        meant.delete(origin);
        w.withdraw(origin);
        continue;
      }
      const generation = (generations.get(origin) ?? 0) + 1;
      generations.set(origin, generation);
      const before = meant.get(origin)?.pieces ?? [];
      const pieces = Array.from({ length: 1 + random.int(3) }, (_, n) => {
        const old = before[n];
        if (old && random.int(2)) return old;
        const carriers = ids.filter(() => random.int(3) > 0);
        return piece(
          `${origin}/${n}`,
          `${random.int(4) === 0 ? "bad" : "good"} ${contents++}`,
          ...carriers.length > 0 ? carriers : [ids[0]!],
        );
      });
      meant.set(origin, { generation, pieces });
      w.contribute(origin, generation, ...pieces);
    }
    w.settle();
  };
  const checkHeld = () => {
    if (restarts) return;
    for (const [key, { content }] of w.rejections.entries()) {
      const id = key.slice(gateway.length + 1);
      // Once it has been under suspicion, a proxy that lags behind may have taken it before that, which is not remembered.
      if (suspected.get(id) === content) continue;
      suspected.set(id, content);
      assert(taken.get(id) !== content, `seed ${seed}: ${id} was kept back although all had taken it`);
    }
  };
  const note = () => {
    for (const { pieces } of meant.values()) {
      for (const { id, content, resources } of pieces) {
        const everywhere = sims.every((sim) =>
          carriersOf(resources).every((id) => sim.acked.get(id)?.includes(`"${content}"`))
        );
        if (everywhere) taken.set(id, content);
      }
    }
  };

  // Answers arrive and streams break while it is handed over what changed, too.
  let interrupted = 0;
  w.between = () => {
    checkHeld();
    if (random.int(4) > 0) return;
    const sim = sims[random.int(sims.length)]!;
    if (random.int(4) > 0) interrupted += Number(sim.take(ids[random.int(ids.length)]!));
    else if (sim.connected) sim.disconnect();
    else sim.connect();
  };
  for (const sim of sims) {
    sim.quotes = random.pick(["culprit", "nobody", "anybody"]);
    sim.connect();
  }
  for (let step = 0; step < 120; step++) {
    const sim = sims[random.int(sims.length)]!, choice = random.int(10);
    if (choice === 0) edit();
    else if (choice < 9) sim.take(ids[random.int(ids.length)]!);
    else if (restarts && random.int(3) === 0) sim.restart();
    else if (sim.connected) sim.disconnect();
    else sim.connect();
    note();
    checkHeld();
  }
  w.between = () => {};
  for (const sim of sims) if (!sim.connected) sim.connect();
  for (let answers = -1; answers !== total(sims);) {
    answers = total(sims);
    for (const sim of sims) sim.takeAll();
    checkHeld();
  }

  const verdicts: Record<string, string | undefined> = {}, kept: Record<string, string> = {};
  for (const [origin, { generation, pieces }] of meant) {
    const bad = pieces.filter(({ content }) => String(content).startsWith("bad"));
    for (const { id, content } of bad) kept[id] = `no ${content}`;
    const complaints = bad.map(({ content }) => `no ${content}`).join("; ");
    verdicts[origin] = bad.length > 0 ? `rejected ${generation} ${complaints}` : `programmed ${generation}`;
  }
  // A refusal names only one of several culprits; that it says something is what counts.
  const culprits = (all: { readonly [piece: string]: string | undefined }) => Object.keys(all).sort();
  assertEquals(culprits(w.kept()), culprits(kept), `seed ${seed}: culprits`);
  const states = (all: Iterable<string>) =>
    Object.fromEntries(
      [...all].sort().map((origin) => [origin, w.verdict(origin)?.replace(/^(rejected \d+) .+/, "$1")]),
    );
  assertEquals(
    states(Array.from(w.verdicts.entries(), ([key]) => key.slice(gateway.length + 1))),
    Object.fromEntries(
      Object.entries(verdicts).sort().map((
        [origin, text],
      ) => [origin, text?.replace(/^(rejected \d+) .+/, "$1")]),
    ),
    `seed ${seed}: verdicts`,
  );
  w.ledger[Symbol.dispose]();
  return { refused: Object.keys(kept).length, answers: total(sims), interrupted };
}

/** What really carries the content of a piece: see the world. */
function carriersOf(resources: readonly ResourceId[]): readonly ResourceId[] {
  const listeners = resources.filter((id) => id.startsWith("listener:"));
  return listeners.length > 0 ? listeners : resources;
}

function total(sims: readonly SimProxy[]): number {
  return sims.reduce((sum, { answers }) => sum + answers, 0);
}

Deno.test("every culprit is found and nobody else is blamed, whatever the order of events", () => {
  let refused = 0, answers = 0, interrupted = 0;
  for (let seed = 1; seed <= 600; seed++) {
    const outcome = history(seed, { restarts: seed % 2 === 0 });
    refused += outcome.refused;
    answers += outcome.answers;
    interrupted += outcome.interrupted;
  }
  assert(refused > 500 && answers > 20_000, `${refused} culprits, ${answers} answers`);
  assert(interrupted > 500, `${interrupted} answers in the middle of a hand-over`);
});
