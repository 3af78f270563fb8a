import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import { ConnectionError } from "../../kube/errors.ts";
import type { WatchEvent } from "../../kube/types.ts";
import { watch, type WatchHealth, type WatchOptions } from "../../kube/watch.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { page, ScriptedClient, widget, widgets } from "./scripted_client.ts";

/** A watch that runs by itself, whose events are collected. */
class Run implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly server = new ScriptedClient();
  readonly health: WatchHealth[] = [];
  readonly #abort = new AbortController();
  readonly #events: WatchEvent<ApiObject>[] = [];
  readonly #done: Promise<void>;

  constructor(options: Partial<WatchOptions<ApiObject>> = {}) {
    this.#done = (async () => {
      const events = watch(this.server, widgets, {
        clock: this.clock,
        random: () => 0,
        health: (health) => this.health.push(health),
        signal: this.#abort.signal,
        ...options,
      });
      for await (const event of events) this.#events.push(event);
    })();
  }

  /** The events since the last call. */
  async raw(): Promise<WatchEvent<ApiObject>[]> {
    for (let turn = 0; turn < 3; turn++) await settle();
    return this.#events.splice(0);
  }

  /** The events since the last call, in short: `set a@5`. */
  async events(): Promise<string[]> {
    const short = ({ metadata }: ApiObject) => `${metadata.name}@${metadata.resourceVersion}`;
    return (await this.raw()).map((event) =>
      event.type === "replace"
        ? `replace ${event.objects.map(short).join(" ")}`.trim()
        : `${event.type} ${short(event.object)}`
    );
  }

  /** Answers the first list with nothing, at resource version 1, and opens the watch. */
  async begin(items: readonly ApiObject[] = []) {
    (await this.server.next()).answer(page(1, items));
    const asked = await this.server.next();
    const wire = asked.open();
    await this.events();
    return wire;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#done;
    assertEquals(this.clock.pending, 0, "timers are left behind");
  }
}

Deno.test("lists in pages, replaces once, then follows from there", async () => {
  await using run = new Run({ labelSelector: "app=web", namespace: "shop" });
  const first = await run.server.next();
  assertEquals([first.method, first.path], ["GET", "/apis/example.com/v1/namespaces/shop/widgets"]);
  assertEquals(first.query, { labelSelector: "app=web", limit: "500" });
  first.answer(page(10, [widget("a", 3)], "token"));
  const second = await run.server.next();
  assertEquals(second.query, { labelSelector: "app=web", limit: "500", continue: "token" });
  assertEquals(await run.events(), []);
  second.answer(page(10, [widget("b", 4)]));

  const asked = await run.server.next();
  assertEquals(asked.query, {
    labelSelector: "app=web",
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: "10",
    timeoutSeconds: "300",
  });
  assertEquals(asked.options.expectStream, true);
  assertEquals(await run.events(), ["replace a@3 b@4"]);
  const wire = asked.open();
  wire.send("ADDED", widget("c", 11));
  wire.send("MODIFIED", widget("a", 12));
  wire.send("DELETED", widget("b", 13));
  assertEquals(await run.events(), ["set c@11", "set a@12", "delete b@13"]);
  assertEquals(run.health, [{ state: "watching" }]);
});

Deno.test("asks for metadata alone, and keeps no more even of a server that sends it", async () => {
  await using run = new Run({ metadataOnly: true });
  const listed = await run.server.next();
  const partial = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };
  assertEquals(
    listed.options.accept,
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
  );
  listed.answer(page(10, [{ ...widget("a", 3), ...partial }, widget("b", 4, { spec: { large: true } })]));
  const watched = await run.server.next();
  assertEquals(
    watched.options.accept,
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
  );
  const wire = watched.open();
  wire.send("MODIFIED", { ...widget("a", 11), ...partial });
  wire.send("BOOKMARK", { ...partial, metadata: { resourceVersion: "12" } });
  assertEquals(await run.raw(), [
    { type: "replace", objects: [widget("a", 3), widget("b", 4)] },
    { type: "set", object: widget("a", 11) },
  ]);
});

