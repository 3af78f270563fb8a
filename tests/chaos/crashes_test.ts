/**
 * A replica that crashes after every single write of a Gateway's life: whatever it has done, the next one comes to the same end as
 * one that lives through all of it, and then has nothing to write.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type Fate, Life, type Replica, type State } from "./support/life.ts";

/** Lives through it; `replica` gives one that leads, a new one if the last has crashed. */
async function live(life: Life, replica: () => Promise<Replica>): Promise<readonly State[]> {
  const states: State[] = [];
  for (const { name, begin, ended } of life.parts) {
    let leader = await replica();
    await begin();
    // What is left to do at the end may crash it, too.
    for (let rested = false; !rested;) {
      await life.until(name, async () => {
        if (leader.crashed) leader = await replica();
        return await ended() && await leader.content();
      });
      await life.rest();
      rested = !leader.crashed && await leader.content();
    }
    states.push(life.state());
  }
  return states;
}

/** The replicas of a life, one after the other. */
function successive(life: Life, fate: () => Fate) {
  const current: { replica?: Replica } = {}, count = { crashes: 0 };
  return {
    count,
    async leader() {
      if (current.replica && !current.replica.crashed) return current.replica;
      if (current.replica) {
        count.crashes++;
        await current.replica.end();
        await life.expireLease();
      }
      return current.replica = await life.replica(fate());
    },
    async [Symbol.asyncDispose]() {
      await current.replica?.end();
    },
  };
}

Deno.test("a crash after every single write changes nothing of what comes of a Gateway", async (t) => {
  const undisturbed = await (async () => {
    await using life = await Life.begin();
    await using replicas = successive(life, () => () => "sent");
    const states = await live(life, replicas.leader);
    assertEquals(replicas.count.crashes, 0);
    return { states, writes: life.writes };
  })();
  assert(undisturbed.writes.length > 15, `a life has ${undisturbed.writes.length} writes`);

  const fates: { readonly [name: string]: () => Fate } = {
    "each is done, and its answer lost": () => () => "last",
    "one is done, and the next one is lost": () => {
      let sent = 0;
      return () => sent++ === 0 ? "sent" : "lost";
    },
  };
  for (const [name, fate] of Object.entries(fates)) {
    await t.step(name, async () => {
      await using life = await Life.begin();
      await using replicas = successive(life, fate);
      const states = await live(life, replicas.leader);
      for (const [i, state] of states.entries()) {
        assertEquals(state, undisturbed.states[i], life.parts[i]!.name);
      }
      assert(replicas.count.crashes > 15, `${replicas.count.crashes} crashes`);
      // Nothing is done twice: each crash was paid for with progress.
      assert(life.writes.length < 2 * undisturbed.writes.length, `${life.writes.length} writes`);

      const before = life.writes.length;
      await replicas[Symbol.asyncDispose]();
      await life.expireLease();
      const fresh = await life.replica();
      try {
        await life.until("a fresh one leads", () => fresh.content());
        await life.rest();
        assertEquals(life.writes.slice(before), [], "a fresh start has nothing to write");
      } finally {
        await fresh.end();
      }
    });
  }
});
