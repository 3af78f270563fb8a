/**
 * Letting go of finalizers: when the proxies are done, or when they have had their time.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { enqueue, worker } from "../../controllers/controller.ts";
import { finalizerController, type FinalizerDue } from "../../controllers/finalizer.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { Queue } from "../../controllers/runtime/queue.ts";
import { gateway } from "../../crds/mod.ts";
import { KubeError } from "../../kube/errors.ts";
import type { Kube } from "../../kube/types.ts";
import { FakeClock } from "../support/fake_clock.ts";

const row = "Gateway/default/web";

function rig(...answers: readonly Error[]) {
  const graph = new Graph(), due = graph.source<FinalizerDue>("due"), clock = new FakeClock();
  const left = [...answers], abandoned: string[] = [], asked: unknown[] = [];
  const kube = {
    patch: (_: unknown, name: unknown, patch: unknown) => {
      asked.push([name, patch]);
      const error = left.shift();
      return error ? Promise.reject(error) : Promise.resolve({});
    },
  } as unknown as Kube;
  const controller = finalizerController({
    due,
    kube,
    kindOf: () => gateway,
    versionOf: () => undefined,
    clock,
    log: silentLog,
    abandoned: ({ key, wait }) => abandoned.push(`${key}: ${wait}`),
  });
  const queue = new Queue({ name: "finalizers", clock, log: silentLog });
  const work = () => worker(controller, silentLog)(row, new AbortController().signal);
  return {
    graph,
    due,
    clock,
    asked,
    abandoned,
    work,
    show(wait?: string) {
      const patch = [{ op: "test", path: "/metadata/resourceVersion", value: "7" }] as const;
      due.set(row, {
        kind: "Gateway",
        key: "default/web",
        uid: "u",
        patch,
        ...wait !== undefined && { wait },
      });
      graph.settle();
      enqueue(controller, queue);
      return work();
    },
  };
}

const write = [{ name: "web", namespace: "default" }, [{
  op: "test",
  path: "/metadata/resourceVersion",
  value: "7",
}]];

Deno.test("a finalizer that nothing waits for goes at once", async () => {
  const { show, asked, abandoned } = rig();
  assertEquals(await show(), undefined);
  assertEquals(asked, [write]);
  assertEquals(abandoned, []);
});

Deno.test("one that proxies keep waiting goes when they are done", async () => {
  const { show, asked, clock, abandoned } = rig();
  assertEquals(await show("Waiting"), { requeueAfter: 30_000 });
  await clock.advance(10_000);
  assertEquals(await show("Still waiting"), { requeueAfter: 20_000 }, "the time is not counted anew");
  assertEquals(asked, []);
  assertEquals(await show(), undefined);
  assertEquals(asked, [write]);
  assertEquals(abandoned, []);
});

Deno.test("or after 30 seconds, of which somebody is told", async () => {
  const { show, asked, clock, work, abandoned } = rig();
  await show("No proxy has answered");
  await clock.advance(30_000);
  assertEquals(await work(), undefined);
  assertEquals(asked, [write]);
  assertEquals(abandoned, ["default/web: No proxy has answered"]);
});

Deno.test("whoever becomes the leader meanwhile counts from then", async () => {
  const { due, graph, clock, work, asked } = rig();
  due.set(row, { kind: "Gateway", key: "default/web", uid: "u", patch: [], wait: "Waiting" });
  graph.settle();
  assertEquals(await work(), { requeueAfter: 30_000 });
  await clock.advance(29_000);
  assertEquals(await work(), { requeueAfter: 1000 });
  await clock.advance(1000);
  await work();
  assertEquals(asked.length, 1);
});

Deno.test("a conflict is tried again, an object that is gone is not, another failure is one", async () => {
  const error = (code: number, reason: string) =>
    new KubeError("PATCH /x", code, { reason, message: reason });
  const { work, show } = rig(error(409, "Conflict"), error(404, "NotFound"), error(500, "InternalError"));
  assertEquals(await show(), { requeueAfter: 100, failed: true });
  assertEquals(await work(), undefined);
  await assertRejects(() => Promise.resolve(work()), KubeError);
});
