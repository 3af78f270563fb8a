/**
 * Ledgers of several replicas that tell each other: what proxies have counts wherever they are connected.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { News, Outbox } from "../../xds/ledger/mod.ts";
import { gateway, LedgerWorld, piece, SimProxy } from "./support/ledger_world.ts";

/** A leader and its followers. */
class Replicas {
  readonly worlds: readonly LedgerWorld[];
  #leader: LedgerWorld;
  readonly #links = new Map<LedgerWorld, { readonly up: Outbox; readonly down: Outbox }>();

  constructor(count: number) {
    this.worlds = Array.from({ length: count }, (_, i) => new LedgerWorld({ leading: i === 0 }));
    this.#leader = this.worlds[0]!;
    for (const world of this.worlds) this.link(world);
  }

  link(world: LedgerWorld): void {
    if (world === this.#leader) return;
    this.#links.set(world, {
      up: world.ledger.outbox({ to: "leader", leads: true }, () => {}),
      down: this.#leader.ledger.outbox({ to: this.#nameOf(world), leads: false }, () => {}),
    });
  }

  /** The connection of a follower breaks. */
  unlink(world: LedgerWorld): void {
    const link = this.#links.get(world);
    link?.up[Symbol.dispose]();
    link?.down[Symbol.dispose]();
    this.#links.delete(world);
    this.#leader.ledger.leave(this.#nameOf(world));
    world.ledger.leave("leader");
  }

  /** Another one leads. */
  elect(world: LedgerWorld): void {
    for (const follower of [...this.#links.keys()]) this.unlink(follower);
    this.#leader.ledger.lead(false);
    this.#leader = world;
    world.ledger.lead(true);
    for (const follower of this.worlds) this.link(follower);
  }

  /** Does the same in all of them, as their watches show them the same. */
  all(change: (world: LedgerWorld) => void): void {
    for (const world of this.worlds) change(world);
  }

  /** Lets everything that is said arrive, until nothing is said any more. */
  talk(edit: (news: News) => News = (news) => news): void {
    for (let quiet = false, rounds = 0; !quiet; rounds++) {
      if (rounds > 20) throw new Error("They never stop talking");
      quiet = true;
      for (const world of this.worlds) world.settle();
      for (const [world, { up, down }] of this.#links) {
        const send = (outbox: Outbox, hear: (news: News) => void) => {
          for (const news of outbox.take()) {
            quiet = false;
            hear(JSON.parse(JSON.stringify(edit(news))) as News);
          }
        };
        send(up, (news) => this.#leader.ledger.hear(this.#nameOf(world), news));
        send(down, (news) => world.ledger.hear("leader", news));
      }
    }
  }

  #nameOf(world: LedgerWorld): string {
    return `replica ${this.worlds.indexOf(world)}`;
  }
}

/** Two replicas with a proxy each, and an object `a` that both have. */
function pair(count = 2) {
  const replicas = new Replicas(count), [first, second] = replicas.worlds as [LedgerWorld, LedgerWorld];
  replicas.all((world) => {
    world.expect("p1", "p2");
    world.contribute("a", 1, piece("a", "ok"));
  });
  replicas.talk();
  const one = new SimProxy(first, "p1"), two = new SimProxy(second, "p2");
  one.connect();
  two.connect();
  return { replicas, first, second, one, two };
}

Deno.test("replicas: programmed once every expected proxy has it, wherever it is connected", () => {
  const { replicas, first, second, one, two } = pair();
  one.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "pending 1", "the other proxy has said nothing yet");
  two.takeAll();
  assertEquals(first.verdict("a"), "pending 1", "nobody has told the leader");
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 1");
  assertEquals(second.verdict("a"), "programmed 1", "of its own proxies");

  replicas.all((world) => world.contribute("a", 2, piece("a", "changed")));
  replicas.talk();
  one.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "pending 2");
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 2");
});

Deno.test("replicas: how far a proxy is with endpoints, which no verdict is about, the replica tells that it is connected to", async () => {
  const { replicas, first, second, one, two } = pair();
  replicas.all((world) => world.contribute("b", 1, piece("b", "one", "endpoints:e")));
  replicas.talk();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  const told = (world: LedgerWorld) =>
    world.ledger.report(gateway).filter(({ connected }) => connected).map((
      { proxy, behind, unacknowledged },
    ) => [proxy, behind, unacknowledged]);
  const known = [["p1", 0, 0], ["p2", undefined, undefined]];
  assertEquals([told(first), told(second)], [known, [["p2", 0, 0]]]);
  // An object in the generation that proxies have, with other endpoints.
  replicas.all((world) => world.contribute("b", 1, piece("b", "two", "endpoints:e")));
  replicas.talk();
  one.takeAll();
  await second.clock.advance(30_000);
  replicas.talk();
  assertEquals([told(first), told(second)], [known, [["p2", 1, 30_000]]]);
});

