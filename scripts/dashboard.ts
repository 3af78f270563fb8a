/**
 * The Grafana dashboard in `deploy/monitoring`, made from the table of metrics: each metric is on it.
 *
 * @module
 */
import { buildInfo, type Definition, definitions } from "../controllers/runtime/metric_definitions.ts";

type Metric = Definition<"counter" | "gauge" | "histogram", string>;

/** Rows of the dashboard: which metrics, by the beginnings of their names, in the order in which people look. */
const sections: readonly (readonly [title: string, prefixes: readonly string[]])[] = [
  ["Programmed and desired", [
    "gatehouse_oldest",
    "gatehouse_contributions",
    "gatehouse_proxies",
    "gatehouse_time_to",
  ]],
  ["xDS", ["gatehouse_xds_"]],
  ["Writes", ["gatehouse_leader", "gatehouse_status_writes", "gatehouse_events", "controller_runtime_"]],
  ["Queues", ["workqueue_"]],
  ["Watches", ["gatehouse_watch_"]],
  ["Process", [
    "gatehouse_event_loop",
    "gatehouse_settle",
    "gatehouse_rows",
    "gatehouse_row_",
    "gatehouse_failed",
    "gatehouse_table",
  ]],
];

const selector = 'job=~"$job"';
const datasource = { type: "prometheus", uid: "$datasource" };

/** Gauges of which each replica tells a part; of others, those that tell it tell the same. */
const partial: ReadonlySet<string> = new Set([definitions.proxies.name]);

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

/** What to ask of a metric so that a picture tells something. */
function targetsOf({ name, type, labels }: Metric): readonly Target[] {
  const by = [...labels].filter((label) => !(label === "controller" && labels.includes("name")));
  const legend = by.length > 0 ? by.map((label) => `{{${label}}}`).join(" ") : "{{instance}}";
  const group = by.length > 0 ? by.join(", ") : "instance";
  if (type === "gauge") {
    const operation = partial.has(name) ? "sum" : "max";
    return [{ expr: `${operation} by (${group}) (${name}{${selector}})`, legendFormat: legend }];
  }
  if (type === "counter") {
    return [{
      expr: `sum by (${group}) (rate(${name}{${selector}}[$__rate_interval]))`,
      legendFormat: legend,
    }];
  }
  const buckets = `sum by (${
    [...by, "le"].join(", ")
  }) (rate(${name}_bucket{${selector}}[$__rate_interval]))`;
  return [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, ${buckets})`,
    legendFormat: `p${quantile * 100} ${by.length > 0 ? legend : ""}`.trim(),
  }));
}

function unitOf({ name, type }: Metric): string {
  if (name.includes("_seconds")) return "s";
  if (name.includes("_bytes")) return "Bps";
  return type === "counter" ? "ops" : "short";
}

/** The dashboard, as Grafana imports it. */
export function dashboard(): unknown {
  const left: Metric[] = Object.values(definitions), panels: unknown[] = [];
  const width = 8, height = 7, columns = 3;
  let y = 0, id = 0;
  for (const [title, prefixes] of sections) {
    panels.push({ id: ++id, type: "row", title, collapsed: false, gridPos: { x: 0, y: y++, w: 24, h: 1 } });
    const chosen = prefixes.flatMap((prefix) => left.filter(({ name }) => name.startsWith(prefix)));
    for (const [i, metric] of chosen.entries()) {
      left.splice(left.indexOf(metric), 1);
      panels.push({
        id: ++id,
        type: "timeseries",
        title: metric.help,
        description: metric.name,
        datasource,
        gridPos: { x: (i % columns) * width, y: y + Math.floor(i / columns) * height, w: width, h: height },
        fieldConfig: { defaults: { unit: unitOf(metric), min: 0 }, overrides: [] },
        targets: targetsOf(metric).map((target, i) => ({
          refId: String.fromCharCode(65 + i),
          datasource,
          ...target,
        })),
      });
    }
    y += Math.ceil(chosen.length / columns) * height;
  }
  if (left.length > 0) throw new Error(`No section has ${left.map(({ name }) => name).join(", ")}`);
  const variable = (name: string, query: object) => ({ name, label: name, ...query });
  return {
    uid: "gatehouse",
    title: "Gatehouse",
    tags: ["gateway-api", "envoy"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: {
      list: [
        variable("datasource", { type: "datasource", query: "prometheus" }),
        variable("job", {
          type: "query",
          datasource,
          query: { query: `label_values(${buildInfo}, job)`, refId: "job" },
          refresh: 2,
          includeAll: true,
          multi: true,
          current: { text: "All", value: "$__all" },
        }),
      ],
    },
    panels,
  };
}
