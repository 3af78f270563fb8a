import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { CoordinationV1Api } from "@cloudydeno/kubernetes-apis/coordination.k8s.io/v1";
import { systemClock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { createKube, type KubeOptions } from "../../kube/client.ts";
import { type Cluster, openCluster } from "../../kube/cluster.ts";
import { ConnectionError, KubeError, SilentError } from "../../kube/errors.ts";
import { list } from "../../kube/list.ts";
import type { Kube } from "../../kube/types.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { page, widget, widgets } from "./scripted_client.ts";

interface Server extends AsyncDisposable {
  readonly url: string;
  readonly requests: Request[];
  readonly kube: Kube;
}

type Handler = (request: Request, nth: number) => Response | Promise<Response>;

function serve(handler: Handler, options: Partial<KubeOptions> = {}, cluster: Partial<Cluster> = {}): Server {
  const requests: Request[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    // The body is read here, so that tests may read it after the answer.
    const kept = new Request(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body && await request.bytes(),
    });
    requests.push(kept);
    return await handler(kept, requests.length);
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const kube = createKube({ ...openCluster(url), ...cluster }, {
    clock: systemClock,
    version: "1.2.3",
    component: "test",
    ...options,
  });
  return {
    url,
    requests,
    kube,
    async [Symbol.asyncDispose]() {
      kube[Symbol.dispose]();
      await server.shutdown();
    },
  };
}

function status(code: number, reason: string, message: string, more: object = {}, headers: HeadersInit = {}) {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message, ...more };
  return Response.json(body, { status: code, headers });
}

Deno.test("get, create, apply, patch and delete say what the API expects", async () => {
  await using server = serve(() => Response.json(widget("a", 1)));
  const { kube } = server;
  const name = { namespace: "default", name: "a" };
  const signal = new AbortController().signal;
  assertEquals(await kube.get(widgets, name, signal), widget("a", 1));
  await kube.create(widgets, widget("a", 1));
  await kube.apply(widgets, widget("a", 1), { fieldManager: "gatehouse", force: true });
  await kube.patch(widgets, name, [{ op: "test", path: "/metadata/resourceVersion", value: "1" }], {
    subresource: "status",
  });
  await kube.delete(widgets, name, { preconditions: { uid: "u", resourceVersion: "1" } });

  const object = "/apis/example.com/v1/namespaces/default/widgets/a";
  const seen = server.requests.map(({ method, url, headers }) => [
    method,
    url.slice(server.url.length),
    headers.get("content-type"),
    headers.get("accept"),
  ]);
  assertEquals(seen, [
    ["GET", object, null, "application/json"],
    ["POST", "/apis/example.com/v1/namespaces/default/widgets", "application/json", "application/json"],
    [
      "PATCH",
      `${object}?fieldManager=gatehouse&force=true`,
      "application/apply-patch+yaml",
      "application/json",
    ],
    ["PATCH", `${object}/status`, "application/json-patch+json", "application/json"],
    ["DELETE", object, "application/json", "application/json"],
  ]);
  assertEquals(server.requests[0]?.headers.get("user-agent"), "gatehouse/1.2.3 (test)");
  assertEquals(await server.requests[1]?.json(), widget("a", 1));
  assertEquals(await server.requests[3]?.json(), [
    { op: "test", path: "/metadata/resourceVersion", value: "1" },
  ]);
  assertEquals(await server.requests[4]?.json(), {
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions: { uid: "u", resourceVersion: "1" },
  });
});

Deno.test("a namespaced object without a namespace is refused before it is asked for", () => {
  const kube = createKube(openCluster("http://127.0.0.1:9"), {
    clock: new FakeClock(),
    version: "1",
    component: "test",
  });
  let error: unknown;
  try {
    void kube.get(widgets, { name: "a" });
  } catch (e) {
    error = e;
  }
  assertInstanceOf(error, TypeError);
});

Deno.test("the server's path comes before ours", async () => {
  await using server = serve(() => Response.json({}));
  const kube = createKube(openCluster(`${server.url}/k8s/clusters/c1/`), {
    clock: systemClock,
    version: "1",
    component: "test",
  });
  await kube.get(widgets, { namespace: "x", name: "a" });
  await kube.performRequest({
    method: "GET",
    path: "/a?b#c d",
    querystring: new URLSearchParams({ e: "f" }),
  });
  kube[Symbol.dispose]();
  assertEquals(server.requests.map(({ url }) => url.slice(server.url.length)), [
    "/k8s/clusters/c1/apis/example.com/v1/namespaces/x/widgets/a",
    "/k8s/clusters/c1/a%3Fb%23c%20d?e=f",
  ]);
});

