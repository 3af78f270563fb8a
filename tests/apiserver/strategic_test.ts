/** Strategic merge patches, by the examples and rules of their specification. */
import { assertEquals, assertThrows } from "@std/assert";
import type { ApiObject } from "../../crds/kind.ts";
import { mergePatch } from "../../standalone/apiserver/patch.ts";
import { strategicMerge } from "../../standalone/apiserver/strategic.ts";
import { ApiError } from "../../standalone/apiserver/status.ts";

const service = (ports: readonly object[], more: object = {}) =>
  ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s" },
    spec: { ports, ...more },
  }) as unknown as ApiObject;

const a = { name: "a", port: 1 }, b = { name: "b", port: 2 }, c = { name: "c", port: 3 };

function patchedPorts(ports: readonly object[], patch: object): unknown {
  return (strategicMerge(service(ports), { spec: patch }) as { spec: { ports?: unknown } }).spec.ports;
}

Deno.test("lists with a merge key are merged item by item", () => {
  assertEquals(patchedPorts([a, b], { ports: [{ port: 2, name: "z" }, c] }), [a, { name: "z", port: 2 }, c]);
  assertEquals(patchedPorts([a, b], { ports: [{ port: 1, name: null, nodePort: 5 }] }), [{
    port: 1,
    nodePort: 5,
  }, b]);
});

Deno.test("$patch: delete and replace, of items, lists and objects", () => {
  assertEquals(patchedPorts([a, b], { ports: [{ port: 1, $patch: "delete" }] }), [b]);
  assertEquals(patchedPorts([a, b], { ports: [{ $patch: "replace" }, c] }), [c]);
  assertEquals(patchedPorts([a, b], { ports: [{ $patch: "replace" }] }), []);
  const patched = strategicMerge(service([a], { selector: { x: "1" } }), {
    spec: { selector: { y: "2", $patch: "replace" } },
  }) as { spec: { selector: unknown } };
  assertEquals(patched.spec.selector, { y: "2" });
  const emptied = strategicMerge(service([a]), { spec: { $patch: "delete" } }) as { spec: unknown };
  assertEquals(emptied.spec, {});
});

Deno.test("$setElementOrder puts items in order, and keeps those it does not name where they are", () => {
  assertEquals(
    patchedPorts([a, b, c], { "$setElementOrder/ports": [{ port: 3 }, { port: 1 }, { port: 2 }] }),
    [c, a, b],
  );
  const d = { name: "d", port: 4 };
  assertEquals(
    patchedPorts([a, b, c], {
      ports: [d],
      "$setElementOrder/ports": [{ port: 4 }, { port: 1 }, { port: 3 }],
    }),
    [d, a, b, c],
  );
});

Deno.test("$retainKeys drops all others", () => {
  const patched = strategicMerge(service([a], { type: "ClusterIP", clusterIP: "1.2.3.4" }), {
    spec: { $retainKeys: ["type", "ports"], type: "ExternalName" },
  }) as { spec: unknown };
  assertEquals(patched.spec, { ports: [a], type: "ExternalName" });
  assertThrows(() => strategicMerge(service([a]), { spec: { $retainKeys: ["ports"], type: "x" } }), ApiError);
});

Deno.test("lists of plain values that are sets: finalizers", () => {
  const object = { ...service([]), metadata: { name: "s", finalizers: ["a/a", "b/b"] } } as ApiObject;
  const finalizers = (patch: object) =>
    (strategicMerge(object, { metadata: patch }) as ApiObject).metadata.finalizers;
  assertEquals(finalizers({ finalizers: ["b/b", "c/c"] }), ["b/b", "c/c", "a/a"]);
  assertEquals(finalizers({ "$deleteFromPrimitiveList/finalizers": ["a/a"] }), ["b/b"]);
  assertEquals(finalizers({ "$setElementOrder/finalizers": ["b/b", "a/a"] }), ["b/b", "a/a"]);
});

Deno.test("lists without a merge key are replaced, null deletes, the object itself is not touched", () => {
  const object = service([a], { externalIPs: ["1", "2"], selector: { x: "1" } });
  const before = structuredClone(object);
  const patched = strategicMerge(object, { spec: { externalIPs: ["3"], selector: null } }) as {
    spec: unknown;
  };
  assertEquals(patched.spec, { ports: [a], externalIPs: ["3"] });
  assertEquals(object, before);
});

Deno.test("owner references are merged by uid", () => {
  const owner = (uid: string, name: string) => ({ apiVersion: "v1", kind: "A", name, uid });
  const object = { ...service([]), metadata: { name: "s", ownerReferences: [owner("1", "a")] } } as ApiObject;
  const patched = strategicMerge(object, {
    metadata: { ownerReferences: [{ uid: "1", name: "z" }, owner("2", "b")] },
  });
  assertEquals((patched as ApiObject).metadata.ownerReferences, [owner("1", "z"), owner("2", "b")]);
});

Deno.test("what is no strategic merge patch is refused", () => {
  assertThrows(
    () => strategicMerge(service([a]), { spec: { ports: [{ name: "no key" }] } }),
    ApiError,
    "merge key: port",
  );
  assertThrows(
    () => strategicMerge(service([a]), { spec: { $patch: "explode" } }),
    ApiError,
    "unknown patch type",
  );
});

Deno.test("JSON merge patch, by the table of RFC 7386", () => {
  const cases: readonly (readonly [unknown, unknown, unknown])[] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [["a", "b"], ["c", "d"], ["c", "d"]],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, result] of cases) assertEquals(mergePatch(target, patch), result);
});
