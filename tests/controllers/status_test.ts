/**
 * Writes of statuses: once for each state that was observed, again after a conflict, never after a deletion.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { enqueue, worker } from "../../controllers/controller.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { Queue } from "../../controllers/runtime/queue.ts";
import { statusController, type StatusPatch } from "../../controllers/status.ts";
import { stamp } from "../../controllers/translate/mod.ts";
import { httpRoute } from "../../crds/mod.ts";
import { KubeError } from "../../kube/errors.ts";
import type { Kube, Name, PatchOperation, PatchOptions } from "../../kube/types.ts";
import { FakeClock } from "../support/fake_clock.ts";

const row = "HTTPRoute/default/r";

/**
 * A controller over one table, and what it asked of an API server that answers with `answers`, then with success: with the next
 * version, or the same one where the patch changed nothing.
 */
function rig(answers: readonly (Error | "nothing changed")[] = []) {
  const graph = new Graph(), due = graph.source<StatusPatch>("due"), clock = new FakeClock();
  const asked: {
    readonly name: string;
    readonly operations: readonly PatchOperation[];
    readonly options: PatchOptions;
  }[] = [];
  const left = [...answers];
  const kube = {
    patch: (
      _kind: unknown,
      { name }: Name,
      operations: readonly PatchOperation[],
      options: PatchOptions,
    ) => {
      asked.push({ name, operations, options });
      const answer = left.shift();
      if (answer instanceof Error) return Promise.reject(answer);
      const { value: version } = operations[0] as { readonly value: string };
      const resourceVersion = answer === undefined ? `${Number(version) + 1}` : version;
      return Promise.resolve({ metadata: { resourceVersion } });
    },
  } as unknown as Kube;
  const results: string[] = [], told: string[] = [];
  const controller = statusController({
    due,
    kube,
    kindOf: () => httpRoute,
    versionOf: () => "v1beta1",
    stamp,
    clock,
    // What it returns means nothing to the queue.
    counted: (_, result) => results.push(result),
    told: ({ apiVersion, metadata: { namespace, name, uid } }, transitions) =>
      told.push(`${apiVersion} ${namespace}/${name} ${uid} ${transitions.map(({ type }) => type)}`),
  });
  const queue = new Queue({ name: "status", clock, log: silentLog });
  return {
    graph,
    due,
    controller,
    queue,
    asked,
    results,
    told,
    /** Shows a row at a version of the object, or none, and works as the queue would. */
    async show(resourceVersion: string | undefined) {
      put(resourceVersion);
      return await work();
    },
    put,
    work: () => work(),
    /** How many rows wait for their time, and how many do not. */
    queued: () => [queue.waiting, queue.depth],
    delay: () => controller.delay!(row, due.get(row)!),
    clock,
  };
  function put(resourceVersion: string | undefined, { provisional = false, status = "True" } = {}) {
    if (resourceVersion === undefined) due.delete(row);
    else {due.set(row, {
        kind: "HTTPRoute",
        key: "default/r",
        uid: "u",
        resourceVersion,
        patch: patch(resourceVersion, status),
        ...provisional && { provisional: true },
      });}
    graph.settle();
    enqueue(controller, queue);
  }
  function work() {
    return worker(controller, silentLog)(row, new AbortController().signal);
  }
}

const condition = {
  type: "Accepted",
  status: "True",
  reason: "Accepted",
  message: "",
  observedGeneration: 1,
};