Deno.test("replicas: a follower that has not seen a generation yet says nothing about it", () => {
  const { replicas, first, second, one, two } = pair();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  first.contribute("a", 2, piece("a", "changed"));
  replicas.talk();
  one.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "pending 2", "what the other proxy has is generation 1");
  second.contribute("a", 2, piece("a", "changed"));
  replicas.talk();
  assertEquals(first.verdict("a"), "pending 2");
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 2");
});

Deno.test("replicas: a proxy that moves counts once it has said what it has, and revokes nothing", () => {
  const { replicas, first, second, one, two } = pair();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  two.disconnect();
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 1");
  replicas.all((world) => world.contribute("b", 1, piece("b", "ok")));
  replicas.talk();
  one.takeAll();
  replicas.talk();
  assertEquals([first.verdict("a"), first.verdict("b")], ["programmed 1", "pending 1"]);
  const again = new SimProxy(second, "p2");
  again.connect();
  replicas.talk();
  assertEquals(first.verdict("b"), "pending 1", "it is there and has said nothing");
  again.takeAll();
  replicas.talk();
  assertEquals(first.verdict("b"), "programmed 1");
});

Deno.test("replicas: one that goes takes its reports with it", () => {
  const { replicas, first, second, one, two } = pair();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  replicas.unlink(second);
  assertEquals(first.verdict("a"), "programmed 1", "what was is not revoked");
  replicas.all((world) => world.contribute("a", 2, piece("a", "changed")));
  replicas.talk();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "pending 2");
  replicas.link(second);
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 2", "all that there is, on a new connection");
});

Deno.test("replicas: what a proxy of one refuses, none serves; fixed, all do", () => {
  const { replicas, first, two } = pair(3);
  const third = replicas.worlds[2]!;
  two.takeAll();
  replicas.talk();
  replicas.all((world) => world.contribute("a", 2, piece("a", "bad")));
  replicas.talk();
  two.takeAll();
  replicas.talk();
  assertEquals(Object.keys(first.kept()), ["a"]);
  assertEquals([first.kept(), third.kept()], [replicas.worlds[1]!.kept(), replicas.worlds[1]!.kept()]);
  assertEquals(first.verdict("a")?.startsWith("rejected 2 "), true, first.verdict("a"));
  replicas.all((world) => world.contribute("a", 3, piece("a", "good")));
  replicas.talk();
  assertEquals(replicas.worlds.map((world) => world.kept()), [{}, {}, {}]);
});

Deno.test("replicas: what only an older version refuses is tried again once no proxy anywhere runs that", () => {
  const { replicas, first, one, two, second } = pair();
  one.takeAll();
  two.takeAll();
  one.software = "envoy 1.41.0";
  one.disconnect();
  one.connect();
  one.tolerates = "bad";
  replicas.all((world) => world.contribute("a", 2, piece("a", "bad")));
  replicas.talk();
  two.takeAll();
  replicas.talk();
  one.takeAll();
  assertEquals(replicas.worlds.map((world) => Object.keys(world.kept())), [["a"], ["a"]]);
  two.disconnect();
  const next = new SimProxy(second, "p2");
  next.software = "envoy 1.41.0";
  next.tolerates = "bad";
  next.connect();
  replicas.talk();
  next.takeAll();
  one.takeAll();
  replicas.talk();
  assertEquals(replicas.worlds.map((world) => world.kept()), [{}, {}]);
  assertEquals(first.verdict("a"), "programmed 2");
});

Deno.test("replicas: of another version they understand each other as far as that goes", () => {
  const { replicas, first, one, two } = pair();
  const other = (news: News): News =>
    ({
      ...news,
      colour: "red",
      ...news.rejections &&
        { rejections: news.rejections.map((one) => ({ ...one, hash: "of another sort" })) },
    }) as News;
  one.takeAll();
  two.takeAll();
  replicas.talk(other);
  assertEquals(first.verdict("a"), "programmed 1");
  replicas.all((world) => world.contribute("a", 2, piece("a", "bad")));
  one.tolerates = "bad";
  replicas.talk(other);
  one.takeAll();
  two.takeAll();
  replicas.talk(other);
  assertEquals(first.kept(), {}, "nobody can tell whether it is the same");
  assertEquals(first.verdict("a")?.startsWith("rejected 2 "), true, "the generation is");
});

Deno.test("replicas: who leads next knows nothing at first, then the same as before", () => {
  const { replicas, first, second, one, two } = pair();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  replicas.elect(second);
  second.settle();
  assertEquals(second.verdict("a"), "pending 1", "of its own proxy alone nothing follows");
  replicas.talk();
  assertEquals([first.verdict("a"), second.verdict("a")], ["programmed 1", "programmed 1"]);
  replicas.elect(first);
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 1");
});

