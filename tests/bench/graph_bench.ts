/**
 * The table graph alone, on a small model of a gateway: the first settle, one edit among many rows, a change that everything
 * depends on, and a relist in which nothing has changed.
 *
 * @module
 */
import { systemClock } from "../../controllers/runtime/clock.ts";
import { Graph } from "../../controllers/runtime/graph.ts";
import { pipeline, type Route } from "../runtime/model.ts";
import type { Bench } from "./bench.ts";

function route(i: number, edit: number): Route {
  return {
    name: `r${i}`,
    created: i,
    gateway: "gw",
    hostnames: [`h${i}.example.com`],
    rules: [{ prefix: `/${edit}`, service: "s" }],
  };
}

const bench: Bench = {
  name: "graph",
  run(report) {
    for (const rows of [5_000, 10_000]) {
      const graph = new Graph({ clock: systemClock }), tables = pipeline(graph);
      tables.gateways.set("gw", { name: "gw", listeners: [{ name: "http", port: 80 }] });
      tables.services.set("s", { name: "s", port: 80 });
      tables.routes.replace(Array.from({ length: rows }, (_, i) => [`r${i}`, route(i, 0)]));
      report.value(`first settle of ${rows} routes`, "ms", graph.settle().milliseconds);
      const edits = Array.from({ length: 300 }, (_, edit) => {
        const i = (edit * 7919) % rows;
        tables.routes.set(`r${i}`, route(i, edit + 1));
        return graph.settle().milliseconds;
      });
      report.samples(`one edit among ${rows} routes`, "ms", edits);
      tables.services.set("s", { name: "s", port: 81 });
      report.value(`a change that all ${rows} routes see`, "ms", graph.settle().milliseconds);
      tables.services.replace([...tables.services.entries()].map(([key, value]) => [key, { ...value }]));
      tables.routes.replace(tables.routes.entries());
      report.value(`a relist of ${rows} routes, unchanged`, "ms", graph.settle().milliseconds);
    }
  },
};

export default bench;
