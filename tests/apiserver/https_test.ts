/** The socket: certificates, loopback, streams that end as they should, the data directory's secrets. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createAuthority, issue, type KeyPair } from "../../controllers/runtime/pki.ts";
import { DataError } from "../../standalone/apiserver/database.ts";
import { serveApi } from "../../standalone/apiserver/serve.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { looseModel, testServer } from "./support.ts";

const day = 24 * 60 * 60_000;
const validity = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };

function client(authority: KeyPair, own?: KeyPair): Deno.HttpClient {
  return Deno.createHttpClient({
    caCerts: [authority.certificate],
    ...(own ? { cert: own.certificate, key: own.key } : {}),
  });
}

Deno.test("only certificates of its own authority count", async () => {
  await using server = await testServer();
  const { authority, admin } = server.certificates;
  const status = async (own?: KeyPair) => {
    using http = client(authority, own);
    const response = await fetch(`${server.url}/api/v1/namespaces`, { client: http });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await status(admin), 200);
  assertEquals(await status(), 401);
  const guest = await issue(authority, { commonName: "guest", usages: ["client"], ...validity });
  assertEquals(await status(guest), 403);
  const stranger = await createAuthority({ commonName: "stranger", ...validity });
  const forged = await issue(stranger, {
    commonName: "gatehouse-admin",
    organizations: ["system:masters"],
    usages: ["client"],
    ...validity,
  });
  assertEquals(await status(forged), 401);
});

Deno.test("a host that others can reach is refused", async () => {
  for (const host of ["0.0.0.0", "192.168.1.1", "::", "example.com"]) {
    await assertRejects(
      () =>
        serveApi({ dataDir: "/nonexistent", host, model: looseModel, clock: systemClock, log: silentLog }),
      TypeError,
      "serves loopback addresses only",
    );
  }
});

Deno.test("secrets are for their owner only; authority and kubeconfig survive a restart", async () => {
  const dataDir = await Deno.makeTempDir();
  const read = async () => {
    await using server = await testServer({ dataDir });
    for (const name of ["pki/ca.pem", "pki/server.pem", "pki/admin.pem", "kubeconfig"]) {
      assertEquals((await Deno.stat(`${dataDir}/${name}`)).mode! & 0o777, 0o600, name);
    }
    const config = parse(await Deno.readTextFile(server.kubeconfig));
    assertEquals(config.clusters[0].cluster.server, server.url);
    return [server.certificates.authority, server.certificates.admin];
  };
  assertEquals(await read(), await read());
  await Deno.writeTextFile(`${dataDir}/pki/admin.pem`, "nonsense");
  const error = await assertRejects(read, DataError);
  assertStringIncludes(error.message, 'admin.pem": it holds no certificate and key; delete it');
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("a certificate that ends soon is made anew", async () => {
  const dataDir = await Deno.makeTempDir();
  let now = Date.now();
  const clock = { ...systemClock, now: () => new Date(now) };
  const read = async () => {
    await using server = await testServer({ dataDir, clock });
    return server.certificates;
  };
  const first = await read();
  now += 340 * day;
  const later = await read();
  assertEquals(later.authority, first.authority);
  assert(
    later.admin.certificate !== first.admin.certificate &&
      later.server.certificate !== first.server.certificate,
  );
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("a watch over the wire: events come at once, and end cleanly when the server stops", async () => {
  const server = await testServer();
  using http = client(server.certificates.authority, server.certificates.admin);
  const url = `${server.url}/api/v1/namespaces/default/configmaps`;
  const response = await fetch(`${url}?watch=1`, { client: http });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } });
  const headers = { "content-type": "application/json" };
  const made = await fetch(url, { method: "POST", client: http, headers, body });
  assertEquals(made.status, 201);
  await made.body?.cancel();
  const { value } = await reader.read();
  assertStringIncludes(value!, '{"type":"ADDED","object":{');
  await server[Symbol.asyncDispose]();
  assertEquals((await reader.read()).done, true);
});

Deno.test("a cut stream is an error for the client, not an end", async () => {
  await using server = await testServer();
  using http = client(server.certificates.authority, server.certificates.admin);
  const response = await fetch(`${server.url}/api/v1/namespaces?watch=1`, { client: http });
  const reader = response.body!.getReader();
  await reader.read();
  server.faults.add({ kind: "cut", times: 1 });
  await assertRejects(async () => {
    while (!(await reader.read()).done) { /* what is left of the line */ }
  });
});