Deno.test("resumes from the last event or bookmark when the server ends the stream", async () => {
  await using run = new Run();
  const wire = await run.begin();
  wire.send("ADDED", widget("a", 5));
  await run.events();
  wire.end();
  const second = await run.server.next();
  assertEquals(second.query.resourceVersion, "5");
  const again = second.open();
  again.send("BOOKMARK", { kind: "Widget", metadata: { resourceVersion: "9" } });
  await run.events();
  again.end();
  assertEquals((await run.server.next()).query.resourceVersion, "9");
  assertEquals(await run.events(), []);
});

Deno.test("a resource version that is known already says nothing new", async () => {
  await using run = new Run();
  const wire = await run.begin([widget("a", 1)]);
  wire.send("ADDED", widget("a", 1));
  wire.send("MODIFIED", widget("a", 2));
  wire.send("MODIFIED", widget("a", 2));
  wire.send("DELETED", widget("b", 3));
  assertEquals(await run.events(), ["set a@2"]);
  // The same name again, but another object.
  wire.send("ADDED", { ...widget("a", 2), metadata: { ...widget("a", 2).metadata, uid: "other" } });
  assertEquals(await run.events(), ["set a@2"]);
});

for (
  const [name, expire] of [
    [
      "as an event",
      (wire) => wire.send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" }),
    ],
    ["as an answer", async (wire, run) => {
      wire.end();
      (await run.server.next()).refuse(410, { reason: "Expired" });
    }],
  ] as const satisfies readonly (readonly [
    string,
    (wire: Awaited<ReturnType<Run["begin"]>>, run: Run) => void | Promise<void>,
  ])[]
) {
  Deno.test(`410 ${name} replaces everything, at once and in one piece`, async () => {
    await using run = new Run();
    (await run.server.next()).answer(page(1, [widget("a", 1), widget("b", 1)]));
    const wire = (await run.server.next()).open();
    const [before] = await run.raw();
    wire.send("ADDED", widget("c", 2));
    await run.events();
    await expire(wire, run);
    const list = await run.server.next();
    assertEquals(list.query, { limit: "500" });
    list.answer(page(9, [widget("a", 1), widget("c", 8)]));
    const [after] = await run.raw();
    assert(before?.type === "replace" && after?.type === "replace");
    assertEquals(after.objects.map((object) => object.metadata.name), ["a", "c"]);
    assertStrictEquals(after.objects[0], before.objects[0], "what has not changed is the same value");
    assertEquals((await run.server.next()).query.resourceVersion, "9");
    assertEquals(run.health, [{ state: "watching" }], "410 is no failure");
  });
}

Deno.test("a server whose lists are always too old is not hurried", async () => {
  await using run = new Run();
  (await run.server.next()).answer(page(1, []));
  (await run.server.next()).refuse(410);
  assert(await run.server.idle());
  await run.clock.advance(800);
  (await run.server.next()).answer(page(2, []));
  (await run.server.next()).refuse(410);
  await run.clock.advance(1599);
  assert(await run.server.idle());
  await run.clock.advance(1);
  assertEquals((await run.server.next()).query.limit, "500");
});

Deno.test("410 in the middle of a list begins the list again", async () => {
  await using run = new Run();
  (await run.server.next()).answer(page(1, [widget("a", 1)], "token"));
  (await run.server.next()).refuse(410, { reason: "Expired" });
  const again = await run.server.next();
  assertEquals(again.query, { limit: "500" });
  again.answer(page(5, [widget("b", 4)]));
  assertEquals(await run.events(), ["replace b@4"]);
});

Deno.test("failures are met with growing pauses, which two minutes of health make short again", async () => {
  await using run = new Run();
  const refused = new ConnectionError("Cannot GET /: connection refused");
  (await run.server.next()).fail(refused);
  for (const pause of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
    await run.clock.advance(pause - 1);
    assert(await run.server.idle(), `asked before ${pause} ms`);
    await run.clock.advance(1);
    (await run.server.next()).fail(refused);
  }
  assertEquals(run.health, [{ state: "failing", error: refused }]);
  await run.clock.advance(30_000);
  (await run.server.next()).answer(page(1, []));
  const wire = (await run.server.next()).open();
  await run.clock.advance(119_999);
  wire.break(refused);
  await run.clock.advance(29_999);
  assert(await run.server.idle(), "not yet healthy for two minutes");
  await run.clock.advance(1);
  const healthy = (await run.server.next()).open();
  await run.clock.advance(120_000);
  healthy.break(refused);
  await run.clock.advance(800);
  assertEquals((await run.server.next()).query.resourceVersion, "1", "resumes, does not list");
  assertEquals(run.health.map(({ state }) => state), [
    "failing",
    "watching",
    "failing",
    "watching",
    "failing",
  ]);
});

