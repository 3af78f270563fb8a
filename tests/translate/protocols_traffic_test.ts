/**
 * What clients may speak, and what backends are spoken to with, as their `appProtocol` has it, through a real Envoy.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import type { Echo } from "../xds/support/http.ts";
import { type Raw, route, service, slice, to } from "./cluster.ts";
import { any, parentRefs, serving } from "./serving.ts";

/** A Service whose port says what it speaks, with one endpoint. */
function speaking(name: string, appProtocol: string, port: number): readonly Raw[] {
  const { spec, ...rest } = service(name);
  return [
    { ...rest, spec: { ports: [{ ...spec.ports[0], appProtocol }] } },
    { ...slice(name, "127.0.0.1"), ports: [{ name: "http", port }] },
  ];
}

/** A server of HTTP/2 without TLS that answers with what it is spoken to with. */
async function http2Backend() {
  const server = http2.createServer((request, response) => {
    response.end(`HTTP/${request.httpVersion} ${request.headers[":authority"]}${request.url}`);
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}

/** What is answered to a client that begins with HTTP/2, without TLS: its status and body. */
async function overHttp2(port: number, path: string): Promise<readonly [status: unknown, body: string]> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  const done = Promise.withResolvers<readonly [unknown, string]>(), closed = Promise.withResolvers<void>();
  session.on("error", done.reject);
  session.on("close", () => closed.resolve());
  const stream = session.request({ ":path": path, ":authority": "www.example.com" });
  let status: unknown, body = "";
  stream.setEncoding("utf8");
  stream.on("error", done.reject);
  stream.on("response", (headers) => status = headers[":status"]);
  stream.on("data", (chunk) => body += chunk);
  stream.on("end", () => done.resolve([status, body]));
  stream.end();
  try {
    return await done.promise;
  } finally {
    session.destroy();
    await closed.promise;
  }
}

Deno.test("traffic: an HTTP listener takes HTTP/2 with prior knowledge, and no upgrade to it", async () => {
  await using served = await serving(any, [route("a", { parentRefs, rules: [to("app")] })]);
  const [status, body] = await overHttp2(served.port, "/new");
  assertEquals([status, (JSON.parse(body) as Echo).path], [200, "/new"]);
  const headers = {
    connection: "Upgrade, HTTP2-Settings",
    upgrade: "h2c",
    "http2-settings": "AAMAAABkAAQAAP__",
  };
  assertEquals((await served.ask("/old", { headers })).status, 200, "and not 101");
});

Deno.test("traffic: kubernetes.io/h2c is HTTP/2 with prior knowledge", async () => {
  await using backend = await http2Backend();
  await using served = await serving(any, [
    ...speaking("new", "kubernetes.io/h2c", backend.port),
    ...speaking("old", "http", backend.port),
    route("a", { parentRefs, rules: [to("new", "/new"), to("old", "/old")] }),
  ]);
  const { status, body } = await served.ask("/new?q=1", { host: "www.example.com" });
  assertEquals([status, body], [200, "HTTP/2.0 www.example.com/new?q=1"]);
  assertEquals((await served.ask("/old")).status, 502, "HTTP/1.1 is not understood by such a backend");
});

Deno.test("traffic: kubernetes.io/ws takes WebSockets, text and binary, and plain requests", async () => {
  await using backend = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    if (request.headers.get("upgrade") !== "websocket") return new Response("plain");
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  });
  await using served = await serving(any, [
    ...speaking("ws", "kubernetes.io/ws", backend.addr.port),
    route("a", { parentRefs, rules: [to("ws")] }),
  ]);
  assertEquals((await served.ask("/")).body, "plain");
  const socket = new WebSocket(`ws://127.0.0.1:${served.port}/ws`);
  socket.binaryType = "arraybuffer";
  const closed = Promise.withResolvers<void>();
  socket.onclose = () => closed.resolve();
  const opened = Promise.withResolvers<void>();
  socket.onopen = () => opened.resolve();
  await opened.promise;
  const answer = (message: string | Uint8Array<ArrayBuffer>) => {
    const got = Promise.withResolvers<unknown>();
    socket.onmessage = ({ data }) => got.resolve(data);
    socket.send(message);
    return got.promise;
  };
  assertEquals(await answer("Websocket Support!"), "Websocket Support!");
  assertEquals(
    new Uint8Array(await answer(new Uint8Array([1, 2, 3])) as ArrayBuffer),
    new Uint8Array([1, 2, 3]),
  );
  socket.close();
  await closed.promise;
});
