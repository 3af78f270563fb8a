/**
 * The port for probes and metrics, towards those who mean no good.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type HttpPortLimits, serveHttp } from "../../cli/http_port.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createMetrics } from "../../controllers/runtime/metrics.ts";
import { FakeClock } from "../support/fake_clock.ts";

async function rig(limits: Partial<HttpPortLimits> = {}) {
  const clock = new FakeClock(), state = { awaited: [] as string[] };
  const server = await serveHttp({
    hostname: "127.0.0.1",
    port: 0,
    metrics: createMetrics({ clock, version: "1.2.3" }),
    awaited: () => state.awaited,
    ready: Promise.resolve(),
    clock,
    log: silentLog,
    limits,
  });
  const { port } = server;
  return {
    clock,
    state,
    /** A connection on which some text is sent. */
    async connect(text: string) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(new TextEncoder().encode(text));
      return connection;
    },
    ask: (path: string, method = "GET") =>
      fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: "close" } }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const request = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";

async function read(connection: Deno.Conn): Promise<string> {
  const buffer = new Uint8Array(4096), size = await connection.read(buffer).catch(() => null);
  return new TextDecoder().decode(buffer.subarray(0, size ?? 0));
}

/** Resolves once the connection is cut. */
async function cut(connection: Deno.Conn): Promise<void> {
  while (await read(connection) !== "");
}

Deno.test("http port: probes, metrics, and nothing else", async () => {
  await using port = await rig();
  const live = await port.ask("/livez");
  assertEquals([live.status, await live.text()], [200, "ok\n"]);
  port.state.awaited = ["routes"];
  const waiting = await port.ask("/readyz");
  assertEquals([waiting.status, await waiting.text()], [503, "waiting for routes\n"]);
  const metrics = await port.ask("/metrics");
  assertStringIncludes(metrics.headers.get("content-type") ?? "", "text/plain");
  assertStringIncludes(await metrics.text(), 'gatehouse_build_info{version="1.2.3"} 1');
  for (const [path, method, status] of [["/log-level", "GET", 404], ["/livez", "PUT", 405]] as const) {
    const answer = await port.ask(path, method);
    await answer.body?.cancel();
    assertEquals([path, answer.status], [path, status]);
  }
});

Deno.test("http port: who says nothing, or begins and does not end, is cut", async () => {
  await using port = await rig({ idle: 5_000 });
  using silent = await port.connect("");
  using half = await port.connect("GET /livez HTTP/1.1\r\nhost: a\r\n");
  using used = await port.connect(request);
  assertStringIncludes(await read(used), "200 OK");
  await port.clock.advance(4_999);
  await used.write(new TextEncoder().encode(request));
  assertStringIncludes(await read(used), "200 OK");
  await port.clock.advance(1);
  await Promise.all([cut(silent), cut(half)]);
  await used.write(new TextEncoder().encode(request));
  assertStringIncludes(await read(used), "200 OK");
  await port.clock.advance(5_000);
  await cut(used);
});

Deno.test("http port: a full server makes room for a probe", async () => {
  await using port = await rig({ connections: 3 });
  const strangers = await Promise.all([1, 2, 3, 4, 5].map(() => port.connect("GET / HTTP/1.1\r\n")));
  assertEquals(await (await port.ask("/livez")).text(), "ok\n");
  await Promise.race(strangers.map(cut));
  for (const stranger of strangers) stranger.close();
});