Deno.test("a stream that is cut at any byte loses and doubles nothing", async () => {
  const text = [widget("ä", 2), widget("b", 3), widget("日本", 4)]
    .map((object) => JSON.stringify({ type: "ADDED", object }) + "\n").join("");
  const bytes = new TextEncoder().encode(text);
  const ends = [...bytes].flatMap((byte, i) => byte === 10 ? [i] : []);
  for (let cut = 0; cut <= bytes.length; cut++) {
    await using run = new Run();
    const wire = await run.begin();
    // In two chunks, which also cuts in the middle of characters.
    wire.bytes(bytes.subarray(0, cut >> 1));
    wire.bytes(bytes.subarray(cut >> 1, cut));
    const complete = ends.filter((end) => end < cut).length;
    assertEquals(
      await run.events(),
      ["set ä@2", "set b@3", "set 日本@4"].slice(0, complete),
      `cut at ${cut}`,
    );
    wire.break(new ConnectionError("Cannot GET /: connection reset"));
    await run.clock.advance(800);
    assertEquals((await run.server.next()).query.resourceVersion, String(complete + 1));
  }
});

Deno.test("many events in one chunk, one event in many chunks", async () => {
  await using run = new Run();
  const wire = await run.begin();
  const line = (n: number) => JSON.stringify({ type: "ADDED", object: widget(`w${n}`, n) }) + "\n";
  wire.bytes([2, 3, 4].map(line).join("\n"));
  for (const byte of new TextEncoder().encode(line(5))) wire.bytes(new Uint8Array([byte]));
  assertEquals(await run.events(), ["set w2@2", "set w3@3", "set w4@4", "set w5@5"]);
});

const malformed: { readonly [name: string]: string } = {
  "no JSON": "{",
  "no object": '{"type":"ADDED"}',
  "null": "null",
  "a number": "1",
  "an unknown type": JSON.stringify({ type: "MOVED", object: widget("a", 2) }),
  "no version": JSON.stringify({ type: "ADDED", object: { metadata: { name: "a" } } }),
  "no name": JSON.stringify({ type: "ADDED", object: { metadata: { resourceVersion: "7" } } }),
  "an empty bookmark": JSON.stringify({ type: "BOOKMARK", object: {} }),
  "too long a line": "x".repeat(17 * 1024 * 1024),
};

for (const [name, line] of Object.entries(malformed)) {
  Deno.test(`a line with ${name} makes it list again, after a pause`, async () => {
    await using run = new Run();
    const wire = await run.begin();
    wire.send("ADDED", widget("a", 2));
    wire.bytes(line + "\n");
    assertEquals(await run.events(), ["set a@2"]);
    assert(wire.cancelled);
    await run.clock.advance(800);
    const list = await run.server.next();
    assertEquals(list.query, { limit: "500" });
    list.answer(page(9, [widget("b", 8)]));
    assertEquals(await run.events(), ["replace b@8"]);
    assertEquals(run.health.at(-1)?.state, "failing");
  });
}

Deno.test("an error event that is not 410 resumes after a pause", async () => {
  await using run = new Run();
  const wire = await run.begin();
  wire.send("ERROR", { kind: "Status", code: 504, reason: "Timeout", message: "Too large resource version" });
  await run.clock.advance(799);
  assert(await run.server.idle());
  await run.clock.advance(1);
  assertEquals((await run.server.next()).query.resourceVersion, "1");
});

