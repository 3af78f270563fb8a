/**
 * Statuses that several controllers write: of routes with many parents and of policies with many ancestors.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { applyPatch, type Operation } from "rfc6902";
import { type Batch, sourceOf, translate } from "../../controllers/translate/batch.ts";
import { defaultConfig, stamp } from "../../controllers/translate/mod.ts";
import type { ApiObject } from "../../crds/kind.ts";
import { gateway, gatewayClass, http, type Raw, route, service, slice, stored, to } from "./cluster.ts";
import { controllerName } from "./random_objects.ts";

const other = "example.com/other";

/** Classes of two controllers, and Gateways of each. */
function gateways(ours: number, theirs: number): Raw[] {
  const { metadata, ...rest } = gatewayClass();
  const foreign = { ...rest, metadata: { ...metadata, name: "other" }, spec: { controllerName: other } };
  const many = (count: number, prefix: string, gatewayClassName: string) =>
    Array.from({ length: count }, (_, i) => gateway(`${prefix}${i}`, [http], { spec: { gatewayClassName } }));
  return [{ metadata, ...rest }, foreign, ...many(ours, "g", "gatehouse"), ...many(theirs, "o", "other")];
}

function refs(count: number, prefix: string): Raw[] {
  return Array.from({ length: count }, (_, i) => ({ name: `${prefix}${i}` }));
}

/** An entry of another controller, with a field that we know nothing of. */
function theirEntry(ref: Raw, field: "parentRef" | "ancestorRef"): Raw {
  return {
    extra: { order: ["kept"] },
    controllerName: other,
    [field]: ref,
    conditions: [{
      reason: "Theirs",
      type: "Accepted",
      status: "True",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    }],
  };
}

/** Writes the status of an object that is due, as an API server would, and says whether it was. */
function write({ world, graph, due }: Batch, kind: string, key: string, now: string): Raw | undefined {
  const patch = due.get(`${kind}/${key}`)?.patch, source = sourceOf(world, kind)!;
  if (patch === undefined) return undefined;
  const after = structuredClone(source.get(key)!) as Raw;
  assertEquals(applyPatch(after, stamp(patch, new Date(now)) as Operation[]).filter((error) => error), []);
  after.metadata.resourceVersion += "0";
  source.set(key, after as ApiObject);
  graph.settle();
  return after;
}

Deno.test("shared statuses: 17 parents of ours stand among 15 of another controller, which stay as they are", () => {
  const theirs = refs(15, "o").map((ref) => theirEntry(ref, "parentRef"));
  const batch = translate(
    [
      ...gateways(17, 15),
      service("app"),
      slice("app", "10.0.0.1"),
      {
        ...route("app", { parentRefs: [...refs(17, "g"), ...refs(15, "o")], rules: [to("app")] }),
        status: { parents: theirs },
      },
    ] as ApiObject[],
  );
  const after = write(batch, "HTTPRoute", "default/app", "2026-06-06T06:06:06Z")!;
  const { parents } = after.status;
  assertEquals(JSON.stringify(parents.slice(0, 15)), JSON.stringify(theirs), "byte for byte, in order");
  assertEquals(
    parents.slice(15).map((p: Raw) => [p.controllerName, p.parentRef.name]),
    refs(17, "g").map(({ name }) => [controllerName, name]),
  );
  assertEquals(batch.due.get("HTTPRoute/default/app"), undefined);
});

Deno.test("shared statuses: where there is no room for a parent the route is served all the same", () => {
  const theirs = refs(31, "o").map((ref) => theirEntry(ref, "parentRef"));
  const batch = translate(
    [
      ...gateways(2, 0),
      service("app"),
      slice("app", "10.0.0.1"),
      { ...route("app", { parentRefs: refs(2, "g"), rules: [to("app")] }), status: { parents: theirs } },
    ] as ApiObject[],
  );
  const after = write(batch, "HTTPRoute", "default/app", "2026-06-06T06:06:06Z")!;
  assertEquals(after.status.parents.length, 32);
  assertEquals(
    batch.due.get("HTTPRoute/default/app"),
    undefined,
    "what has no place is not tried again and again",
  );
  assertEquals([...batch.ir.virtualHosts.entries()].map(([key]) => key).sort(), [
    "default/g0/80/*",
    "default/g1/80/*",
  ]);
});

Deno.test("shared statuses: two controllers come to rest on one route, whoever writes first", () => {
  const objects = [
    ...gateways(2, 2),
    service("app"),
    route("app", { parentRefs: [...refs(2, "g"), ...refs(2, "o")], rules: [to("app")] }),
  ] as ApiObject[];
  const ours = translate(objects), theirs = translate(objects, { ...defaultConfig, controllerName: other });
  let writes = 0;
  for (let round = 0; round < 6; round++) {
    for (const [writer, reader] of [[ours, theirs], [theirs, ours]] as const) {
      const after = write(writer, "HTTPRoute", "default/app", `2026-06-06T06:06:0${round}Z`);
      if (after === undefined) continue;
      writes++;
      sourceOf(reader.world, "HTTPRoute")!.set("default/app", after as ApiObject);
      reader.graph.settle();
    }
  }
  assertEquals(writes, 2);
  const { parents } = ours.world.objects.HTTPRoute.get("default/app")!.status!;
  assertEquals(parents.map(({ controllerName, parentRef }) => `${controllerName} ${parentRef.name}`), [
    `${controllerName} g0`,
    `${controllerName} g1`,
    `${other} o0`,
    `${other} o1`,
  ]);
});

Deno.test("shared statuses: a policy with 16 ancestors gets no more, and speaks TLS for the others too", () => {
  const theirs = [theirEntry({ name: "o0" }, "ancestorRef")];
  const batch = translate(
    [
      ...gateways(17, 0),
      service("app"),
      slice("app", "10.0.0.1"),
      route("app", { parentRefs: refs(17, "g"), rules: [to("app")] }),
      {
        ...stored({
          apiVersion: "gateway.networking.k8s.io/v1",
          kind: "BackendTLSPolicy",
          metadata: { name: "app" },
          spec: {
            targetRefs: [{ group: "", kind: "Service", name: "app" }],
            validation: { hostname: "app.example.com", wellKnownCACertificates: "System" },
          },
        }),
        status: { ancestors: theirs },
      },
    ] as ApiObject[],
  );
  const after = write(batch, "BackendTLSPolicy", "default/app", "2026-06-06T06:06:06Z")!;
  assertEquals(after.status.ancestors.length, 16);
  assertEquals(JSON.stringify(after.status.ancestors[0]), JSON.stringify(theirs[0]));
  assertEquals(batch.due.get("BackendTLSPolicy/default/app"), undefined);
  const clusters = [...batch.ir.clusters.entries()].map(([, cluster]) => cluster);
  assert(clusters.length > 0 && clusters.every(({ tls }) => tls !== undefined));
  assertEquals(new Set([...batch.ir.clusterUses.entries()].map(([, { gateway }]) => gateway)).size, 17);
});