const patch = (resourceVersion: string, status = "True"): readonly PatchOperation[] => [
  { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
  { op: "add", path: "/status/conditions", value: [{ ...condition, status }] },
];

const failure = (code: number, reason: string) =>
  new KubeError("PATCH /x", code, { reason, message: reason });

Deno.test("a write goes to the status, in the served version, with the time of the write", async () => {
  const { show, asked, results, told } = rig();
  assertEquals(await show("7"), undefined);
  assertEquals(results, ["written"]);
  assertEquals(told, ["gateway.networking.k8s.io/v1beta1 default/r u Accepted"]);
  const [{ operations, options }] = asked as [typeof asked[number]];
  assertEquals([options.subresource, options.version], ["status", "v1beta1"]);
  assertEquals(operations[0], { op: "test", path: "/metadata/resourceVersion", value: "7" });
  const { value } = operations[1] as { value: readonly { lastTransitionTime: string }[] };
  assertEquals(value, [{ ...condition, lastTransitionTime: stampOf(new FakeClock().now()) }]);
});

const stampOf = (time: Date) => time.toISOString().replace(/\.\d+Z$/, "Z");

Deno.test("what a write has superseded is not written again; the next version is", async () => {
  const { show, work, asked, results } = rig();
  await show("7");
  assertEquals(await work(), undefined);
  await show("7");
  assertEquals(asked.length, 1, "the first write is still on its way back");
  assertEquals(results, ["written", "no_op", "no_op"]);
  await show("8");
  assertEquals(asked.length, 2);
  assertEquals(results.at(-1), "written");
  await show(undefined);
  await show("7");
  assertEquals(asked.length, 3, "nothing is remembered of a row that has gone");
});

Deno.test("a patch that changes nothing is not repeated, and keeps back no later one for the same version", async () => {
  const { put, work, due, asked, results, told } = rig(["nothing changed"]);
  put("7");
  await work();
  assertEquals([results, told], [["no_op"], []], "nothing has become of it");
  put("7");
  assertEquals([...due.changed], [], "nothing has changed, so it is not queued");
  put("7", { status: "False" });
  assertEquals([...due.changed], [row]);
  await work();
  assertEquals([asked.length, results], [2, ["no_op", "written"]]);
  await work();
  assertEquals([asked.length, results.at(-1)], [2, "no_op"], "the second one has changed something");
});

Deno.test("a conflict is no failure: it is tried again soon, unless the row has gone by then", async () => {
  const { show, work, asked, results } = rig([failure(409, "Conflict"), failure(409, "Conflict")]);
  assertEquals(await show("7"), { requeueAfter: 100, failed: true });
  assertEquals(await work(), { requeueAfter: 100, failed: true });
  assertEquals(await work(), undefined);
  assertEquals([asked.length, results], [3, ["conflict", "conflict", "written"]]);
  await show(undefined);
  assertEquals(asked.length, 3);
});

Deno.test("an object that has gone needs no status; anything else is a failure", async () => {
  const gone = rig([failure(404, "NotFound")]);
  assertEquals(await gone.show("7"), undefined);
  assertEquals(gone.results, ["gone"]);
  const broken = rig([failure(500, "InternalError")]);
  await assertRejects(() => broken.show("7"), KubeError);
  assertEquals(broken.results, ["failed"]);
});

Deno.test("proxies have a quarter of a second to answer before it is said that they have not", async () => {
  const { put, queued, clock } = rig();
  put("7", { provisional: true });
  assertEquals(queued(), [1, 0]);
  await clock.advance(249);
  assertEquals(queued(), [1, 0]);
  await clock.advance(1);
  assertEquals(queued(), [0, 1]);
  const answered = rig();
  answered.put("7", { provisional: true });
  answered.put("8");
  assertEquals(answered.queued(), [0, 1], "an answer is told at once");
});

Deno.test("an object is written to once in a quarter of a second", async () => {
  const { show, put, delay, clock } = rig();
  put("7");
  assertEquals(delay(), 0);
  await show("7");
  put("8");
  assertEquals(delay(), 250);
  await clock.advance(200);
  assertEquals(delay(), 50);
  await clock.advance(50);
  assertEquals(delay(), 0);
});

Deno.test("the status of a Gateway does not wait behind those of its routes", async () => {
  const { graph, due, controller, queue, asked } = rig(), stop = new AbortController();
  const rows = ["HTTPRoute/a", "HTTPRoute/b", "Gateway/c", "ListenerSet/d", "GRPCRoute/e"];
  for (const [kind, name] of rows.map((key) => key.split("/"))) {
    const object = { kind: kind!, key: `default/${name}`, uid: "u", resourceVersion: "1", patch: patch("1") };
    due.set(`${kind}/default/${name}`, object);
  }
  graph.settle();
  enqueue(controller, queue);
  const running = queue.run(worker(controller, silentLog), { signal: stop.signal });
  await queue.idle();
  assertEquals(asked.map(({ name }) => name), ["c", "d", "a", "b", "e"]);
  stop.abort();
  await running;
});