Deno.test("an answer without success becomes a KubeError that holds the Status", async () => {
  await using server = serve(() =>
    status(422, "Invalid", "spec.port: bad", {
      details: { name: "a", kind: "Widget", causes: [{ field: "spec.port", message: "bad", reason: "x" }] },
    })
  );
  const error = await assertRejects(() => server.kube.create(widgets, widget("a", 1)), KubeError);
  assertEquals([error.status, error.reason], [422, "Invalid"]);
  assertEquals(error.details.causes, [{ field: "spec.port", message: "bad", reason: "x" }]);
  assertEquals(
    error.message,
    "Cannot POST /apis/example.com/v1/namespaces/default/widgets: spec.port: bad (422 Invalid)",
  );
});

Deno.test("a failure that is no Status keeps its text", async () => {
  await using server = serve(() => new Response("upstream connect error", { status: 404 }));
  const error = await assertRejects(() => server.kube.get(widgets, { namespace: "a", name: "b" }), KubeError);
  assertEquals(error.reason, "NotFound");
  assertStringIncludes(error.message, "upstream connect error (404 NotFound)");
});

Deno.test("an answer that is no JSON is no answer of an API server", async () => {
  await using server = serve(() => new Response("<html>sign in</html>"));
  const error = await assertRejects(
    () => server.kube.get(widgets, { namespace: "a", name: "b" }),
    ConnectionError,
  );
  assertStringIncludes(error.message, "is this the address of a Kubernetes API server?");
});

Deno.test("a redirect is not followed: it would carry the token elsewhere", async () => {
  await using server = serve(() => Response.redirect("http://127.0.0.1:9/login"));
  const error = await assertRejects(() => server.kube.get(widgets, { namespace: "a", name: "b" }), KubeError);
  assertEquals(error.status, 302);
});

/** Runs `work` while the fake clock goes on as fast as it can. */
async function hurry<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let done = false;
  const end = () => {
    done = true;
  };
  work.then(end, end);
  while (!done) {
    await settle();
    // Never the timeout, which is a minute away: only pauses between tries.
    if (clock.next !== undefined && clock.next <= 31_000) await clock.advance(clock.next);
  }
  return await work;
}

Deno.test("429 is tried again after the time that the server asks for, for any method", async () => {
  const clock = new FakeClock();
  const times: number[] = [];
  await using server = serve((_, nth) => {
    times.push(clock.monotonic());
    return nth < 3 ? status(429, "TooManyRequests", "slow", {}, { "retry-after": "2" }) : Response.json({});
  }, { clock, random: () => 0 });
  await hurry(clock, server.kube.create(widgets, widget("a", 1)));
  assertEquals(times, [0, 2000, 4000]);
});

Deno.test("429 that asks for too long a pause is an error at once", async () => {
  await using server = serve(() => status(429, "TooManyRequests", "slow", {}, { "retry-after": "600" }));
  const error = await assertRejects(() => server.kube.get(widgets, { namespace: "a", name: "b" }), KubeError);
  assertEquals(error.retryAfter, 600_000);
  assertEquals(server.requests.length, 1);
});

for (const code of [502, 503, 504]) {
  Deno.test(`${code} is tried again for reads, a bounded number of times, and not for writes`, async () => {
    const clock = new FakeClock();
    await using server = serve(() => status(code, "", "later"), { clock });
    const read = server.kube.get(widgets, { namespace: "a", name: "b" });
    await assertRejects(() => hurry(clock, read), KubeError);
    assertEquals(server.requests.length, 5);
    await assertRejects(() => hurry(clock, server.kube.create(widgets, widget("a", 1))), KubeError);
    assertEquals(server.requests.length, 6);
  });
}

for (const code of [400, 403, 404, 409, 410, 422, 500]) {
  Deno.test(`${code} is not tried again`, async () => {
    await using server = serve(() => status(code, "", "no"));
    await assertRejects(() => server.kube.get(widgets, { namespace: "a", name: "b" }), KubeError);
    assertEquals(server.requests.length, 1);
  });
}

Deno.test("a connection that is refused or reset is tried again for reads only", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  let accepted = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      accepted++;
      connection.close();
    }
  })();
  const clock = new FakeClock();
  const options = { clock, version: "1", component: "test" };
  const kube = createKube(openCluster(`http://127.0.0.1:${port}`), options);
  const read = () => hurry(clock, kube.get(widgets, { namespace: "a", name: "b" }));
  const error = await assertRejects(read, ConnectionError);
  assertStringIncludes(error.message, "connection closed");
  assertEquals(accepted, 5);
  await assertRejects(() => hurry(clock, kube.create(widgets, widget("a", 1))), ConnectionError);
  assertEquals(accepted, 6);
  listener.close();
  await accepting;
  const refused = await assertRejects(read, ConnectionError);
  assertStringIncludes(refused.message, "refused");
  kube[Symbol.dispose]();
});