Deno.test("a client that leaves ends its watch", async () => {
  await using server = await testServer();
  using http = client(server.certificates.authority, server.certificates.admin);
  const leave = new AbortController();
  const response = await fetch(`${server.url}/api/v1/configmaps?watch=1`, {
    client: http,
    signal: leave.signal,
  });
  leave.abort();
  await assertRejects(() => response.text());
  // Disposing of the server waits for every request: it would hang if the watch were still there.
});

Deno.test("another program on the port is said as such", async () => {
  await using server = await testServer();
  const port = Number(new URL(server.url).port);
  const error = await assertRejects(() => testServer({ port }));
  assertStringIncludes(String(error), "EADDRINUSE");
});

Deno.test("the signal stops the server", async () => {
  const stop = new AbortController();
  await using server = await testServer({ signal: stop.signal });
  const joined = server.join();
  stop.abort();
  await joined;
});

Deno.test("connections that clients keep open do not hold up the end", async () => {
  const server = await testServer();
  const { authority, admin } = server.certificates, port = Number(new URL(server.url).port);
  const tls = { hostname: "127.0.0.1", port, caCerts: [authority.certificate] };
  using _silent = await Deno.connect({ port, hostname: "127.0.0.1" }); // not even a handshake
  using idle = await Deno.connectTls(tls);
  await idle.handshake();
  using used = await Deno.connectTls({ ...tls, cert: admin.certificate, key: admin.key });
  await used.write(new TextEncoder().encode("GET /version HTTP/1.1\r\nhost: x\r\n\r\n"));
  await used.read(new Uint8Array(1 << 16));
  const before = systemClock.monotonic();
  await server[Symbol.asyncDispose]();
  // Anything that waits for them waits for at least as long as a handshake or an idle connection may take.
  assert(systemClock.monotonic() - before < 30_000);
});

Deno.test("what is no request is answered with 400, and the next one is served", async () => {
  await using server = await testServer();
  const { authority, admin } = server.certificates, { port } = new URL(server.url);
  for (const line of ["TRACE /api HTTP/1.1", "GET http://[ HTTP/1.1"]) {
    using connection = await Deno.connectTls({
      hostname: "127.0.0.1",
      port: Number(port),
      caCerts: [authority.certificate],
      cert: admin.certificate,
      key: admin.key,
    });
    await connection.write(new TextEncoder().encode(`${line}\r\nhost: x\r\nconnection: close\r\n\r\n`));
    const text = await new Response(connection.readable).text();
    assertStringIncludes(text, "HTTP/1.1 400 ", line);
  }
  using http = client(authority, admin);
  const response = await fetch(`${server.url}/api`, { client: http });
  await response.body?.cancel();
  assertEquals(response.status, 200);
});

Deno.test("a body that is refused half way does not stop the requests behind it", async () => {
  await using server = await testServer();
  const { authority, admin } = server.certificates;
  for (const own of [admin, undefined]) {
    using http = client(authority, own);
    for (let round = 0; round < 3; round++) {
      const refused = await fetch(`${server.url}/api/v1/namespaces/default/configmaps`, {
        client: http,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "x".repeat(6_000_000),
      });
      await refused.body?.cancel();
      assertEquals(refused.status, own ? 413 : 401);
      for (let i = 0; i < 3; i++) {
        const next = await fetch(`${server.url}/version`, {
          client: http,
          signal: AbortSignal.timeout(10_000),
        });
        await next.body?.cancel();
        assertEquals(next.status, 200);
      }
    }
  }
});

