/**
 * The gRPC server: who gets in, what it puts up with, how it stops.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type EventEmitter, once } from "node:events";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import * as net from "node:net";
import * as tls from "node:tls";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import { XdsCache } from "../../xds/cache.ts";
import { readMessages } from "../../xds/grpc/frames.ts";
import { type Peer, startXdsServer, type XdsServerOptions } from "../../xds/grpc/server.ts";
import { noMetrics } from "../../xds/metrics.ts";
import type { XdsResource } from "../../xds/types.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { random as seeded } from "../support/random.ts";
import { ack, request, resource } from "./support/fake_envoy.ts";
import { Client, frame } from "./support/grpc_client.ts";

const serverName = "xds.gatehouse.test";
const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const authority = await createAuthority({ commonName: "authority", ...validity });

function leaf(commonName: string, by: KeyPair = authority): Promise<KeyPair> {
  return issue(by, {
    commonName,
    dnsNames: [serverName],
    uris: [`gatehouse:${commonName}`],
    usages: ["server", "client"],
    ...validity,
  });
}

const certificate = await leaf("default/gw");

/** A server, and a way to connect to it. */
async function start(options: Partial<XdsServerOptions> = {}) {
  const cache = new XdsCache(), peers: Peer[] = [];
  const server = await startXdsServer({
    cache,
    tls: { ...await leaf("server"), clientAuthority: authority.certificate },
    authenticate: (peer) => {
      peers.push(peer);
      return { gateway: peer.certificate!.uris[0]!.replace("gatehouse:", "") };
    },
    hostname: "127.0.0.1",
    port: 0,
    clock: systemClock,
    log: silentLog,
    onEvent: () => {},
    grace: 200,
    ...options,
  });
  const connect = (as: KeyPair | undefined = certificate) =>
    new Client(server.port, { authority: authority.certificate, serverName, certificate: as });
  return { server, cache, peers, connect, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function put(cache: XdsCache, ...rows: readonly XdsResource[]): void {
  const map = new Map(rows.map((row) => [`${row.gateway}|${row.id}`, row]));
  cache.update({
    name: "resources",
    size: map.size,
    get: (key) => map.get(key),
    entries: () => map.entries(),
    changed: new Set(map.keys()),
    failures: new Map(),
  });
}

Deno.test("a proxy with a certificate for its Gateway is served", async () => {
  await using xds = await start();
  put(xds.cache, resource("cluster:a", "1"));
  using client = xds.connect();
  const call = client.call();
  call.send(request("cluster"));
  const response = await call.next();
  assertEquals(response?.resources?.map(({ name, version }) => [name, version]), [["a", "1"]]);
  assertEquals(response?.type_url, "type.googleapis.com/envoy.config.cluster.v3.Cluster");
  assertEquals(xds.peers.map((peer) => peer.certificate), [{
    commonName: "default/gw",
    uris: ["gatehouse:default/gw"],
  }]);
  call.stream.close();
  await call.status;
});

Deno.test("a proxy of another Gateway is refused, and one that proves nothing", async () => {
  await using xds = await start();
  using other = xds.connect(await leaf("default/other"));
  const call = other.call();
  call.drain();
  call.send(request("cluster"));
  assertEquals(await call.status, {
    code: "7",
    message: 'Proxy "proxy" may not read the configuration of Gateway "default/gw"',
  });

  await using anonymous = await start({
    authenticate: () => ({ refused: "UNAUTHENTICATED", message: "Who are you?" }),
  });
  using client = anonymous.connect();
  const second = client.call();
  second.drain();
  assertEquals(await second.status, { code: "16", message: "Who are you?" });

  await using strict = await start({ authenticate: () => ({ gateway: "default/gw", proxy: "default/one" }) });
  using third = strict.connect();
  const pretending = third.call();
  pretending.drain();
  pretending.send(request("cluster"));
  assertEquals(await pretending.status, {
    code: "7",
    message: 'Proxy "proxy" may not read the configuration of Gateway "default/gw"',
  });
});

Deno.test("a stream ends in good order before the proof of its proxy does", async () => {
  const clock = new FakeClock(), ping = { interval: 1e9, timeout: 1e9 };
  await using xds = await start({
    clock,
    ping,
    authenticate: () => ({ gateway: "default/gw", expires: clock.now().getTime() + 600_000 }),
  });
  using client = xds.connect();
  const call = client.call();
  call.send(request("cluster"));
  await call.next();
  let ended = false;
  call.status.then(() => ended = true);
  const next = call.next();
  await clock.advance(589_999);
  assert(!ended);
  await clock.advance(1);
  await next;
  assertEquals((await call.status).code, "0");
});

Deno.test("streams end after different times, none of them later than told", async () => {
  const clock = new FakeClock(), ping = { interval: 1e9, timeout: 1e9 }, values = [0, 0.5];
  await using xds = await start({ clock, ping, lifetime: 1_000, random: () => values.shift()! });
  using first = xds.connect(), second = xds.connect();
  const calls = [];
  for (const client of [first, second]) {
    const call = client.call();
    call.send(request("cluster"));
    await call.next();
    calls.push({ call, next: call.next() });
  }
  await clock.advance(750);
  await calls[1]!.next;
  assertEquals((await calls[1]!.call.status).code, "0");
  await clock.advance(250);
  await calls[0]!.next;
  assertEquals((await calls[0]!.call.status).code, "0");
});

Deno.test("who proves who it is and then says nothing is not waited for", async () => {
  const clock = new FakeClock(), ping = { interval: 1e9, timeout: 1e9 };
  await using xds = await start({ clock, ping });
  using client = xds.connect();
  const call = client.call();
  call.drain();
  await once(call.stream, "response");
  await clock.advance(10_000);
  assertEquals(await call.status, { code: "4", message: "No request within 10 s" });
});

Deno.test("tokens that are none, and headers without end, are not looked at", async () => {
  await using xds = await start();
  using client = xds.connect();
  const long = client.call(undefined, { authorization: `Bearer ${"x".repeat(16 * 1024)}` });
  long.drain();
  assertEquals((await long.status).code, "16");
  assertEquals(xds.peers, []);
  for (const [name, value] of [["authorization", "x".repeat(1 << 20)], ["x", "x".repeat(1 << 20)]] as const) {
    using other = xds.connect();
    const call = other.call(undefined, { [name]: value });
    call.drain();
    call.send(request("cluster"));
    assertEquals((await call.status).code, undefined);
  }
  assertEquals(xds.peers, []);
});

Deno.test("no connection without a certificate, or with one that somebody else has signed", async () => {
  await using xds = await start();
  const stranger = await leaf("default/gw", await createAuthority({ commonName: "stranger", ...validity }));
  for (const wrong of [undefined, stranger]) {
    using client = new Client(xds.server.port, {
      authority: authority.certificate,
      serverName,
      certificate: wrong,
    });
    const call = client.call();
    call.drain();
    assertEquals((await call.status).code, undefined);
  }
  assertEquals(xds.peers, []);
});

Deno.test("other methods, and requests that are too large, compressed or garbage, end the call alone", async () => {
  await using xds = await start({ requestLimit: 1_000 });
  using client = xds.connect();
  const status = async (path: string | undefined, bytes: Uint8Array) => {
    const call = client.call(path);
    call.drain();
    call.sendRaw(bytes);
    return (await call.status).code;
  };
  assertEquals(
    await status(
      "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
      frame(new Uint8Array()),
    ),
    "12",
  );
  assertEquals(await status(undefined, frame(new Uint8Array(1_001))), "8");
  assertEquals(await status(undefined, frame(new Uint8Array(3), 1)), "12");
  assertEquals(await status(undefined, frame(new Uint8Array([0xff, 0xff, 0xff]))), "3");
  const call = client.call();
  call.send(request("cluster"));
  assertEquals((await call.next())?.nonce, "1");
  call.stream.close();
  await call.status;
});

Deno.test("a new certificate is for new connections; those that there are stay", async () => {
  await using xds = await start();
  using before = xds.connect();
  const call = before.call();
  call.send(request("cluster"));
  await call.next();
  xds.server.rotate({ ...await leaf("second"), clientAuthority: authority.certificate });
  using after = xds.connect();
  await once(after.session, "connect");
  assertEquals((after.session.socket as tls.TLSSocket).getPeerCertificate().subject.CN, "second");
  put(xds.cache, resource("cluster:a", "1"));
  assertEquals((await call.next())?.nonce, "2");
  call.stream.close();
  await call.status;
});

Deno.test("closing ends calls in good order and frees the port; who does not listen is cut off", async () => {
  const xds = await start();
  using client = xds.connect();
  const call = client.call();
  call.drain();
  call.send(request("cluster"));
  await once(call.stream, "response");
  const goaway = once(client.session, "goaway");
  await xds.server[Symbol.asyncDispose]();
  await goaway;
  assertEquals((await call.status).code, "0");
  await xds.server[Symbol.asyncDispose]();
  await using again = await start({ port: xds.server.port });
  assertEquals(again.server.port, xds.server.port);

  const deaf = tls.connect({
    port: again.server.port,
    host: "127.0.0.1",
    ca: authority.certificate,
    cert: certificate.certificate,
    key: certificate.key,
    servername: serverName,
    ALPNProtocols: ["h2"],
  });
  deaf.on("error", () => {});
  await once(deaf, "secureConnect");
  const closed = once(deaf, "close");
  deaf.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  deaf.write(new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0])); // SETTINGS, empty.
  await again.server[Symbol.asyncDispose]();
  deaf.destroy();
  await closed;
});