Deno.test("a server that does not answer is given up, and its connection with it", async () => {
  const clock = new FakeClock();
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<Response>();
  const clients: unknown[] = [];
  const spy: typeof fetch = (input, init) => {
    clients.push((init as { client?: unknown }).client);
    return fetch(input, init);
  };
  await using server = serve((_, nth) => {
    arrived.resolve();
    return nth === 1 ? release.promise : Response.json({});
  }, { clock, fetch: spy });
  const asked = server.kube.get(widgets, { namespace: "a", name: "b" });
  const rejected = assertRejects(() => asked, ConnectionError, "no answer within 60 s");
  await arrived.promise;
  await clock.advance(60_000);
  await rejected;
  assertEquals(server.requests.length, 1, "what took a minute is not asked again");
  await server.kube.get(widgets, { namespace: "a", name: "b" });
  await server.kube.get(widgets, { namespace: "a", name: "b" });
  assertEquals(clients.map((client) => client === clients[0]), [true, false, false]);
  assertEquals(clients[1] === clients[2], true);
  release.resolve(new Response());
});

Deno.test("abort ends a request with its reason, wherever it is", async () => {
  const release = Promise.withResolvers<Response>();
  const arrived = Promise.withResolvers<void>();
  const clock = new FakeClock();
  await using server = serve((_, nth) => {
    arrived.resolve();
    return nth === 1 ? release.promise : status(503, "", "later");
  }, { clock });
  const reason = new Error("enough");
  const first = new AbortController();
  const waiting = server.kube.get(widgets, { namespace: "a", name: "b" }, first.signal);
  await arrived.promise;
  first.abort(reason);
  assertEquals(await waiting.catch((error) => error), reason);
  release.resolve(new Response());

  // In the pause before another try.
  const second = new AbortController();
  const pausing = server.kube.get(widgets, { namespace: "a", name: "b" }, second.signal);
  while (clock.next === undefined || clock.next > 1000) await settle();
  second.abort(reason);
  assertEquals(await pausing.catch((error) => error), reason);
  // Before it begins.
  assertEquals(
    await server.kube.get(widgets, { namespace: "a", name: "b" }, second.signal).catch((e) => e),
    reason,
  );
  assertEquals(clock.pending, 0);
});

Deno.test("an answer that is too large is not read to its end", async () => {
  const endless = () => new ReadableStream<Uint8Array>({ pull: (c) => c.enqueue(new Uint8Array(65536)) });
  await using server = serve(() => new Response(endless()), { mostBytes: 1_000_000 });
  await assertRejects(
    () => server.kube.get(widgets, { namespace: "a", name: "b" }),
    ConnectionError,
    "larger than 1000000 bytes",
  );
});

Deno.test("a list whose snapshot expires half way begins again, at last in one piece", async () => {
  const asked: string[] = [];
  await using server = serve((request) => {
    const { search, searchParams: query } = new URL(request.url);
    asked.push(search);
    if (query.has("continue")) return status(410, "Expired", "too old");
    return Response.json(query.has("limit") ? page(1, [widget("a", 1)], "token") : page(2, [widget("b", 2)]));
  });
  const listing = await list(server.kube, widgets, { pageSize: 1 });
  assertEquals([listing.resourceVersion, listing.objects], ["2", [widget("b", 2)]]);
  assertEquals(asked, [...Array(4).fill(["?limit=1", "?limit=1&continue=token"]).flat(), ""]);
  await using gone = serve(() => status(410, "Expired", "too old"));
  await assertRejects(() => list(gone.kube, widgets), KubeError, "410");
});

Deno.test("a page that is too large is asked for in smaller ones", async () => {
  const items = Array.from({ length: 40 }, (_, i) => widget(`w${i}`, i + 1, { data: "x".repeat(1000) }));
  await using server = serve((request) => {
    const query = new URL(request.url).searchParams;
    const limit = Number(query.get("limit")), from = Number(query.get("continue") ?? 0);
    const next = from + limit < items.length ? String(from + limit) : undefined;
    return Response.json(page(50, items.slice(from, from + limit), next));
  }, { mostBytes: 10_000 });
  const listing = await list(server.kube, widgets);
  assertEquals(listing.resourceVersion, "50");
  assertEquals(listing.objects, items);
});

