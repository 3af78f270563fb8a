/**
 * Writes of the objects of Gateways: each for the version that was observed, none over what is somebody else's, and what the
 * API server answers.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import type { ApiObject, ObjectMeta } from "../../crds/kind.ts";
import { enqueue } from "../../controllers/controller.ts";
import { infrastructureController, type WriteRefusal } from "../../controllers/infra.ts";
import { ownerReference } from "../../controllers/infrastructure/child_names.ts";
import type { ChildWrite } from "../../controllers/infrastructure/mod.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { KubeError } from "../../kube/errors.ts";
import type { Kube } from "../../kube/types.ts";

const row = "Service/shop/web";

function child(more: Partial<ObjectMeta> = {}) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace: "shop",
      name: "web-gatehouse",
      labels: { "app.kubernetes.io/managed-by": "gatehouse" },
      ownerReferences: [ownerReference("web", "1")],
      ...more,
    },
    spec: {},
  };
}

const apply = (object: ReturnType<typeof child>): ChildWrite => ({
  action: "apply",
  gateway: "shop/web",
  kind: "Service",
  object,
  ...object.metadata.resourceVersion !== undefined && { differs: "spec.type" },
});
const observed = child({ uid: "u", resourceVersion: "7" });

const failure = (status: number, body: ConstructorParameters<typeof KubeError>[2] = {}) =>
  new KubeError("PATCH /x", status, body);

/**
 * A controller whose API server has one object, or none, and answers a write with a failure, or does it: another version comes of
 * it then, or the same one as long as `undone` says that it is undone before it is stored.
 */
function rig(there?: ApiObject, answer?: Error, undone = () => false) {
  const graph = new Graph(), due = graph.source<ChildWrite>("due");
  const asked: string[] = [],
    applied: unknown[] = [],
    refusals = new Map<string, WriteRefusal>(),
    results: string[] = [];
  const done = (line: string, result: unknown) => {
    asked.push(line);
    return answer ? Promise.reject(answer) : Promise.resolve(result);
  };
  const kube = {
    get: () => {
      asked.push("get");
      return there ? Promise.resolve(there) : Promise.reject(failure(404));
    },
    apply: (
      _kind: unknown,
      object: ApiObject,
      { fieldManager, force = false }: Parameters<Kube["apply"]>[2],
    ) => {
      const { uid, resourceVersion } = object.metadata;
      applied.push(object);
      return done(`apply as ${fieldManager}, uid ${uid}, version ${resourceVersion}, force ${force}`, {
        ...object,
        metadata: {
          ...object.metadata,
          resourceVersion: undone() ? resourceVersion : `${Number(resourceVersion) + 1}`,
        },
      });
    },
    delete: (_kind: unknown, name: unknown, { signal: _, ...options }: { readonly signal?: AbortSignal }) =>
      done(`delete ${JSON.stringify(name)} ${JSON.stringify(options)}`, undefined),
  } as unknown as Kube;
  const controller = infrastructureController({
    due,
    kube,
    log: silentLog,
    refused: (row, refusal) => refusal ? refusals.set(row, refusal) : refusals.delete(row),
    counted: (_, result) => results.push(result),
  });
  return {
    asked,
    applied,
    refusals,
    results,
    /** Shows a row, or none. Returns the rows that would be queued. */
    show(write: ChildWrite | undefined) {
      if (write) due.set(row, write);
      else due.delete(row);
      graph.settle();
      enqueue(controller, undefined);
      return [...due.changed];
    },
    work: () => controller.apply(due.get(row)!, new AbortController().signal),
  };
}

Deno.test("infrastructure: what was observed is applied by force, for that object and that version, and once", async () => {
  const { asked, results, show, work } = rig();
  show(apply(observed));
  await work();
  await work();
  assertEquals(asked, ["apply as gatehouse, uid u, version 7, force true"]);
  assertEquals(results, ["applied"]);
  show(apply(child({ uid: "u", resourceVersion: "8" })));
  await work();
  assertEquals(asked.length, 2);
});

Deno.test("infrastructure: an apply that changes nothing is not repeated, and keeps back no later one for the same version", async () => {
  const { asked, applied, show, work } = rig(undefined, undefined, () => applied.length === 1);
  assertEquals(show(apply(observed)), [row]);
  await work();
  assertEquals(show(apply(observed)), [], "nothing has changed, so it is not queued");
  const wanted = { ...observed, spec: { type: "ClusterIP" } };
  assertEquals(show(apply(wanted)), [row]);
  await work();
  assertEquals(applied, [observed, wanted]);
  await work();
  assertEquals(asked.length, 2, "the second one has changed something");
});

