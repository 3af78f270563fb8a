/**
 * Retries (GEP-1731) and what timeouts have to do with them, through a real Envoy.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type Raw, route, slice, to } from "./cluster.ts";
import { any, parentRefs, serving } from "./serving.ts";
import { freePort } from "../support/free_port.ts";

/**
 * A backend that fails as its query says: `code` for the first `times` requests of an `id`, `hang` for never to answer.
 * It counts the requests of each `id`.
 */
function failing() {
  const counts = new Map<string, number>();
  const released = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async ({ url }) => {
    const { searchParams: query } = new URL(url);
    const id = query.get("id") ?? "", count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    if (count > Number(query.get("times"))) return new Response("fine");
    if (query.has("hang")) await released.promise;
    return new Response("failed", { status: Number(query.get("code") ?? 500) });
  });
  return {
    port: server.addr.port,
    counts,
    async [Symbol.asyncDispose]() {
      released.resolve();
      await server.shutdown();
    },
  };
}

const rule = (path: string, more: Raw) => ({ ...to("failing", path), ...more });

Deno.test("traffic: statuses are tried again, as often as is asked for", async () => {
  await using backend = failing();
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        rule("/500", { retry: { codes: [500], attempts: 3 } }),
        rule("/all", { retry: { codes: [500, 502, 503, 504, 429], attempts: 2 } }),
        rule("/once", { retry: { codes: [500] } }),
        rule("/never", { retry: { codes: [500], attempts: 0 } }),
        rule("/connect", { retry: { attempts: 3 } }),
        rule("/default", {}),
      ],
    }),
  ], { failing: backend.port });
  const cases:
    readonly (readonly [path: string, code: number, times: number, answer: number, asked: number])[] = [
      ["/500", 500, 2, 200, 3],
      ["/500", 500, 3, 200, 4],
      ["/500", 500, 4, 500, 4],
      ["/500", 503, 2, 503, 1],
      ...[500, 502, 503, 504, 429].flatMap((code) => [
        ["/all", code, 1, 200, 2] as const,
        ["/all", code, 3, code, 3] as const,
      ]),
      ["/once", 500, 1, 200, 2],
      ["/once", 500, 2, 500, 2],
      ["/never", 500, 1, 500, 1],
      // Where no code is named an answer is an answer.
      ["/connect", 503, 1, 503, 1],
      ["/default", 503, 1, 503, 1],
    ];
  for (const [i, [path, code, times, answer, asked]] of cases.entries()) {
    const { status } = await served.ask(`${path}?id=${i}&code=${code}&times=${times}`);
    assertEquals([path, code, times, status, backend.counts.get(`${i}`)], [path, code, times, answer, asked]);
  }
});

Deno.test("traffic: connections that fail are tried again at another endpoint, unless attempts are 0", async () => {
  const dead = freePort();
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        { ...to("app", "/default") },
        { ...to("app", "/stanza"), retry: { attempts: 1 } },
        { ...to("app", "/never"), retry: { attempts: 0 } },
      ],
    }),
    {
      ...slice("app", "127.0.0.1"),
      metadata: { ...slice("app").metadata, name: "app-dead" },
      ports: [{ name: "http", port: dead }],
    },
  ]);
  const statuses = async (path: string) => {
    const seen = new Set<number>();
    for (let i = 0; i < 40; i++) seen.add((await served.ask(path)).status);
    return [...seen].sort();
  };
  assertEquals(await statuses("/default"), [200]);
  assertEquals(await statuses("/stanza"), [200]);
  assertEquals(await statuses("/never"), [200, 503]);
});

Deno.test("traffic: timeouts of attempts lead to further ones, the timeout of the request ends them all", async () => {
  await using backend = failing();
  const retry = { codes: [503], attempts: 2, backoff: "1ms" };
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        rule("/attempt", { retry, timeouts: { backendRequest: "50ms" } }),
        rule("/both", {
          retry: { ...retry, attempts: 100 },
          timeouts: { request: "300ms", backendRequest: "50ms" },
        }),
        rule("/whole", { retry, timeouts: { request: "50ms" } }),
        rule("/never", { retry: { attempts: 0 }, timeouts: { backendRequest: "50ms" } }),
        rule("/slowly", {
          retry: { codes: [503], attempts: 20, backoff: "1h" },
          timeouts: { request: "200ms" },
        }),
      ],
    }),
  ], { failing: backend.port });
  const answer = async (path: string, id: string, times: number, how = "hang") => {
    const { status } = await served.ask(`${path}?id=${id}&times=${times}&${how}`);
    return [status, backend.counts.get(id)];
  };
  assertEquals(await answer("/attempt", "second", 1), [200, 2]);
  assertEquals(await answer("/attempt", "third", 9), [504, 3]);
  const [status, asked] = await answer("/both", "both", 999);
  assertEquals(status, 504);
  assert(asked! > 1 && asked! < 8, `${asked} attempts of 50 ms within 300 ms`);
  assertEquals(await answer("/whole", "whole", 9), [504, 1]);
  assertEquals(await answer("/never", "never", 9), [504, 1]);
  // The wait is random: that it is over in time happens once in 18,000 times.
  assertEquals(await answer("/slowly", "slowly", 99, "code=503"), [504, 1]);
});

/** A backend that reads a request and closes the connection, `times` times in a row for each path. */
function closing(times: number) {
  const counts = new Map<string, number>();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serve = async (connection: Deno.Conn) => {
    using _ = connection;
    const buffer = new Uint8Array(65_536), length = await connection.read(buffer);
    const [, path = ""] = new TextDecoder().decode(buffer.subarray(0, length ?? 0)).split(" ");
    const count = (counts.get(path) ?? 0) + 1;
    counts.set(path, count);
    if (count > times) {
      await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    }
  };
  const served: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) served.push(serve(connection));
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    counts,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(served);
    },
  };
}

Deno.test("traffic: what breaks off after a backend has read it is sent again only where attempts have a timeout", async () => {
  await using backend = closing(1);
  const retry = { codes: [500, 502, 503, 504], attempts: 2 };
  await using served = await serving(any, [
    route("a", {
      parentRefs,
      rules: [
        rule("/default", {}),
        rule("/stanza", { retry }),
        rule("/request", { retry, timeouts: { request: "10s" } }),
        rule("/attempt", { retry, timeouts: { backendRequest: "10s" } }),
      ],
    }),
  ], { failing: backend.port });
  const cases = [["/default", 503, 1], ["/stanza", 503, 1], ["/request", 503, 1], [
    "/attempt",
    200,
    2,
  ]] as const;
  for (const [path, answer, asked] of cases) {
    const { status } = await served.ask(path);
    assertEquals([path, status, backend.counts.get(path)], [path, answer, asked]);
  }
});

Deno.test("traffic: requests with bodies are sent again whole, up to a mebibyte", async () => {
  const sizes: number[] = [];
  await using backend = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      sizes.push((await request.arrayBuffer()).byteLength);
      return new Response("", { status: sizes.length % 2 ? 503 : 200 });
    },
  );
  await using served = await serving(any, [
    route("a", { parentRefs, rules: [rule("/", { retry: { codes: [503], attempts: 1 } })] }),
  ], { failing: backend.addr.port });
  for (const size of [1, 100_000, 1_000_000]) {
    const body = new Uint8Array(size).fill(7);
    const answer = await fetch(`http://127.0.0.1:${served.port}/`, { method: "POST", body });
    await answer.body?.cancel();
    assertEquals([size, answer.status, sizes.splice(0)], [size, 200, [size, size]]);
  }
});
