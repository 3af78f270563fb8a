/**
 * What counts as a difference between an object as it should be and as the API server has it.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { difference } from "../../controllers/infrastructure/covers.ts";
import { quantity, sameQuantity } from "../../controllers/infrastructure/quantities.ts";

const cases:
  readonly (readonly [name: string, wanted: unknown, observed: unknown, path: string | undefined])[] = [
    ["defaults are not ours", { a: 1 }, { a: 1, b: 2 }, undefined],
    ["a value", { a: { b: 1 } }, { a: { b: 2 } }, "a.b"],
    ["what is missing", { a: { b: 1 } }, {}, "a"],
    ["false is not nothing", { a: false }, {}, "a"],
    ["an empty map need not be there", { a: {}, b: [] }, {}, undefined],
    ["a list as a whole", { args: ["a"] }, { args: ["a", "b"] }, "args"],
    ["its order", { args: ["a", "b"] }, { args: ["b", "a"] }, "args[0]"],
    [
      "objects in it get defaults",
      { tolerations: [{ key: "a" }] },
      { tolerations: [{ key: "a", x: 1 }] },
      undefined,
    ],
    [
      "others may add what has a name",
      { containers: [{ name: "envoy", image: "a" }] },
      { containers: [{ name: "sidecar" }, { name: "envoy", image: "a", x: 1 }] },
      undefined,
    ],
    ["but ours is there", { volumes: [{ name: "a" }] }, { volumes: [{ name: "b" }] }, "volumes[a]"],
    [
      "ports of a Service",
      { ports: [{ port: 80, protocol: "TCP", name: "a" }] },
      { ports: [{ port: 80, protocol: "UDP" }, { port: 80, protocol: "TCP", name: "b" }] },
      "ports[80/TCP].name",
    ],
    ["quantities", { requests: { cpu: "1000m" } }, { requests: { cpu: "1" } }, "requests.cpu"],
    [
      "quantities where they are",
      { r: { requests: { cpu: "1000m" } } },
      { r: { requests: { cpu: "1" } } },
      undefined,
    ],
    [
      "quantities whose names have dots, written as numbers",
      { r: { limits: { "qat.intel.com/generic": 1 } } },
      { r: { limits: { "qat.intel.com/generic": "1" } } },
      undefined,
    ],
    [
      "another one of those",
      { r: { limits: { "qat.intel.com/generic": 1 } } },
      { r: { limits: { "qat.intel.com/generic": "2" } } },
      "r.limits.qat.intel.com/generic",
    ],
    [
      "labels are no quantities",
      { labels: { "a.limits": "1", "example.limits.x": "1000m" } },
      { labels: { "a.limits": "1", "example.limits.x": "1" } },
      "labels.example.limits.x",
    ],
    [
      "other quantities",
      { r: { limits: { cpu: "1000m" } } },
      { r: { limits: { cpu: "2" } } },
      "r.limits.cpu",
    ],
    ["a list that is something else", { args: ["a"] }, { args: "a" }, "args"],
  ];

for (const [name, wanted, observed, path] of cases) {
  Deno.test(`difference: ${name}`, () => assertEquals(difference(wanted, observed), path));
}

Deno.test("quantities: what stands for the same", () => {
  for (
    const [a, b] of [["1000m", "1"], ["0.5", "500m"], [2, "2"], ["1024Mi", "1Gi"], ["1.5Gi", "1536Mi"], [
      "1e3",
      "1k",
    ], ["1E", "1000P"]]
  ) {
    assertEquals(sameQuantity(a, b), true, `${a} ${b}`);
  }
  assertEquals(sameQuantity("1M", "1Mi"), false);
  assertEquals(sameQuantity("x", "x"), false);
  assertEquals(quantity("1.5Gi"), 1_610_612_736);
  assertEquals(quantity("5 apples"), undefined);
});
