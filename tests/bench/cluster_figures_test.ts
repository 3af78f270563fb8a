/**
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { clusterFigures, type ClusterMachine, clusterPart, isMissed, type Run } from "./cluster_figures.ts";
import { partOf, withPart } from "./marked.ts";

const attached: Run = {
  scenario: "attached",
  busy: 0.1,
  result: {
    setup_attached_s: 2.5,
    setup_all_statuses_s: 6,
    setup_counts_went_back: 0,
    setup_statuses_went_bad: 0,
    setup_api_writes: {
      "httproutes POST 201": 1000,
      "httproutes/status PATCH 200": 1190,
      "httproutes/status PATCH 409": 11,
      "gateways/status PATCH 200": 40,
    },
    teardown_api_writes: {},
  },
};

const machine: ClusterMachine = {
  cpu: "CPU",
  cores: 2,
  memory: 24,
  kubernetes: "1.37.2",
  envoy: "Envoy 1.40.0",
  deno: "2.9.6",
  date: "2026-11-30",
  replicas: 1,
};

Deno.test("Figures of a cluster: every write counts, and a figure that is not there is missed", () => {
  const figures = clusterFigures([attached]);
  const missed = (name: string) => isMissed(figures.find((figure) => figure.name === name)!);
  assertEquals(missed("1,000 routes at once: attachedRoutes right"), false);
  assertEquals(missed("all statuses right"), true);
  assertEquals(figures.find(({ name }) => name === "writes of statuses of routes")!.value, 1201);
  assertEquals(missed("writes of statuses of routes"), true);
  assertEquals(missed("writes of the Gateway's status"), false);
  assertEquals(figures.find(({ name }) => name === "conflicts")!.value, 11);
  assertEquals(missed("all deleted: attachedRoutes right"), true);
});

Deno.test("Figures of a cluster: the page says when others were at work", () => {
  const warning = "latencies are longer than they would be";
  assertEquals(clusterPart([attached], machine).includes(warning), false);
  assertStringIncludes(clusterPart([{ ...attached, busy: 1.5 }], machine), warning);
});

Deno.test("Pages: each program writes its own part", () => {
  const page = withPart("# Page\n", "cluster", "one $& two");
  assertEquals(page, "# Page\n\n<!-- cluster: begin -->\n\none $& two\n\n<!-- cluster: end -->\n");
  assertEquals(partOf(page, "other"), undefined);
  assertEquals(withPart(`${page}\nafter\n`, "cluster", "three").includes("two"), false);
  assertEquals(withPart(`${page}\nafter\n`, "cluster", "three").endsWith("\nafter\n"), true);
});
