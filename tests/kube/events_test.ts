import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import { ConnectionError } from "../../kube/errors.ts";
import { EventRecorder, type Occurrence } from "../../kube/events.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { type Asked, ScriptedClient, widget } from "./scripted_client.ts";

interface Sent {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly [field: string]: unknown;
}

class Run implements AsyncDisposable {
  readonly server = new ScriptedClient();
  readonly clock = new FakeClock("2026-01-01T00:00:00Z");
  readonly recorder: EventRecorder;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;

  constructor() {
    let id = 0;
    this.recorder = new EventRecorder(this.server, {
      clock: this.clock,
      controller: "gatehouse.dev/gateway-controller",
      instance: "gatehouse-0",
      id: () => String(++id),
    });
    this.#done = this.recorder.run(this.#abort.signal);
  }

  record(more: Partial<Occurrence> = {}): void {
    this.recorder.record({
      regarding: widget("web", 7),
      type: "Warning",
      reason: "NoAddress",
      action: "Program",
      note: "No address is free",
      ...more,
    });
  }

  /** The next request, which is answered. */
  async sent(): Promise<{ readonly asked: Asked; readonly body: Sent }> {
    const asked = await this.server.next();
    const body = JSON.parse(JSON.stringify(asked.options.bodyJson));
    asked.answer(asked.method === "PATCH" ? event : body);
    await settle();
    return { asked, body };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#done;
    assertEquals(this.clock.pending, 0);
  }
}

const event = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name: "web.1", namespace: "default" },
  eventTime: "2026-01-01T00:00:00.000000Z",
};

Deno.test("an occurrence becomes an Event", async () => {
  await using run = new Run();
  run.record();
  const { asked, body } = await run.sent();
  assertEquals([asked.method, asked.path], ["POST", "/apis/events.k8s.io/v1/namespaces/default/events"]);
  assertEquals<unknown>(body, {
    ...event,
    reportingController: "gatehouse.dev/gateway-controller",
    reportingInstance: "gatehouse-0",
    type: "Warning",
    reason: "NoAddress",
    action: "Program",
    note: "No address is free",
    regarding: {
      apiVersion: "example.com/v1",
      kind: "Widget",
      namespace: "default",
      name: "web",
      uid: "uid-web",
      resourceVersion: "7",
    },
  });
});

Deno.test("repetitions are counted: the first is told at once, more once a minute", async () => {
  await using run = new Run();
  run.record();
  await run.sent();
  // The object may have changed meanwhile; it is the same trouble.
  run.record({ regarding: widget("web", 8) });
  const { asked, body } = await run.sent();
  assertEquals([asked.method, asked.path], [
    "PATCH",
    "/apis/events.k8s.io/v1/namespaces/default/events/web.1",
  ]);
  assertEquals<unknown>(body, [{
    op: "add",
    path: "/series",
    value: { count: 2, lastObservedTime: "2026-01-01T00:00:00.000000Z" },
  }]);
  await run.clock.advance(1000);
  for (let i = 0; i < 10; i++) run.record();
  assert(await run.server.idle());
  await run.clock.advance(60_000);
  const third = await run.sent();
  assertEquals<unknown>(third.body, [{
    op: "add",
    path: "/series",
    value: { count: 12, lastObservedTime: "2026-01-01T00:00:01.000000Z" },
  }]);
  await run.clock.advance(300_000);
  assert(await run.server.idle(), "nothing new, nothing told");
});

Deno.test("what is told before it was sent, and what differs in anything", async () => {
  await using run = new Run();
  run.record();
  run.record();
  assertEquals((await run.sent()).body.series, { count: 2, lastObservedTime: "2026-01-01T00:00:00.000000Z" });
  run.record({ note: "Another" });
  run.record({ reason: "Another" });
  run.record({ type: "Normal" });
  run.record({ regarding: widget("other", 1) });
  for (let i = 0; i < 4; i++) assertEquals((await run.sent()).asked.method, "POST");
  assert(await run.server.idle());
});

Deno.test("after six quiet minutes it is a new event", async () => {
  await using run = new Run();
  run.record();
  await run.sent();
  await run.clock.advance(360_000);
  run.record();
  const { asked, body } = await run.sent();
  assertEquals(asked.method, "POST");
  assertEquals(body.metadata.name, "web.2");
});

Deno.test("an Event that the server has dropped is told anew", async () => {
  await using run = new Run();
  run.record();
  await run.sent();
  run.record();
  (await run.server.next()).refuse(404);
  const { asked, body } = await run.sent();
  assertEquals(asked.method, "POST");
  assertEquals(body.series, { count: 2, lastObservedTime: "2026-01-01T00:00:00.000000Z" });
});

Deno.test("what cannot be sent is tried again a few times, then dropped; the next is not held up for ever", async () => {
  await using run = new Run();
  run.record();
  run.record({ note: "next" });
  for (const pause of [1000, 2000, 4000, 8000]) {
    (await run.server.next()).fail(new ConnectionError("Cannot reach it"));
    await settle();
    assert(await run.server.idle());
    await run.clock.advance(pause);
  }
  (await run.server.next()).fail(new ConnectionError("Cannot reach it"));
  assertEquals((await run.sent()).body.note, "next");
  assertEquals(run.recorder.dropped, 1);
});

Deno.test("a refusal is not tried again", async () => {
  await using run = new Run();
  run.record();
  run.record({ note: "next" });
  (await run.server.next()).refuse(403);
  assertEquals((await run.sent()).body.note, "next");
});

Deno.test("an object that causes ever other events is cut short", async () => {
  await using run = new Run();
  for (let i = 0; i < 100; i++) run.record({ note: `port ${i}` });
  assertEquals(run.recorder.dropped, 75);
  run.record({ regarding: widget("other", 1) });
  assertEquals(run.recorder.dropped, 75);
  for (let i = 0; i < 26; i++) await run.sent();
  await run.clock.advance(300_000);
  run.record({ note: "after five minutes" });
  assertEquals((await run.sent()).body.note, "after five minutes");
});

Deno.test("recording is bounded and never blocks", () => {
  const recorder = new EventRecorder(new ScriptedClient(), {
    clock: new FakeClock(),
    controller: "c",
    instance: "i",
  });
  const of = (i: number): Occurrence => ({
    regarding: widget(`w${i}`, 1),
    type: "Normal",
    reason: "R",
    action: "A",
    note: "n",
  });
  for (let i = 0; i < 2000; i++) recorder.record(of(i));
  assertEquals(recorder.dropped, 1500);
});

Deno.test("long texts are cut to what the server takes, cluster-wide objects are told in default", async () => {
  await using run = new Run();
  const regarding: ApiObject = { apiVersion: "v1", kind: "Node", metadata: { name: "x".repeat(253) } };
  run.record({ regarding, note: "ä".repeat(1000), reason: "R".repeat(200) });
  const { body } = await run.sent();
  const bytes = (text: unknown) => new TextEncoder().encode(String(text)).length;
  assert(bytes(body.note) <= 1024 && bytes(body.note) > 1000);
  assertMatch(String(body.note), /^ä+…$/);
  assertEquals(bytes(body.reason), 128);
  assertEquals(body.metadata.namespace, "default");
  assert(body.metadata.name.length <= 253);
});