Deno.test("a stream that is silent past its time is cut and resumed", async () => {
  await using run = new Run();
  const wire = await run.begin();
  await run.clock.advance(310_000 - 1);
  assert(!wire.cancelled);
  await run.clock.advance(1);
  assert(wire.cancelled);
  assertEquals((await run.server.next()).query.resourceVersion, "1");
  assertEquals(run.health, [{ state: "watching" }], "that is no failure");
});

Deno.test("where bookmarks come, three minutes without a word are enough", async () => {
  await using run = new Run();
  const wire = await run.begin();
  wire.send("BOOKMARK", { metadata: { resourceVersion: "5" } });
  await run.events();
  wire.end();
  const next = (await run.server.next()).open();
  await run.clock.advance(100_000);
  next.send("BOOKMARK", { metadata: { resourceVersion: "6" } });
  await run.events();
  await run.clock.advance(179_999);
  assert(!next.cancelled);
  await run.clock.advance(1);
  assert(next.cancelled);
  assertEquals((await run.server.next()).query.resourceVersion, "6");
});

Deno.test("a bookmark tells in the very first stream that three minutes without a word are enough", async () => {
  for (const after of [60_000, 200_000]) {
    await using run = new Run({ random: () => 0.99 });
    const wire = await run.begin();
    await run.clock.advance(after);
    wire.send("BOOKMARK", { metadata: { resourceVersion: "5" } });
    await run.events();
    await run.clock.advance(179_999);
    assert(!wire.cancelled);
    await run.clock.advance(1);
    assert(wire.cancelled);
    assertEquals((await run.server.next()).query.resourceVersion, "5");
  }
});

Deno.test("streams that end at once are met with pauses", async () => {
  await using run = new Run();
  const wire = await run.begin();
  wire.end();
  await settle();
  assert(await run.server.idle());
  await run.clock.advance(800);
  (await run.server.next()).open().end();
  await run.clock.advance(1599);
  assert(await run.server.idle());
  await run.clock.advance(1);
  assertEquals((await run.server.next()).query.resourceVersion, "1");
});

for (const status of [401, 403]) {
  Deno.test(`${status} is reported and tried again; what was known stays`, async () => {
    await using run = new Run();
    const wire = await run.begin([widget("a", 1)]);
    wire.break(new ConnectionError("Cannot GET /: connection reset"));
    await run.clock.advance(800);
    (await run.server.next()).refuse(status, { message: "no" });
    await run.clock.advance(1600);
    (await run.server.next()).open().send("MODIFIED", widget("a", 2));
    assertEquals(await run.events(), ["set a@2"]);
    assertEquals(run.health.map(({ state }) => state), ["watching", "failing", "watching"]);
  });
}

Deno.test("what was listed once is not denied, and asked for again as after any failure", async () => {
  await using run = new Run({ denied: 600_000 });
  const wire = await run.begin([widget("a", 1)]);
  wire.send("MODIFIED", widget("a", 2));
  wire.send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" });
  (await run.server.next()).refuse(403);
  assertEquals(await run.events(), ["set a@2"]);
  assertEquals(run.health.map(({ state }) => state), ["watching", "failing"]);
  await run.clock.advance(800);
  (await run.server.next()).answer(page(3, [widget("a", 2)]));
  assertEquals(await run.events(), ["replace a@2"]);
});

Deno.test("who is not known denies nothing", async () => {
  await using run = new Run({ denied: 600_000 });
  (await run.server.next()).refuse(401);
  await run.clock.advance(800);
  (await run.server.next()).refuse(403);
  assertEquals(await run.events(), []);
  assertEquals(run.health.map(({ state }) => state), ["failing", "denied"]);
});

Deno.test("what is denied after it was absent is denied, and told anew once it is absent again", async () => {
  await using run = new Run({ denied: 600_000 });
  for (
    const [status, state, pause] of [[404, "absent", 30_000], [403, "denied", 600_000], [
      404,
      "absent",
      0,
    ]] as const
  ) {
    (await run.server.next()).refuse(status);
    assertEquals(await run.events(), status === 404 ? ["replace"] : []);
    assertEquals(run.health.at(-1)?.state, state);
    await run.clock.advance(pause);
  }
});