Deno.test("after 401 other credentials are tried, once", async () => {
  let token = "old";
  const rejected: (string | undefined)[] = [];
  const cluster: Partial<Cluster> = {
    credentials: () => Promise.resolve({ tls: {}, authorization: `Bearer ${token}` }),
    reject: ({ authorization }) => {
      rejected.push(authorization);
      token = "new";
    },
  };
  await using server = serve(
    (request) =>
      request.headers.get("authorization") === "Bearer new"
        ? Response.json({})
        : status(401, "Unauthorized", "no"),
    {},
    cluster,
  );
  await server.kube.create(widgets, widget("a", 1));
  assertEquals(rejected, ["Bearer old"]);
  assertEquals(server.requests.length, 2);

  await using strict = serve(() => status(401, "Unauthorized", "no"), {}, cluster);
  await assertRejects(() => strict.kube.get(widgets, { namespace: "a", name: "b" }), KubeError, "401");
  assertEquals(strict.requests.length, 2);
});

Deno.test("warnings of the server are logged, each once", async () => {
  const warnings: unknown[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => warnings.push(fields?.warning) };
  await using server = serve(
    () => Response.json({}, { headers: { warning: '299 - "v1beta1 is \\"old\\"", 299 - "use v1"' } }),
    { log },
  );
  for (let i = 0; i < 2; i++) await server.kube.get(widgets, { namespace: "a", name: "b" });
  assertEquals(warnings, ['v1beta1 is "old"', "use v1"]);
});

Deno.test("streams: bytes, values, errors, cancellation", async () => {
  const gone = Promise.withResolvers<void>();
  await using server = serve((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/refused") return status(403, "Forbidden", "no");
    if (pathname === "/endless") {
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("1\n")),
          cancel: () => gone.resolve(),
        }),
      );
    }
    return new Response('{"a":1}\n{"b":"ä"}\n');
  });
  const { kube } = server;
  const bytes = await kube.performRequest({ method: "GET", path: "/lines", expectStream: true });
  assertEquals(await new Response(bytes).text(), '{"a":1}\n{"b":"ä"}\n');
  const values = await kube.performRequest({
    method: "GET",
    path: "/lines",
    expectStream: true,
    expectJson: true,
  });
  assertEquals(await Array.fromAsync(values), [{ a: 1 }, { b: "ä" }]);
  await assertRejects(
    () => kube.performRequest({ method: "GET", path: "/refused", expectStream: true }),
    KubeError,
    "403",
  );
  const endless = await kube.performRequest({ method: "GET", path: "/endless", expectStream: true });
  const reader = endless.getReader();
  await reader.read();
  await reader.cancel();
  await gone.promise;
});

Deno.test("a stream is not asked for again: whoever reads it resumes it", async () => {
  await using server = serve(() => status(503, "", "later"));
  const options = { method: "GET", path: "/", expectStream: true } as const;
  await assertRejects(() => server.kube.performRequest(options), KubeError, "503");
  assertEquals(server.requests.length, 1);
});

Deno.test("nothing stays behind on a signal that lives long", async () => {
  await using server = serve((_, nth) => nth === 2 ? status(404, "", "no") : new Response('{"a":1}\n'));
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  await server.kube.get(widgets, { namespace: "a", name: "b" }, signal);
  await assertRejects(() => server.kube.get(widgets, { namespace: "a", name: "b" }, signal), KubeError);
  const options = { method: "GET", path: "/", expectStream: true, abortSignal: signal } as const;
  await Array.fromAsync(await server.kube.performRequest({ ...options, expectJson: true }));
  const stream = await server.kube.performRequest(options);
  assertEquals(listeners, 1, "an open stream listens");
  await stream.cancel();
  assertEquals(listeners, 0);
});

Deno.test("abort ends a stream with its reason", async () => {
  await using server = serve(() =>
    new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array(1)) }))
  );
  const abort = new AbortController();
  const stream = await server.kube.performRequest({
    method: "GET",
    path: "/",
    expectStream: true,
    abortSignal: abort.signal,
  });
  const reader = stream.getReader();
  await reader.read();
  const reason = new Error("enough");
  const reading = reader.read();
  abort.abort(reason);
  assertEquals(await reading.catch((error) => error), reason);
});

