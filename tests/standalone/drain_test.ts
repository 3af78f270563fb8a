/**
 * Draining: what is under way is finished, whatever the load.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { activityOf, type Admin } from "../../standalone/envoy/admin.ts";
import { drain } from "../../standalone/envoy/drain.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { scratch, startEnvoy } from "./support.ts";

/** What became of the requests of one client. */
interface Tally {
  answered: number;
  /** Connections that were refused, or reset in the queue of a socket that closes: nothing has read the request. */
  refused: number;
  /** Requests on a connection that had answered before, without a complete answer. */
  lost: number;
}

const request = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: example.com\r\n\r\n");

/** Sends one request after the other until no connection can be had. Nothing is ever sent twice. */
async function client(port: number, tally: Tally, keepAlive: boolean): Promise<void> {
  for (;;) {
    let answers = 0;
    try {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port });
      do {
        await connection.write(request);
        const head = await readResponse(connection);
        if (head === undefined) throw new Deno.errors.ConnectionReset("No complete answer");
        answers++;
        tally.answered++;
        if (/^connection: close\r?$/im.test(head)) break;
      } while (keepAlive);
    } catch (error) {
      const { ConnectionRefused, ConnectionReset, BrokenPipe } = Deno.errors;
      if (![ConnectionRefused, ConnectionReset, BrokenPipe].some((type) => error instanceof type)) {
        throw error;
      }
      if (answers === 0) tally.refused++;
      else tally.lost++;
      return;
    }
  }
}

/** Reads a response whose body is as long as it says; `undefined` if the connection ends before. */
async function readResponse(connection: Deno.TcpConn): Promise<string | undefined> {
  const buffer = new Uint8Array(4096);
  let text = "";
  for (;;) {
    const count = await connection.read(buffer);
    if (count === null) return undefined;
    text += new TextDecoder().decode(buffer.subarray(0, count));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
    if (text.length >= end + 4 + length) return text.slice(0, end);
  }
}

Deno.test("drain: under load, every request that was taken is answered", async () => {
  await using folder = await scratch();
  let served = 0;
  const enough = Promise.withResolvers<void>();
  await using upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    if (++served === 300) enough.resolve();
    // Some answers take long: those are what a stop would cut.
    await new Promise((resolve) => setTimeout(resolve, served % 10 === 0 ? 300 : 2));
    return new Response("hello");
  });
  await using envoy = await startEnvoy(`${folder.path}/web`, { upstream: upstream.addr.port });
  await envoy.until(({ state }) => state === "running");
  const tally: Tally = { answered: 0, refused: 0, lost: 0 };
  const clients = Array.from({ length: 16 }, (_, i) => client(envoy.port, tally, i % 4 !== 0));
  await enough.promise;
  await envoy.process.stop({ deadline: 10_000 });
  await Promise.all(clients);
  assertEquals(tally.lost, 0);
  assertEquals(tally.answered, served, "every request that reached the backend is answered");
  assertEquals(tally.refused, 16);
  assert(tally.answered >= 300, `${tally.answered} answers`);
});

Deno.test("drain: the test above can fail: without draining, requests are lost", async () => {
  await using folder = await scratch();
  let served = 0;
  const enough = Promise.withResolvers<void>();
  await using upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    if (++served === 50) enough.resolve();
    await new Promise((resolve) => setTimeout(resolve, 50));
    return new Response("hello");
  });
  await using envoy = await startEnvoy(`${folder.path}/web`, { upstream: upstream.addr.port });
  await envoy.until(({ state }) => state === "running");
  const tally: Tally = { answered: 0, refused: 0, lost: 0 };
  const clients = Array.from({ length: 16 }, () => client(envoy.port, tally, true));
  await enough.promise;
  await envoy.process.stop({ deadline: 0 });
  await Promise.all(clients);
  assert(tally.lost > 0 || tally.answered < served);
});

/** An Envoy whose activity follows a script, by the time since the drain began. */
function scripted(
  clock: FakeClock,
  activity: (ms: number) => Awaited<ReturnType<Admin["activity"]>>,
): { readonly admin: Admin; readonly calls: string[] } {
  const calls: string[] = [];
  const note = (what: string) => {
    calls.push(`${clock.monotonic()} ${what}`);
    return Promise.resolve();
  };
  const admin = {
    activity: () => Promise.resolve(activity(clock.monotonic())),
    startDrain: () => note("start"),
    stopListening: () => note("stop listening"),
  } as Partial<Admin> as Admin;
  return { admin, calls };
}

async function drained(activity: Parameters<typeof scripted>[1], deadline = 10_000) {
  const clock = new FakeClock();
  const { admin, calls } = scripted(clock, activity);
  let ended: number | undefined;
  const result = drain(admin, { clock, deadline }).finally(() => ended = clock.monotonic());
  while (ended === undefined) await clock.advance(10);
  return { ...await result, ended, calls };
}

Deno.test("drain: nothing is accepted any more before connections are ended", async () => {
  const { clean, ended, calls } = await drained(() => ({ connections: 0, httpConnections: 0, requests: 0 }));
  assertEquals([clean, ended], [true, 50]);
  assertEquals(calls, ["0 stop listening", "0 start"]);
});

Deno.test("drain: idle connections are given up after a second without a request", async () => {
  const { clean, ended } = await drained((ms) => ({
    connections: 2,
    httpConnections: 2,
    requests: ms < 700 ? 1 : 0,
  }));
  assertEquals([clean, ended], [true, 1_650]);
});

Deno.test("drain: connections that do not carry HTTP are never idle", async () => {
  const activity = { connections: 2, httpConnections: 1, requests: 0 };
  const { clean, ended, left } = await drained(() => activity, 4_000);
  assertEquals([clean, ended, left], [false, 4_000, activity]);
});

Deno.test("drain: without statistics, it takes all the time it has", async () => {
  const { clean, ended } = await drained(() => undefined, 3_000);
  assertEquals([clean, ended], [false, 3_000]);
});

Deno.test("drain: gauges are added up without the admin interface and without counting twice", () => {
  const gauges = new Map([
    ["http.admin.downstream_cx_active", 1],
    ["http.admin.downstream_rq_active", 1],
    ["listener.admin.downstream_cx_active", 1],
    ["listener.admin.main_thread.downstream_cx_active", 1],
    ["http.default/web/80.downstream_cx_active", 3],
    ["http.default/web/80.downstream_rq_active", 2],
    ["listener.127.0.1.1_80.downstream_cx_active", 4],
    ["listener.127.0.1.1_80.worker_0.downstream_cx_active", 1],
    ["listener.127.0.1.1_80.worker_1.downstream_cx_active", 3],
  ]);
  assertEquals(activityOf(gauges), { connections: 4, httpConnections: 3, requests: 2 });
  gauges.delete("listener.admin.downstream_cx_active");
  assertEquals(activityOf(gauges), undefined);
});