Deno.test("what is denied is asked for again as rarely as one likes", async () => {
  await using run = new Run({ denied: 600_000 });
  for (let i = 0; i < 3; i++) {
    const next = await run.server.next();
    if (i === 2) return next.answer(page(1, [widget("a", 1)]));
    next.refuse(403);
    await run.clock.advance(599_000);
    assertEquals(await run.events(), []);
    await run.clock.advance(1_000);
  }
});

Deno.test("a kind that is not installed has no objects, and appears once it is", async () => {
  const installed = Promise.withResolvers<void>();
  await using run = new Run({ installed: () => installed.promise });
  (await run.server.next()).refuse(404);
  assertEquals(await run.events(), ["replace"]);
  assertEquals(run.health, [{ state: "absent" }]);
  await run.clock.advance(30_000);
  (await run.server.next()).refuse(404);
  assertEquals(await run.events(), [], "told once");
  installed.resolve();
  await settle();
  (await run.server.next()).answer(page(1, [widget("a", 1)]));
  const wire = (await run.server.next()).open();
  assertEquals(await run.events(), ["replace a@1"]);
  assertEquals(run.health.at(-1), { state: "watching" });

  // And is taken away again.
  wire.send("BOOKMARK", { metadata: { resourceVersion: "5" } });
  await run.events();
  wire.end();
  (await run.server.next()).refuse(404);
  assertEquals(await run.events(), ["replace"]);
  assertEquals(run.health.at(-1), { state: "absent" });
});

Deno.test("asks for the version that is served", async () => {
  const served: { version?: string } = {};
  await using run = new Run({ version: () => served.version });
  assertEquals(await run.events(), ["replace"]);
  assert(await run.server.idle());
  served.version = "v1beta1";
  await run.clock.advance(30_000);
  const list = await run.server.next();
  assertEquals(list.path, "/apis/example.com/v1beta1/widgets");
  const { apiVersion: _, kind: __, ...bare } = widget("a", 1);
  list.answer(page(1, [bare]));
  const [event] = await run.raw();
  assert(event?.type === "replace");
  assertEquals(event.objects[0]?.apiVersion, "example.com/v1beta1", "a list does not say it itself");
  assertEquals(event.objects[0]?.kind, "Widget");
  assertEquals((await run.server.next()).path, "/apis/example.com/v1beta1/widgets");
});

Deno.test("objects are trimmed before anybody holds them", async () => {
  await using run = new Run();
  const fat = (version: number, annotations: Record<string, string>) => {
    const object = widget("a", version, { spec: { x: 1 } });
    const managedFields = [{ manager: "kubectl" }];
    return { ...object, metadata: { ...object.metadata, managedFields, annotations } };
  };
  const applied = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
  (await run.server.next()).answer(page(1, [fat(1, applied)]));
  (await run.server.next()).open().send("MODIFIED", fat(2, { ...applied, mine: "1" }));
  const [first, second] = await run.raw();
  assert(first?.type === "replace" && second?.type === "set");
  assertEquals(first.objects[0], widget("a", 1, { spec: { x: 1 } }));
  assertEquals(second.object.metadata.annotations, { mine: "1" });
  assert(!("managedFields" in second.object.metadata));
});

Deno.test("ends on abort and cancels the stream, wherever it is", async () => {
  const streaming = new Run();
  const wire = await streaming.begin();
  await streaming[Symbol.asyncDispose]();
  assert(wire.cancelled);

  const listing = new Run();
  await listing.server.next();
  await listing[Symbol.asyncDispose]();

  const pausing = new Run();
  (await pausing.server.next()).refuse(500);
  await pausing.events();
  await pausing[Symbol.asyncDispose]();
});

Deno.test("who leaves the loop leaves nothing behind", async () => {
  const clock = new FakeClock();
  const server = new ScriptedClient();
  const { signal } = new AbortController();
  const events = watch(server, widgets, { clock, signal });
  const first = events.next();
  (await server.next()).answer(page(1, []));
  await first;
  const second = events.next();
  const wire = (await server.next()).open();
  wire.send("ADDED", widget("a", 2));
  await second;
  await events.return(undefined);
  assert(wire.cancelled);
  assertEquals(clock.pending, 0);
});
