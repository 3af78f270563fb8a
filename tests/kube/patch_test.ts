import { assertEquals, assertThrows } from "@std/assert";
import { KubeError } from "../../kube/errors.ts";
import { guarded, isConflict, pointer } from "../../kube/patch.ts";
import { pathOf } from "../../kube/paths.ts";
import { retryDelay } from "../../kube/retry.ts";
import { widget, widgets } from "./scripted_client.ts";

Deno.test("pointers", () => {
  assertEquals(pointer(), "");
  assertEquals(pointer("metadata", "annotations", "a.b/c~d"), "/metadata/annotations/a.b~1c~0d");
  assertEquals(pointer("parents", 0), "/parents/0");
});

Deno.test("a guarded patch tests the version that it was made for", () => {
  assertEquals(guarded(widget("a", 5), [{ op: "remove", path: "/x" }]), [
    { op: "test", path: "/metadata/resourceVersion", value: "5" },
    { op: "remove", path: "/x" },
  ]);
  const { resourceVersion: _, ...metadata } = widget("a", 5).metadata;
  assertThrows(() => guarded({ ...widget("a", 5), metadata }, []), TypeError, 'Widget "a"');
});

Deno.test("conflicts", () => {
  const error = (status: number, body = {}) => new KubeError("PATCH /", status, body);
  assertEquals(isConflict(error(409)), true);
  assertEquals(isConflict(error(409, { reason: "AlreadyExists" })), false);
  assertEquals(isConflict(error(422, { reason: "Invalid" })), true, "a failed test of a JSON patch");
  assertEquals(
    isConflict(error(422, { details: { causes: [{ field: "spec" }] } })),
    false,
    "an invalid object",
  );
  assertEquals(isConflict(new Error("x")), false);
});

Deno.test("paths", () => {
  const core = { ...widgets, group: "", plural: "secrets" };
  const cluster = { ...widgets, namespaced: false };
  const rows: readonly (readonly [path: string, expected: string])[] = [
    [pathOf(widgets), "/apis/example.com/v1/widgets"],
    [pathOf(widgets, { namespace: "a" }), "/apis/example.com/v1/namespaces/a/widgets"],
    [pathOf(widgets, { namespace: "a", name: "b/c" }), "/apis/example.com/v1/namespaces/a/widgets/b%2Fc"],
    [pathOf(core, { namespace: "a", name: "b" }), "/api/v1/namespaces/a/secrets/b"],
    [
      pathOf(cluster, { namespace: "a", name: "b", subresource: "status", version: "v2" }),
      "/apis/example.com/v2/widgets/b/status",
    ],
  ];
  for (const [path, expected] of rows) assertEquals(path, expected);
  assertThrows(() => pathOf(widgets, { name: "b" }), TypeError, "it has no namespace");
});

Deno.test("pauses between tries grow, are bounded, and never shorter than asked", () => {
  const attempt = { method: "GET", repeatable: true, retries: 0 };
  const busy = (retryAfter: number) => new KubeError("GET /", 429, {}, { retryAfter });
  const delays = (random: number) =>
    [0, 1, 2, 3, 4].map((retries) =>
      retryDelay(new KubeError("GET /", 503, {}), { ...attempt, retries }, () => random)
    );
  assertEquals(delays(0), [100, 200, 400, 800, undefined]);
  assertEquals(delays(1), [200, 400, 800, 1600, undefined]);
  assertEquals(retryDelay(busy(2000), attempt, () => 0), 2000);
  assertEquals(retryDelay(busy(2000), attempt, () => 1), 2500);
  assertEquals(retryDelay(busy(0), attempt, () => 0), 100);
  assertEquals(retryDelay(busy(30_001), attempt, () => 0), undefined);
  assertEquals(retryDelay(busy(0), { ...attempt, repeatable: false }), undefined);
});
