/**
 * The echo backend and what it says about requests.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "node:http2";
import { type Echo, serveEcho } from "../../standalone/echo.ts";
import { freePort } from "../support/free_port.ts";

/** Sends a request byte for byte and reads the body of the answer. */
async function raw(port: number, request: string): Promise<Echo> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(request));
  const answer = await new Response(connection.readable).text();
  return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));
}

Deno.test("echo: says what it was asked, as it was asked", async () => {
  await using server = await serveEcho({ port: 0, name: "web" });
  const echo = await raw(
    server.port,
    "PUT /a/../b%2Fc//d?x=1&y=%20&x=2 HTTP/1.1\r\nHost: www.Example.com:8080\r\nX-Many: 1\r\nX-Many: 2\r\n" +
      "Content-Length: 5\r\nConnection: close\r\n\r\nhello",
  );
  const { from, headers, ...rest } = echo;
  assertEquals(rest, {
    service: "web",
    pod: `web-${server.port}`,
    protocol: "HTTP/1.1",
    method: "PUT",
    host: "www.Example.com:8080",
    path: "/a/../b%2Fc//d",
    query: { x: ["1", "2"], y: [" "] },
    body: "hello",
  });
  assert(/^127\.0\.0\.1:\d+$/.test(from), from);
  assertEquals([headers["x-many"], headers.host], ["1, 2", "www.Example.com:8080"]);
});

Deno.test("echo: speaks HTTP/2 without TLS", async () => {
  await using server = await serveEcho({ port: 0, name: "web" });
  const session = connect(`http://127.0.0.1:${server.port}`);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const stream = session.request({ ":path": "/x?y=z", ":authority": "example.com", "x-hello": "you" });
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => text += chunk);
  stream.on("end", () => resolve(text));
  stream.on("error", reject);
  stream.end();
  const echo: Echo = JSON.parse(await promise);
  const closed = Promise.withResolvers<void>();
  session.close(() => closed.resolve());
  await closed.promise;
  assertEquals([echo.protocol, echo.method, echo.host, echo.path], ["HTTP/2", "GET", "example.com", "/x"]);
  assertEquals([echo.query, echo.headers["x-hello"]], [{ y: ["z"] }, "you"]);
});

Deno.test("echo: of a large body, the beginning", async () => {
  await using server = await serveEcho({ port: 0, name: "web" });
  const body = "x".repeat(1_000_000);
  const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: "POST", body });
  assertEquals((await response.json() as Echo).body?.length, 65_536);
  assertEquals(response.headers.get("x-echo-pod"), `web-${server.port}`);
});

Deno.test("echo: sends WebSocket messages back, and stops with some open", async () => {
  const server = await serveEcho({ port: 0, name: "web" });
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/chat`);
  const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
  await new Promise((resolve) => socket.onopen = resolve);
  const answer = new Promise((resolve) => socket.onmessage = ({ data }) => resolve(data));
  socket.send("hello");
  assertEquals(await answer, "hello");
  await server[Symbol.asyncDispose]();
  assertEquals((await closed).code, 1001);
});

Deno.test("echo: stops although a client never finishes its request", async () => {
  const server = await serveEcho({ port: 0, name: "web" });
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await connection.write(
    new TextEncoder().encode("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"),
  );
  // Answered once the first request of another connection is, so the server has seen the one above.
  await raw(server.port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  await server[Symbol.asyncDispose]();
});

Deno.test("echo: a port in use is an error of the caller's", async () => {
  const port = freePort();
  await using _server = await serveEcho({ port, name: "a" });
  await assertRejects(async () => await serveEcho({ port, name: "b" }), Deno.errors.AddrInUse);
});
