import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Kind, Version } from "../../crds/kind.ts";
import { Discovery } from "../../kube/discovery.ts";
import { ConnectionError, KubeError } from "../../kube/errors.ts";
import { watch, type WatchHealth } from "../../kube/watch.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { type Asked, page, ScriptedClient, widget, widgets } from "./scripted_client.ts";

const [v1] = widgets.versions;
const beta: Version = { ...v1, name: "v1beta1", storage: false };
const kind: Kind = { ...widgets, versions: [v1, beta] };
const gadgets: Kind = { ...widgets, kind: "Gadget", plural: "gadgets", versions: [beta] };
const secrets: Kind = { ...widgets, group: "", kind: "Secret", plural: "secrets" };

function resources(...kinds: readonly Kind[]): object {
  return {
    kind: "APIResourceList",
    resources: kinds.flatMap(({ plural, kind }) => [
      { name: plural, kind, verbs: ["get", "list", "watch"] },
      { name: `${plural}/status`, kind, verbs: ["get"] },
    ]),
  };
}

/** Answers one round of questions; a path that is not there is 404, but for that of the core, which is empty. */
async function answer(server: ScriptedClient, paths: Readonly<Record<string, object>>): Promise<string[]> {
  const asked: Asked[] = [];
  while (!await server.idle()) asked.push(await server.next());
  for (const question of asked) {
    const found = paths[question.path] ?? (question.path === "/api/v1" ? resources() : undefined);
    if (found) question.answer(found);
    else question.refuse(404);
  }
  await settle();
  return asked.map(({ path }) => path).sort();
}

function make() {
  const server = new ScriptedClient(), clock = new FakeClock();
  return { server, clock, discovery: new Discovery(server, [kind, gadgets, secrets], { clock }) };
}

Deno.test("asks once for each group and version, and prefers the storage version", async () => {
  const { server, discovery } = make();
  assertEquals(discovery.versionOf(kind), undefined);
  const first = discovery.refresh();
  const asked = await answer(server, {
    "/apis/example.com/v1": resources(kind),
    "/apis/example.com/v1beta1": resources(kind, gadgets),
    "/api/v1": resources(secrets),
  });
  assertEquals(asked, ["/api/v1", "/apis/example.com/v1", "/apis/example.com/v1beta1"]);
  assertEquals(await first, true);
  assertEquals(discovery.versionOf(kind), "v1");
  assertEquals(discovery.versionsOf(kind), ["v1", "v1beta1"]);
  assertEquals(discovery.versionOf(gadgets), "v1beta1");
  assertEquals(discovery.versionOf(secrets), "v1");
});

Deno.test("an older version serves where ours is not there; a kind that cannot be watched is not served", async () => {
  const { server, discovery } = make();
  const first = discovery.refresh();
  await answer(server, {
    "/apis/example.com/v1beta1": resources(kind),
    "/api/v1": { resources: [{ name: "secrets", kind: "Secret", verbs: ["get"] }] },
  });
  await first;
  assertEquals(discovery.versionOf(kind), "v1beta1");
  assertEquals(discovery.versionOf(gadgets), undefined);
  assertEquals(discovery.versionOf(secrets), undefined);
});

/** Looks once in vain: each request is answered with the next of these. What was known before has to be known after. */
async function lookInVain(...statuses: readonly number[]): Promise<void> {
  const { server, discovery } = make();
  const first = discovery.refresh();
  await answer(server, { "/apis/example.com/v1": resources(kind) });
  await first;
  const second = discovery.refresh();
  const rejected = assertRejects(() => second, KubeError);
  for (const status of statuses) (await server.next()).refuse(status);
  await rejected;
  assertEquals(discovery.versionOf(kind), "v1");
}

Deno.test("half an answer changes nothing", () => lookInVain(503, 404, 404));

Deno.test("a 404 for what every API server has is none of an API server, and changes nothing", () =>
  lookInVain(404, 404, 404));

Deno.test("looks every minute and when poked, tells of changes only, survives failures", async () => {
  const { server, clock, discovery } = make();
  const stop = new AbortController();
  const running = discovery.run(stop.signal);
  let changes = 0;
  const first = discovery.changed(stop.signal).then(() => changes++);
  await clock.advance(59_999);
  assert(await server.idle());
  await clock.advance(1);
  await answer(server, {});
  assertEquals(changes, 0);
  discovery.poke();
  for (let i = 0; i < 3; i++) (await server.next()).fail(new ConnectionError("Cannot reach it"));
  await settle();
  for (let i = 0; i < 10; i++) discovery.poke();
  await clock.advance(499);
  assert(await server.idle(), "who has failed is not asked at once, however many poke");
  await clock.advance(501);
  await answer(server, { "/apis/example.com/v1": resources(kind) });
  await first;
  assertEquals(changes, 1);
  const second = discovery.changed(stop.signal);
  stop.abort(new Error("enough"));
  await assertRejects(() => second, Error, "enough");
  await running;
  assertEquals(clock.pending, 0);
});

