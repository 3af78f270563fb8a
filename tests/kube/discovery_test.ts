import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Kind, Version } from "../../crds/kind.ts";
import { Discovery } from "../../kube/discovery.ts";
import { ConnectionError, KubeError } from "../../kube/errors.ts";
import { watch } from "../../kube/watch.ts";
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

/** Answers one round of questions; a path that is not there is 404. */
async function answer(server: ScriptedClient, paths: Readonly<Record<string, object>>): Promise<string[]> {
  const asked: Asked[] = [];
  while (!await server.idle()) asked.push(await server.next());
  for (const question of asked) {
    const found = paths[question.path];
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

Deno.test("half an answer changes nothing", async () => {
  const { server, discovery } = make();
  const first = discovery.refresh();
  await answer(server, { "/apis/example.com/v1": resources(kind) });
  await first;
  const second = discovery.refresh();
  const rejected = assertRejects(() => second, KubeError);
  for (const refused of [true, false, false]) {
    const asked = await server.next();
    if (refused) asked.refuse(503);
    else asked.refuse(404);
  }
  await rejected;
  assertEquals(discovery.versionOf(kind), "v1");
});

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
  discovery.poke();
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