/** Reads until the other side ends, be it ever so rudely. */
async function ended(connection: Deno.Conn): Promise<string> {
  const decoder = new TextDecoder(), buffer = new Uint8Array(1 << 16);
  let text = "";
  try {
    for (let n; (n = await connection.read(buffer)) !== null;) text += decoder.decode(buffer.subarray(0, n));
  } catch (error) {
    if (!(error instanceof Deno.errors.UnexpectedEof || error instanceof Deno.errors.ConnectionReset)) {
      throw error;
    }
  }
  return text;
}

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("connections that ask for nothing are cut, halves of requests too; a watch is not", async () => {
  const clock = new FakeClock(new Date().toISOString());
  const limits = { handshake: 1_000, idle: 5_000, request: 20_000 };
  await using server = await testServer({ clock, limits });
  const { authority, admin } = server.certificates, port = Number(new URL(server.url).port);
  const own = { cert: admin.certificate, key: admin.key };
  const connect = async (text: string, certificate = {}) => {
    const connection = await Deno.connectTls({
      hostname: "127.0.0.1",
      port,
      caCerts: [authority.certificate],
      ...certificate,
    });
    await connection.handshake();
    await connection.write(bytes(text));
    return connection;
  };
  using watching = await connect("GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n", own);
  assertStringIncludes(new TextDecoder().decode(await first(watching)), "HTTP/1.1 200");
  using silent = await Deno.connect({ hostname: "127.0.0.1", port });
  using idle = await connect("", own);
  using half = await connect("GET /api HTTP/1.1\r\nhost: x\r\nx-more: ");
  using used = await connect("GET /version HTTP/1.1\r\nhost: x\r\n\r\n", own);
  assertStringIncludes(new TextDecoder().decode(await first(used)), "HTTP/1.1 200");
  const post = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n1";
  using slow = await connect(post, own);
  using stranger = await connect(post);
  assertStringIncludes(new TextDecoder().decode(await first(stranger)), "HTTP/1.1 401");

  const early = ended(silent), rest = [idle, half, used].map(ended), last = [slow, stranger].map(ended);
  let more = 0;
  void Promise.all(last).then(() => more++);
  await clock.advance(1_000);
  await early;
  await clock.advance(5_000);
  await Promise.all(rest);
  assertEquals(more, 0);
  await clock.advance(20_000);
  await Promise.all(last);

  await clock.advance(60_000);
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m", namespace: "default" } };
  using http = client(authority, admin);
  const made = await fetch(`${server.url}/api/v1/namespaces/default/configmaps`, {
    method: "POST",
    client: http,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(map),
  });
  await made.body?.cancel();
  assertEquals(made.status, 201);
  let seen = "";
  while (!seen.includes('"ADDED"')) seen += new TextDecoder().decode(await first(watching));
});

async function first(connection: Deno.Conn): Promise<Uint8Array> {
  const buffer = new Uint8Array(1 << 16), size = await connection.read(buffer);
  assert(size !== null, "the connection was cut");
  return buffer.subarray(0, size);
}

Deno.test("there are never too many connections; those of clients with a certificate are the last to go", async () => {
  await using server = await testServer({ limits: { connections: 2 } });
  const { authority, admin } = server.certificates, port = Number(new URL(server.url).port);
  const options = {
    hostname: "127.0.0.1",
    port,
    caCerts: [authority.certificate],
    cert: admin.certificate,
    key: admin.key,
  };
  using silent = await Deno.connect({ hostname: "127.0.0.1", port });
  const ask = bytes("GET /version HTTP/1.1\r\nhost: x\r\n\r\n");
  using one = await Deno.connectTls(options);
  using two = await Deno.connectTls(options);
  for (const connection of [one, two, one, two]) {
    await connection.write(ask);
    assertStringIncludes(new TextDecoder().decode(await first(connection)), "HTTP/1.1 200");
  }
  assertEquals(await ended(silent), "");
  using third = await Deno.connect({ hostname: "127.0.0.1", port });
  assertEquals(await ended(third), "");
  await one.write(ask);
  assertStringIncludes(new TextDecoder().decode(await first(one)), "HTTP/1.1 200");
});

Deno.test("an answer that is whole says how long it is", async () => {
  await using server = await testServer();
  const { authority, admin } = server.certificates;
  using http = client(authority, admin);
  const get = async (path: string) => {
    const response = await fetch(`${server.url}${path}`, { client: http });
    return [response.headers.get("content-length"), (await response.bytes()).length] as const;
  };
  const [announced, length] = await get("/api/v1/namespaces/default");
  assertEquals(announced, `${length}`);
  // How long a list will be is not known when it begins.
  assertEquals((await get("/api/v1/namespaces"))[0], null);
});