Deno.test("infrastructure: what was not observed is looked for, and made unless it is there by then", async () => {
  const { asked, show, work } = rig();
  show(apply(child()));
  await work();
  assertEquals(asked, ["get", "apply as gatehouse, uid undefined, version 1, force false"]);
});

Deno.test("infrastructure: what has only not been told of yet is not written", async () => {
  const { asked, show, work } = rig(observed);
  show(apply(child()));
  assertEquals(await work(), { requeueAfter: 100, failed: true });
  assertEquals(asked, ["get"]);
});

Deno.test("infrastructure: what lost the label that it is watched by gets it back, and keeps what others have chosen", async () => {
  const there = child({ uid: "u", resourceVersion: "7", labels: {} }), wanted = child();
  const { asked, applied, show, work } = rig(
    { ...there, spec: { ipFamilies: ["IPv4", "IPv6"] } } as ApiObject,
  );
  show(apply({ ...wanted, spec: { ipFamilies: ["IPv4"] } }));
  await work();
  assertEquals(applied, [{
    ...wanted,
    metadata: { ...wanted.metadata, uid: "u", resourceVersion: "7" },
    spec: { ipFamilies: ["IPv4", "IPv6"] },
  }]);
  assertEquals(asked, ["get", "apply as gatehouse, uid u, version 7, force true"]);
});

Deno.test("infrastructure: what cannot be changed is told of without a request, until nobody asks for it", async () => {
  const { asked, refusals, results, show, work } = rig();
  const refusal = { gateway: "shop/web", reason: "Invalid", message: "no other class" } as const;
  show({ action: "none", kind: "Service", ...refusal });
  await work();
  assertEquals([asked, results, refusals.get(row)], [[], ["refused"], refusal]);
  show(undefined);
  assertEquals(refusals.size, 0);
});

Deno.test("infrastructure: what is somebody else's is not touched, and told of until it is gone", async () => {
  const { asked, refusals, results, show, work } = rig(child({ ownerReferences: [] }));
  show(apply(child()));
  assertEquals(await work(), { requeueAfter: 10_000 });
  assertEquals(asked, ["get"]);
  assertEquals(results, ["namesake"]);
  assertEquals(refusals.get(row)?.reason, "NoResources");
  show(undefined);
  assertEquals(refusals.size, 0);
});

Deno.test("infrastructure: a deletion is for that object and that version, and done if it is gone", async () => {
  for (const answer of [undefined, failure(404)]) {
    const { asked, show, work } = rig(undefined, answer);
    show({
      action: "delete",
      gateway: "shop/web",
      kind: "Service",
      namespace: "shop",
      name: "web-gatehouse",
      uid: "u",
      resourceVersion: "7",
    });
    assertEquals(await work(), undefined);
    assertEquals(asked, [
      'delete {"namespace":"shop","name":"web-gatehouse"} ' +
      '{"preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Background"}',
    ]);
  }
});

Deno.test("infrastructure: a conflict, and a namespace that goes, are nobody's fault", async () => {
  const ending = { details: { causes: [{ reason: "NamespaceTerminating" }] } };
  for (
    const [answer, again] of [
      [failure(409), { requeueAfter: 100, failed: true }],
      [failure(403, ending), { requeueAfter: 1000 }],
      [failure(404), { requeueAfter: 1000 }],
    ] as const
  ) {
    const { refusals, show, work } = rig(undefined, answer);
    show(apply(observed));
    assertEquals(await work(), again);
    assertEquals(refusals.size, 0);
  }
});

Deno.test("infrastructure: what the API server refuses is told in its words, and tried again", async () => {
  const invalid = (field: string) => ({ message: "so it is", details: { name: "x", causes: [{ field }] } });
  for (
    const [answer, reason] of [
      [failure(403, { message: "so it is" }), "NoResources"],
      [failure(500, { message: "so it is" }), "NoResources"],
      [failure(422, invalid("spec.type")), "Invalid"],
      [failure(422, invalid("spec.clusterIPs[0]")), "AddressNotUsable"],
    ] as const
  ) {
    const { refusals, results, show, work } = rig(undefined, answer);
    show(apply(observed));
    await assertRejects(work, KubeError);
    assertEquals(refusals.get(row), {
      gateway: "shop/web",
      reason,
      message: 'Cannot apply Service "shop/web-gatehouse": so it is',
    });
    assertEquals(results, ["refused"]);
  }
});

Deno.test("infrastructure: a server that is busy or away refuses nothing", async () => {
  for (const answer of [failure(429), failure(503), new Error("away")]) {
    const { refusals, results, show, work } = rig(undefined, answer);
    show(apply(observed));
    await assertRejects(work);
    assertEquals(refusals.size, 0);
    assertEquals(results, ["failed"]);
  }
});
