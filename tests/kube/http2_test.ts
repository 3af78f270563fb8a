/** Against a real HTTP/2 server that allows 100 streams on a connection and asks for certificates. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock as clock } from "../../controllers/runtime/clock.ts";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import { createKube } from "../../kube/client.ts";
import { type Cluster, openCluster } from "../../kube/cluster.ts";
import { ConnectionError } from "../../kube/errors.ts";
import type { Tls } from "../../kube/http_clients.ts";
import { watch } from "../../kube/watch.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { TextLineStream } from "../support/lines.ts";
import { page, widget, widgets } from "./scripted_client.ts";

const validity = { notBefore: new Date(Date.now() - 3600_000), notAfter: new Date(Date.now() + 3600_000) };

interface Http2Server extends AsyncDisposable {
  readonly url: string;
  /**
   * How many watches each open connection has, in order; how many those had by which `/version` was asked for; and who the clients
   * say they are.
   */
  connections(): Promise<
    {
      readonly watches: readonly number[];
      readonly versions: readonly number[];
      readonly subjects: readonly string[];
    }
  >;
}

async function serve(authority: KeyPair, leaf: KeyPair): Promise<Http2Server> {
  const program = new URL("http2_server.mjs", import.meta.url).pathname;
  const child = new Deno.Command("node", { args: [program], stdin: "piped", stdout: "piped" }).spawn();
  const writer = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    .getReader();
  const tell = (line: string) => writer.write(new TextEncoder().encode(line + "\n"));
  const heard = async () => (await lines.read()).value ?? "";
  const answers = {
    watch: JSON.stringify({ type: "ADDED", object: widget("live", 2) }),
    object: JSON.stringify(widget("a", 1)),
    list: JSON.stringify(page(1, [])),
  };
  await tell(JSON.stringify({ cert: leaf.certificate, key: leaf.key, ca: authority.certificate, answers }));
  const port = await heard();
  return {
    url: `https://127.0.0.1:${port}`,
    async connections() {
      await tell("");
      return JSON.parse(await heard());
    },
    async [Symbol.asyncDispose]() {
      await writer.close();
      await lines.cancel();
      await child.status;
    },
  };
}

function clusterAt(url: string, tls: Tls): Cluster {
  const credentials = { tls };
  return { ...openCluster(url), credentials: () => Promise.resolve(credentials) };
}

Deno.test("150 watches leave every other request its way, and share few connections", async () => {
  const authority = await createAuthority({ ...validity, commonName: "test" });
  const leaf = await issue(authority, {
    ...validity,
    commonName: "server",
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
  });
  const client = await issue(authority, { ...validity, commonName: "operator", usages: ["client"] });
  await using server = await serve(authority, leaf);
  const tls: Tls = { caCerts: [authority.certificate], cert: client.certificate, key: client.key };
  using kube = createKube(clusterAt(server.url, tls), {
    clock,
    version: "1",
    component: "test",
    // A request that has to wait for a stream fails here instead of hanging.
    timeout: 10_000,
  });
  const stop = new AbortController();
  using _end = { [Symbol.dispose]: () => stop.abort() };
  const live = Array.from({ length: 150 }, () => Promise.withResolvers<void>());
  const watches = live.map(async ({ resolve }) => {
    for await (const event of watch(kube, widgets, { clock, signal: stop.signal })) {
      if (event.type === "set") resolve();
    }
  });
  using late = clock.timer(
    20_000,
    () => live.forEach(({ reject }) => reject(new Error("a watch has starved"))),
  );
  await Promise.all(live.map(({ promise }) => promise));
  late[Symbol.dispose]();

  const reads = Array.from({ length: 100 }, () => kube.get(widgets, { namespace: "default", name: "a" }));
  for (const object of await Promise.all(reads)) assertEquals(object, widget("a", 1));
  const { watches: loads, subjects } = await server.connections();
  assertEquals(loads.filter((load) => load > 0), [22, 32, 32, 32, 32], "five connections for watches");
  // Requests that come while the first connection is being made may open more of them, which then stay unused.
  assert(loads.includes(0), "watches and requests share no connection");
  assertEquals(subjects, ["operator"]);

  stop.abort();
  await Promise.all(watches);
});

Deno.test("a connection of watches is asked whether it lives by itself, not by another one", async () => {
  const authority = await createAuthority({ ...validity, commonName: "test" });
  const [leaf, client] = await Promise.all([
    issue(authority, {
      ...validity,
      commonName: "server",
      ipAddresses: ["127.0.0.1"],
      usages: ["server"],
    }),
    issue(authority, { ...validity, commonName: "operator", usages: ["client"] }),
  ]);
  await using server = await serve(authority, leaf);
  const tls: Tls = { caCerts: [authority.certificate], cert: client.certificate, key: client.key };
  const clock = new FakeClock();
  using kube = createKube(clusterAt(server.url, tls), { clock, version: "1", component: "test" });
  const stop = new AbortController(), options = { method: "GET", path: "/apis", expectStream: true } as const;
  const streams: ReadableStream[] = [];
  for (let i = 0; i < 33; i++) {
    const querystring = new URLSearchParams({ watch: "true" }), abortSignal = stop.signal;
    streams.push(await kube.performRequest({ ...options, querystring, abortSignal }));
  }
  await clock.advance(15_000);
  let told = await server.connections();
  for (let i = 0; i < 1000 && told.versions.length < 2; i++) told = await server.connections();
  assertEquals([told.watches, told.versions.toSorted()], [[1, 32], [1, 32]]);
  stop.abort();
  for (const stream of streams) await stream.cancel().catch(() => {});
});

Deno.test("without a client certificate the server refuses", async () => {
  const authority = await createAuthority({ ...validity, commonName: "test" });
  const leaf = await issue(authority, {
    ...validity,
    commonName: "server",
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
  });
  await using server = await serve(authority, leaf);
  using kube = createKube(clusterAt(server.url, { caCerts: [authority.certificate] }), {
    clock,
    version: "1",
    component: "test",
  });
  const error = await assertRejects(
    () => kube.get(widgets, { namespace: "default", name: "a" }),
    ConnectionError,
  );
  assert(/certificate/i.test(error.message), error.message);
});