Deno.test("closing does not wait for those who have not even begun", async () => {
  const xds = await start();
  using idle = await Deno.connect({ hostname: "127.0.0.1", port: xds.server.port });
  await xds.server[Symbol.asyncDispose]();
  assertEquals(await idle.read(new Uint8Array(1)).catch(() => null), null);
});

Deno.test("a peer that does not answer a ping is given up", async () => {
  const clock = new FakeClock();
  await using xds = await start({ clock, ping: { interval: 1_000, timeout: 500 }, grace: 0 });
  const deaf = tls.connect({
    port: xds.server.port,
    host: "127.0.0.1",
    ca: authority.certificate,
    cert: certificate.certificate,
    key: certificate.key,
    servername: serverName,
    ALPNProtocols: ["h2"],
  });
  deaf.on("error", () => {});
  await once(deaf, "secureConnect");
  const closed = once(deaf, "close");
  deaf.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  deaf.write(new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  await once(deaf, "data"); // The server's settings: there is a session.
  await clock.advance(1_000);
  await clock.advance(500);
  await closed;
  deaf.destroy();
});

/** A connection of nothing but TLS, as a proxy would make it. */
async function connectTls(port: number): Promise<tls.TLSSocket> {
  const socket = tls.connect({
    port,
    host: "127.0.0.1",
    ca: authority.certificate,
    cert: certificate.certificate,
    key: certificate.key,
    servername: serverName,
    ALPNProtocols: ["h2"],
  });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

Deno.test("connections without a handshake, without HTTP/2 and without a stream are cut; one that is served is not", async () => {
  const clock = new FakeClock();
  const limits = { handshake: 1_000, idle: 5_000 }, ping = { interval: 1e9, timeout: 1e9 };
  await using xds = await start({ clock, limits, ping, grace: 0, lifetime: 1e9 });
  using client = xds.connect();
  const call = client.call();
  call.send(request("cluster"));
  await call.next();

  const silent = net.connect(xds.server.port, "127.0.0.1");
  silent.on("error", () => {});
  await once(silent, "connect");
  const secure = await connectTls(xds.server.port);
  const empty = await connectTls(xds.server.port);
  empty.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  empty.write(new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  await once(empty, "data");
  using refused = xds.connect();
  const stranger = refused.call("/another");
  stranger.drain();
  assertEquals((await stranger.status).code, "12");

  const closed = (socket: EventEmitter) => once(socket, "close");
  const first = closed(silent), rest = [secure, empty, refused.session].map(closed);
  for (const socket of [silent, secure]) socket.resume();
  await clock.advance(1_000);
  await first;
  assert(!secure.destroyed && !empty.destroyed && !refused.session.destroyed);
  await clock.advance(5_000);
  await Promise.all(rest);

  await clock.advance(60_000);
  put(xds.cache, resource("cluster:a", "1"));
  assertEquals((await call.next())?.nonce, "2");
  call.stream.close();
  await call.status;
});

Deno.test("a full server makes room for a new proxy, but not at the cost of those that it serves", async () => {
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  await using xds = await start({ limits: { connections: 2 }, log });
  const silent = net.connect(xds.server.port, "127.0.0.1");
  silent.on("error", () => {});
  const gone = once(silent, "close");
  silent.resume();
  await once(silent, "connect");
  const served = [];
  using clients = new DisposableStack();
  for (let i = 0; i < 2; i++) {
    const call = clients.use(xds.connect()).call();
    call.send(request("cluster"));
    assertEquals((await call.next())?.nonce, "1");
    served.push(call);
  }
  await gone;
  const third = clients.use(xds.connect()).call();
  third.drain();
  assertEquals((await third.status).code, undefined);
  assertEquals(warnings.filter((text) => text.startsWith("Too many connections")).length, 1);
  put(xds.cache, resource("cluster:a", "1"));
  for (const call of served) {
    assertEquals((await call.next())?.nonce, "2");
    call.stream.close();
    await call.status;
  }
});

Deno.test("a connection whose proxy says GOAWAY goes once all that has arrived is read, and not before", async () => {
  await using xds = await start();
  const sessions: ServerHttp2Session[] = [];
  const created = (message: unknown) => {
    sessions.push((message as { readonly stream: ServerHttp2Stream }).stream.session as ServerHttp2Session);
  };
  subscribe("http2.server.stream.created", created);
  using client = xds.connect();
  const call = client.call();
  call.send(request("cluster"));
  assertEquals((await call.next())?.nonce, "1");
  unsubscribe("http2.server.stream.created", created);
  const [session] = sessions, { promise, resolve } = Promise.withResolvers<boolean>();
  // Right after the event the runtime has read what came with it.
  session!.once("goaway", () => queueMicrotask(() => resolve(session!.destroyed)));
  const closed = new Promise<void>((resolve) => session!.once("close", resolve));
  client.session.goaway(2);
  assertEquals(await promise, false);
  await closed;
});

Deno.test("a connection may have stream after stream", async () => {
  await using xds = await start();
  using client = xds.connect();
  for (let i = 0; i < 500; i++) {
    const call = client.call("/another");
    call.drain();
    assertEquals((await call.status).code, "12");
  }
});

Deno.test("proxies that open streams in bursts, reset them and vanish leave the server as it was", async () => {
  const random = seeded(7), ended: Promise<unknown>[] = [];
  let streams = 0, opened = 0;
  const stream = (change: 1 | -1) => {
    streams += change;
    if (change > 0) opened++;
  };
  await using xds = await start({ metrics: { ...noMetrics, stream } });
  put(xds.cache, resource("cluster:a", "1"));
  for (let round = 0; round < 25; round++) {
    using client = xds.connect();
    await once(client.session, "remoteSettings");
    const calls = Array.from({ length: 16 }, () => client.call());
    for (const call of calls) {
      call.drain();
      call.send(request("cluster"));
      ended.push(call.status);
    }
    const waited = random.int(16);
    if (random.int(3) > 0) {
      await Promise.race([once(calls[waited]!.stream, "response"), calls[waited]!.status]);
    }
    for (const call of calls) if (random.int(2)) call.stream.close(8);
  }
  await Promise.all(ended);
  using client = xds.connect();
  const call = client.call();
  call.send(request("cluster"));
  assertEquals((await call.next())?.nonce, "1");
  call.stream.close();
  await call.status;
  await xds.server[Symbol.asyncDispose]();
  assert(opened > 25);
  assertEquals(streams, 0);
});

Deno.test("a slow reader is written to as it reads, and the pieces are not copied for it", async () => {
  const large: XdsResource = {
    ...resource("cluster:a", "1"),
    bytes: Array.from({ length: 640 }, () => new Uint8Array(32 * 1024)),
  };
  const pushed = Promise.withResolvers<number>();
  let done = false;
  await using xds = await start({
    metrics: {
      ...noMetrics,
      pushed: (_type, _resources, _removed, bytes) => {
        done = true;
        pushed.resolve(bytes);
      },
    },
  });
  put(xds.cache, large);
  using client = xds.connect();
  const call = client.call();
  call.send(request("cluster"));
  await once(call.stream, "readable");
  assert(!done, "20 MiB cannot have been taken already");
  let size = 0;
  call.stream.on("data", (chunk: Uint8Array) => size += chunk.length);
  const bytes = await pushed.promise;
  assert(bytes > 640 * 32 * 1024);
  call.send(ack({ type: "cluster", nonce: "1", resources: [], removed: [] }));
  call.stream.close();
  await call.status;
  assert(size > 0);
});

Deno.test("messages are cut out of chunks of any size", async () => {
  const random = seeded(1);
  for (let round = 0; round < 50; round++) {
    const messages = random.list(
      8,
      () => Uint8Array.from({ length: random.int(300) }, () => random.int(256)),
    );
    const bytes = messages.flatMap((message) => [...frame(message)]);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + random.int(round % 2 ? 400 : 7);
      chunks.push(Uint8Array.from(bytes.slice(at, end)));
      at = end;
    }
    const read: Uint8Array[] = [];
    for await (const message of readMessages(ReadableStream.from(chunks), 1_000)) read.push(message);
    assertEquals(read, messages);
  }
});