Deno.test("replicas: a Gateway is taken down once no proxy anywhere has a listener of it", () => {
  const { replicas, first, one, two } = pair();
  replicas.all((world) => world.contribute("g", 1, piece("g", "ok", "listener:l")));
  one.takeAll();
  two.takeAll();
  replicas.talk();
  replicas.all((world) => world.takeDown("gone", 2));
  replicas.talk();
  one.takeAll();
  replicas.talk();
  assertEquals(first.verdict("gone"), "pending 2");
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("gone"), "programmed 2");
});

Deno.test("replicas: who leads next takes no Gateway for down before it has heard from the others", () => {
  const { replicas, first, second, one, two } = pair();
  replicas.all((world) => world.contribute("g", 1, piece("g", "ok", "listener:l")));
  one.takeAll();
  two.takeAll();
  replicas.all((world) => world.takeDown("gone", 2));
  replicas.talk();
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("gone"), "pending 2");
  replicas.elect(second);
  second.settle();
  assertEquals(second.verdict("gone"), "pending 2");
  replicas.talk();
  assertEquals(second.verdict("gone"), "pending 2", "the first one's proxy listens");
  one.takeAll();
  replicas.talk();
  assertEquals(second.verdict("gone"), "programmed 2");
});

Deno.test("replicas: a proxy that another one loses has what it had", () => {
  const { replicas, first, one, two } = pair();
  replicas.all((world) => world.contribute("g", 1, piece("g", "ok", "listener:l")));
  one.takeAll();
  two.takeAll();
  replicas.all((world) => world.takeDown("gone", 2));
  replicas.talk();
  one.takeAll();
  two.disconnect();
  replicas.talk();
  assertEquals(first.verdict("gone"), "pending 2");
});

Deno.test("replicas: that a proxy has come is never told before what it lacks", () => {
  const { replicas, first, second, one, two } = pair();
  replicas.all((world) => world.contribute("g", 1, piece("g", "ok", "listener:l")));
  one.takeAll();
  two.takeAll();
  replicas.talk();
  two.disconnect();
  replicas.all((world) => world.takeDown("gone", 2));
  replicas.talk();
  one.takeAll();
  replicas.talk();
  assertEquals(first.verdict("gone"), "pending 2");
  two.connect();
  replicas.talk();
  assertEquals(first.verdict("gone"), "pending 2", "it came with its listener");

  // So many that they do not go into one message.
  const many = Array.from({ length: 1_500 }, (_, i) => `many/${i}`);
  two.disconnect();
  replicas.all((world) => {
    for (const origin of many) world.contribute(origin, 1, piece(origin, "ok"));
  });
  replicas.talk();
  one.takeAll();
  replicas.talk();
  two.connect();
  second.settle();
  replicas.talk();
  const told = new Set(many.map((origin) => first.verdict(origin)));
  assertEquals(told, new Set(["pending 1"]));
  two.takeAll();
  replicas.talk();
  assertEquals(new Set(many.map((origin) => first.verdict(origin))), new Set(["programmed 1"]));
});

Deno.test("replicas: of what changes within a generation, an older word of another one says nothing for long", () => {
  const { replicas, first, one, two } = pair();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 1");
  // As a Secret does to a listener.
  replicas.all((world) => world.contribute("a", 1, piece("a", "renewed")));
  first.settle();
  one.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "pending 1");
  two.restart();
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 1");
  two.restart();
  replicas.talk();
  assertEquals(first.verdict("a"), "programmed 1", "who restarts later revokes nothing");
});

Deno.test("replicas: proxies that are there before anything is known of their Gateway are expected all the same", () => {
  const replicas = new Replicas(2), [first, second] = replicas.worlds as [LedgerWorld, LedgerWorld];
  replicas.all((world) => world.expect("p1"));
  replicas.talk();
  new SimProxy(second, "p1").connect();
  replicas.elect(second);
  replicas.all((world) => world.contribute("a", 1, piece("a", "ok")));
  replicas.talk();
  const proxy = new SimProxy(second, "p1");
  proxy.connected = true;
  proxy.takeAll();
  replicas.talk();
  assertEquals([first.verdict("a"), second.verdict("a")], ["pending 1", "programmed 1"]);
});

Deno.test("replicas: a proxy of another one that is silent is left out on its word", async () => {
  const { replicas, first, second, one, two } = pair();
  one.takeAll();
  two.takeAll();
  replicas.talk();
  replicas.all((world) => world.contribute("b", 1, piece("b", "ok")));
  replicas.talk();
  one.takeAll();
  await first.clock.advance(60_000);
  replicas.talk();
  assertEquals(first.verdict("b"), "pending 1", "by the clock of the leader alone it is not");
  await second.clock.advance(15_000);
  replicas.talk();
  assertEquals(
    first.verdict("b"),
    "programmed 1 Without 1 of 2 proxies, which have not answered for 15 seconds",
  );
  two.takeAll();
  replicas.talk();
  assertEquals(first.verdict("b"), "programmed 1");
});