Deno.test("after a poke it looks twice, and a poke while it looks is not lost", async () => {
  const { server, clock, discovery } = make();
  const stop = new AbortController();
  const running = discovery.run(stop.signal);
  discovery.poke();
  await settle();
  discovery.poke();
  await answer(server, {});
  await answer(server, {});
  assert(await server.idle());
  await clock.advance(1000);
  await answer(server, {});
  await clock.advance(59_999);
  assert(await server.idle());
  stop.abort();
  await running;
  assertEquals(clock.pending, 0);
});

/** A watch and the discovery that it goes by, both under way: `v1` was served, and has one object. */
async function follow() {
  const { server, clock, discovery } = make();
  const stop = new AbortController(), { signal } = stop, events: string[] = [], health: string[] = [];
  const refreshed = discovery.refresh();
  await answer(server, { "/apis/example.com/v1": resources(kind) });
  await refreshed;
  const looking = discovery.run(signal);
  const watching = (async () => {
    const options = {
      clock,
      version: () => discovery.versionOf(kind),
      installed: (signal: AbortSignal) => discovery.changed(signal),
      doubted: () => discovery.poke(),
      health: ({ state }: WatchHealth) => health.push(state),
      random: () => 0,
      signal,
    };
    for await (const event of watch(server, kind, options)) {
      assert(event.type === "replace");
      events.push(
        `replace ${event.objects.map(({ apiVersion, metadata }) => `${apiVersion} ${metadata.name}`)}`,
      );
    }
  })();
  (await server.next()).answer(page(1, [widget("a", 1)]));
  const wire = (await server.next()).open();
  wire.send("BOOKMARK", { metadata: { resourceVersion: "5" } });
  await settle();
  wire.end();
  return {
    server,
    clock,
    health,
    /** The events since the last call. */
    events: () => events.splice(0),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all([looking, watching]);
    },
  };
}

Deno.test("a kind whose version is served no longer is listed in another one, and never without objects meanwhile", async () => {
  await using run = await follow();
  assertEquals(run.events(), ["replace example.com/v1 a"]);
  (await run.server.next()).refuse(404);
  await answer(run.server, { "/apis/example.com/v1beta1": resources(kind) });
  const list = await run.server.next();
  assertEquals([list.path, list.query.limit], ["/apis/example.com/v1beta1/widgets", "500"]);
  list.answer(page(6, [{ ...widget("a", 1), apiVersion: "example.com/v1beta1" }]));
  await settle();
  assertEquals(
    run.events(),
    ["replace example.com/v1beta1 a"],
    "the same version of it, as another one has it",
  );
});

Deno.test("a stray 404 takes nothing away: what is served is listed again", async () => {
  await using run = await follow();
  (await run.server.next()).refuse(404);
  await answer(run.server, { "/apis/example.com/v1": resources(kind) });
  assert(await run.server.idle());
  await run.clock.advance(800);
  const list = await run.server.next();
  assertEquals([list.path, list.query.limit], ["/apis/example.com/v1/widgets", "500"]);
  list.answer(page(6, [widget("a", 1), widget("b", 6)]));
  (await run.server.next()).open();
  await settle();
  assertEquals(run.events(), [
    "replace example.com/v1 a",
    "replace example.com/v1 a,example.com/v1 b",
  ]);
  assertEquals(run.health, ["watching", "failing", "watching"]);
});

Deno.test("a kind that is served in no version any more has no objects", async () => {
  await using run = await follow();
  (await run.server.next()).refuse(404);
  await answer(run.server, {});
  assertEquals(run.events(), ["replace example.com/v1 a", "replace "]);
  assertEquals(run.health, ["watching", "failing", "absent"]);
});

Deno.test("a watch finds a kind as soon as it is installed", async () => {
  const { server, clock, discovery } = make();
  const stop = new AbortController();
  const events: string[] = [];
  const watching = (async () => {
    const options = {
      clock,
      version: () => discovery.versionOf(kind),
      installed: (signal: AbortSignal) => discovery.changed(signal),
      signal: stop.signal,
    };
    for await (const event of watch(server, kind, options)) {
      events.push(event.type === "replace" ? `replace ${event.objects.length}` : event.type);
    }
  })();
  await settle();
  assertEquals(events, ["replace 0"]);
  const refreshed = discovery.refresh();
  await answer(server, { "/apis/example.com/v1beta1": resources(kind) });
  await refreshed;
  const list = await server.next();
  assertEquals(list.path, "/apis/example.com/v1beta1/widgets");
  list.answer(page(1, [widget("a", 1)]));
  await server.next();
  assertEquals(events, ["replace 0", "replace 1"]);
  stop.abort();
  await watching;
});
