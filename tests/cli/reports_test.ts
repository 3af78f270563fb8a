/**
 * Replicas that tell each other about their proxies, over TLS.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ReportClient } from "../../cli/report_client.ts";
import { serveReports } from "../../cli/report_server.ts";
import type { Credentials } from "../../controllers/own_certificate.ts";
import { systemClock as clock } from "../../controllers/runtime/clock.ts";
import { silentLog as log } from "../../controllers/runtime/log.ts";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import { Scope } from "../../controllers/runtime/scope.ts";
import { LedgerWorld, piece, SimProxy } from "../xds/support/ledger_world.ts";

const serverName = "gatehouse.gatehouse-system.svc";
const validity = () => {
  const now = clock.now().getTime();
  return { notBefore: new Date(now - 60_000), notAfter: new Date(now + 3_600_000) };
};
const authority = () => createAuthority({ commonName: "test", ...validity() });

async function credentials(signer: KeyPair, trusted = signer): Promise<Credentials> {
  const leaf = await issue(signer, {
    commonName: "gatehouse",
    dnsNames: [serverName],
    usages: ["server", "client"],
    ...validity(),
  });
  return { ...leaf, authorities: trusted.certificate };
}

/** A leader with one proxy and a follower with another, of an object `a`. */
async function replicas(signer: KeyPair, own: Credentials) {
  const stack = new AsyncDisposableStack();
  const leader = new LedgerWorld(), follower = new LedgerWorld({ leading: false });
  for (const world of [leader, follower]) {
    world.expect("p1", "p2");
    world.contribute("a", 1, piece("a", "ok"));
    world.settle();
  }
  const state = { leads: true };
  const server = stack.use(
    await serveReports({
      ledger: leader.ledger,
      hostname: "127.0.0.1",
      port: 0,
      leads: () => state.leads,
      clock,
      log,
    }),
  );
  server.use(await credentials(signer));
  const scope = stack.use(new Scope());
  const client = new ReportClient({
    ledger: follower.ledger,
    credentials: () => own,
    serverName,
    clock,
    log,
  });
  scope.spawn("client", (signal) => client.run(signal));
  const one = new SimProxy(leader, "p1").connect(), two = new SimProxy(follower, "p2").connect();
  one.takeAll();
  two.takeAll();
  const until = async (what: string, holds: () => boolean) => {
    const deadline = clock.monotonic() + 10_000;
    while (!holds()) {
      assert(clock.monotonic() < deadline, `${what}: not within 10 s; ${leader.verdict("a")}`);
      await clock.sleep(5);
      for (const world of [leader, follower]) if (world.graph.pending) world.settle();
    }
  };
  const target = { host: "127.0.0.1", port: server.port };
  return {
    leader,
    follower,
    server,
    client,
    target,
    state,
    one,
    two,
    until,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("reports reach the leader, what is refused comes back, and both end with the connection", async () => {
  const signer = await authority();
  await using r = await replicas(signer, await credentials(signer));
  const { leader, follower, client, target, two, until } = r;
  assertEquals(leader.verdict("a")?.split(" ")[0], "pending");
  client.follow(target);
  await until("both proxies count", () => leader.verdict("a") === "programmed 1");

  for (const world of [leader, follower]) {
    world.contribute("a", 2, piece("a", "bad"));
    world.settle();
  }
  r.one.tolerates = "bad";
  r.one.takeAll();
  two.takeAll();
  await until("the leader knows", () => leader.verdict("a")?.startsWith("rejected 2") ?? false);
  assertEquals(Object.keys(leader.kept()), ["a"], "and serves the same");

  client.follow(undefined);
  await until(
    "the leader has forgotten",
    () => !leader.ledger.report("default/gw").find(({ proxy }) => proxy === "p2")?.connected,
  );
});

Deno.test("a replica that leads no more hangs up, and is told again when it leads again", async () => {
  const signer = await authority();
  await using r = await replicas(signer, await credentials(signer));
  const { leader, client, server, state, target, until } = r;
  const connected = () =>
    leader.ledger.report("default/gw").find(({ proxy }) => proxy === "p2")?.connected === true;
  client.follow(target);
  await until("it is told", connected);
  state.leads = false;
  server.hangUp();
  await until("it has forgotten", () => !connected());
  await clock.sleep(300);
  assert(!connected(), "it takes no calls");
  state.leads = true;
  await until("it is told again", connected);
});

Deno.test("whoever has no certificate of the authority is not heard, and tells nothing to whoever has none", async () => {
  const signer = await authority(), stranger = await authority();
  for (const own of [await credentials(stranger, signer), await credentials(signer, stranger)]) {
    await using r = await replicas(signer, own);
    r.client.follow(r.target);
    await clock.sleep(500);
    assertEquals(r.leader.verdict("a")?.split(" ")[0], "pending");
    assertEquals(r.leader.ledger.report("default/gw").find(({ proxy }) => proxy === "p2")?.connected, false);
  }
});

Deno.test("certificates are renewed while connections go on", async () => {
  const signer = await authority(), next = await authority();
  await using r = await replicas(signer, await credentials(signer));
  r.client.follow(r.target);
  await r.until("both proxies count", () => r.leader.verdict("a") === "programmed 1");
  r.server.use(await credentials(next));
  for (const world of [r.leader, r.follower]) {
    world.contribute("a", 2, piece("a", "fine"));
    world.settle();
  }
  r.one.takeAll();
  r.two.takeAll();
  await r.until("it goes on", () => r.leader.verdict("a") === "programmed 2");
});
