/** Against a real HTTP/2 server that allows 100 streams on a connection and asks for certificates. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { systemClock as clock } from "../../controllers/runtime/clock.ts";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import { createKube } from "../../kube/client.ts";
import { type Cluster, openCluster } from "../../kube/cluster.ts";
import { ConnectionError } from "../../kube/errors.ts";
import type { Tls } from "../../kube/http_clients.ts";
import { watch } from "../../kube/watch.ts";
import { page, widget, widgets } from "./scripted_client.ts";

const validity = { notBefore: new Date(Date.now() - 3600_000), notAfter: new Date(Date.now() + 3600_000) };

interface Http2Server extends AsyncDisposable {
  readonly url: string;
  /** Open connections, each with its open watches. */
  readonly sessions: ReadonlyMap<http2.Http2Session, Set<http2.ServerHttp2Stream>>;
  /** Who the clients say they are. */
  readonly subjects: Set<string>;
}

async function serve(authority: KeyPair, leaf: KeyPair): Promise<Http2Server> {
  const sessions = new Map<http2.Http2Session, Set<http2.ServerHttp2Stream>>();
  const subjects = new Set<string>();
  const server = http2.createSecureServer({
    cert: leaf.certificate,
    key: leaf.key,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: true,
    settings: { maxConcurrentStreams: 100 },
  });
  server.on("session", (session) => {
    sessions.set(session, new Set());
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  server.on("stream", (stream, headers) => {
    const { session } = stream;
    const path = String(headers[":path"]);
    stream.on("error", () => {});
    subjects.add(String((session?.socket as TLSSocket).getPeerCertificate().subject?.CN));
    // Later, not from within the event: answers in the middle of a burst of new streams have made Deno's HTTP/2 server read
    // freed memory and the runtime crash, every few runs.
    setTimeout(() => {
      if (stream.destroyed) return;
      stream.respond({ ":status": 200, "content-type": "application/json" });
      if (path.includes("watch=true")) {
        sessions.get(session!)?.add(stream);
        stream.on("close", () => sessions.get(session!)?.delete(stream));
        stream.write(JSON.stringify({ type: "ADDED", object: widget("live", 2) }) + "\n");
      } else {
        stream.end(JSON.stringify(path.includes("/widgets/") ? widget("a", 1) : page(1, [])));
      }
    }, 0);
  });
  server.on("sessionError", () => {});
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sessions,
    subjects,
    async [Symbol.asyncDispose]() {
      // Waits for the clients to go; a session destroyed under load has made the runtime abort.
      await new Promise<void>((resolve) => server.close(() => resolve()));
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
  const loads = [...server.sessions.values()].map((streams) => streams.size).sort((a, b) => a - b);
  assertEquals(loads.reduce((sum, load) => sum + load), 150);
  assertEquals(loads, [0, 22, 32, 32, 32, 32], "one connection for requests, five for watches");
  assertEquals([...server.subjects], ["operator"]);

  stop.abort();
  await Promise.all(watches);
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