Deno.test("a stream that was given up as silent takes its connection out of use, but not from others", async () => {
  const clients: unknown[] = [];
  const spy: typeof fetch = (input, init) => {
    clients.push((init as { client?: unknown }).client);
    return fetch(input, init);
  };
  await using server = serve(
    () => new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([10])) })),
    { fetch: spy },
  );
  const open = (abortSignal: AbortSignal) =>
    server.kube.performRequest({ method: "GET", path: "/", expectStream: true, abortSignal });
  const ends = [1, 2, 3, 4].map(() => new AbortController());
  const streams: ReadableStream[] = [];
  for (const [i, { signal }] of ends.entries()) {
    streams.push(await open(signal));
    // The second ends as any other does.
    if (i === 1) ends[1]?.abort(new Error("enough"));
    if (i === 2) ends[2]?.abort(new SilentError("silent"));
  }
  assertEquals(clients.map((client) => client === clients[0]), [true, true, true, false]);
  const [first] = streams;
  const reader = first!.getReader();
  assertEquals((await reader.read()).done, false);
  await reader.cancel();
  for (const stream of streams.slice(1)) await stream.cancel().catch(() => {});
});

Deno.test("once a server that was out of reach answers again, streams that heard nothing meanwhile begin anew", async () => {
  for (const heard of [false, true]) {
    const clock = new FakeClock(), hanging = Promise.withResolvers<void>();
    const release = Promise.withResolvers<Response>();
    let tell = () => {};
    await using server = serve((request) => {
      if (request.url.endsWith("/hangs")) {
        hanging.resolve();
        return release.promise;
      }
      if (!request.url.endsWith("/stream")) return Response.json({});
      return new Response(
        new ReadableStream({
          start(controller) {
            tell = () => controller.enqueue(new Uint8Array([10]));
            tell();
          },
        }),
      );
    }, { clock });
    const stream = await server.kube.performRequest({ method: "GET", path: "/stream", expectStream: true });
    const reader = stream.getReader();
    await reader.read();
    await clock.advance(1000);
    const asked = new AbortController();
    const rejected = assertRejects(
      () => server.kube.performRequest({ method: "GET", path: "/hangs", abortSignal: asked.signal }),
      SilentError,
    );
    await hanging.promise;
    await clock.advance(1000);
    if (heard) {
      tell();
      await reader.read();
    }
    asked.abort(new SilentError("no answer in time"));
    await rejected;
    await server.kube.performRequest({ method: "GET", path: "/answers" });
    if (heard) {
      tell();
      assertEquals((await reader.read()).done, false);
      await reader.cancel();
    } else {
      await assertRejects(() => reader.read(), SilentError, "the server was out of reach");
    }
    release.resolve(new Response());
  }
});

Deno.test("a connection with streams by which nothing comes is asked every 15 s, and given up after 10 s without an answer", async () => {
  const clock = new FakeClock(), asked: (() => void)[] = [];
  let next = Promise.withResolvers<void>(), open: Promise<void> = Promise.resolve();
  const never = Promise.withResolvers<void>();
  await using server = serve(async (request) => {
    if (request.url.endsWith("/stream")) {
      return new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([10])) }));
    }
    assert(request.url.endsWith("/livez"), request.url);
    asked.push(next.resolve);
    next.resolve();
    await open;
    return new Response("no", { status: 403 });
  }, { clock });
  const stream = await server.kube.performRequest({ method: "GET", path: "/stream", expectStream: true });
  const reader = stream.getReader();
  await reader.read();
  for (const round of [1, 2]) {
    await clock.advance(14_999);
    assertEquals(asked.length, round - 1);
    await clock.advance(1);
    await next.promise;
    // The answer arrives when it does: the clock has another timer by then.
    while (clock.next !== 15_000) await settle();
    next = Promise.withResolvers();
  }
  open = never.promise;
  await clock.advance(15_000);
  await next.promise;
  const ended = assertRejects(() => reader.read(), SilentError, "the server was out of reach");
  await clock.advance(10_000);
  await ended;
  assertEquals([asked.length, clock.pending], [3, 0]);
  never.resolve();
});

Deno.test("the API classes work on it", async () => {
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "x", namespace: "default", resourceVersion: "1" },
    spec: { holderIdentity: "me", renewTime: "2026-01-01T00:00:00.000001Z" },
  };
  await using server = serve(() => Response.json(lease));
  const api = new CoordinationV1Api(server.kube).myNamespace();
  const read = await api.getLease("x");
  assertEquals(read.spec?.renewTime?.micros, 1);
  await api.replaceLease("x", read);
  assertEquals(server.requests[1]?.method, "PUT");
  const sent = await server.requests[1]?.json();
  assertEquals(sent.spec, lease.spec);
  assert(server.requests[1]?.url.endsWith("/apis/coordination.k8s.io/v1/namespaces/default/leases/x"));
});
