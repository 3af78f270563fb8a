/**
 * Everything that Gatehouse measures, in one table.
 *
 * Names of controller-runtime and client-go are kept to the letter, so that the dashboards that people have go on working.
 *
 * @module
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import process from "node:process";
import type { Clock } from "./clock.ts";
import type { Graph, Settlement } from "./graph.ts";
import type { QueueObserver } from "./queue.ts";

interface Definition<T extends "counter" | "gauge" | "histogram", L extends string> {
  readonly type: T;
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
  readonly buckets?: readonly number[];
}

function counter<const L extends string = never>(name: string, help: string, labels: readonly L[] = []) {
  return { type: "counter", name, help, labels } satisfies Definition<"counter", L> as Definition<
    "counter",
    L
  >;
}

function gauge<const L extends string = never>(name: string, help: string, labels: readonly L[] = []) {
  return { type: "gauge", name, help, labels } satisfies Definition<"gauge", L> as Definition<"gauge", L>;
}

function histogram<const L extends string = never>(
  name: string,
  help: string,
  buckets: readonly number[],
  labels: readonly L[] = [],
) {
  return { type: "histogram", name, help, buckets, labels } as Definition<"histogram", L>;
}

/** From a tenth of a millisecond to ten seconds: for what happens inside the process and between it and Envoy. */
const short = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Those of controller-runtime. */
const reconcile = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  ...[1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
];
/** Those of client-go's work queue. */
const queue = Array.from({ length: 12 }, (_, i) => 10 ** (i - 8));

/** Every metric, by the name of its handle. `deno task generate` makes docs/metrics.md from it. */
export const definitions = {
  // controller-runtime
  reconciles: counter("controller_runtime_reconcile_total", "Reconciliations by result", [
    "controller",
    "result",
  ]),
  reconcileErrors: counter("controller_runtime_reconcile_errors_total", "Reconciliations that failed", [
    "controller",
  ]),
  reconcileTime: histogram(
    "controller_runtime_reconcile_time_seconds",
    "Time of a reconciliation",
    reconcile,
    [
      "controller",
    ],
  ),
  reconcileWorkers: gauge(
    "controller_runtime_max_concurrent_reconciles",
    "Reconciliations that may run at once",
    [
      "controller",
    ],
  ),
  activeWorkers: gauge("controller_runtime_active_workers", "Reconciliations that run now", ["controller"]),

  // client-go
  queueDepth: gauge("workqueue_depth", "Items that may be worked on", ["name", "controller"]),
  queueAdds: counter("workqueue_adds_total", "Items added", ["name", "controller"]),
  queueTime: histogram("workqueue_queue_duration_seconds", "Time that an item waits for a worker", queue, [
    "name",
    "controller",
  ]),
  workTime: histogram("workqueue_work_duration_seconds", "Time that the work on an item takes", queue, [
    "name",
    "controller",
  ]),
  unfinishedWork: gauge("workqueue_unfinished_work_seconds", "Time that work in progress has taken, in sum", [
    "name",
    "controller",
  ]),
  longestWork: gauge("workqueue_longest_running_processor_seconds", "Time of the work that has run longest", [
    "name",
    "controller",
  ]),
  retries: counter("workqueue_retries_total", "Items that have to be retried", ["name", "controller"]),

  // the table graph
  settleTime: histogram(
    "gatehouse_settle_duration_seconds",
    "Time in which all tables are brought up to date",
    short,
  ),
  rowsRecomputed: counter("gatehouse_rows_recomputed_total", "Calls of derivations"),
  rowsWritten: counter("gatehouse_rows_written_total", "Rows added, replaced or removed"),
  rowFailures: counter("gatehouse_row_failures_total", "Derivations that threw, which is a bug", ["table"]),
  failedRows: gauge("gatehouse_failed_rows", "Rows whose derivation throws now", ["table"]),
  tableRows: gauge("gatehouse_table_rows", "Rows of a table", ["table"]),
  eventLoopLag: histogram(
    "gatehouse_event_loop_lag_seconds",
    "Delay of a timer because the thread was busy",
    short,
  ),

  // watches
  watchUp: gauge("gatehouse_watch_up", "Whether the watch of a kind is under way", ["kind"]),
  watchEvents: counter("gatehouse_watch_events_total", "Events of a watch", ["kind", "type"]),
  watchBreaks: counter("gatehouse_watch_breaks_total", "Times that a watch could not go on, by why", [
    "kind",
    "reason",
  ]),

  // xDS
  xdsStreams: gauge("gatehouse_xds_streams", "Proxies that are connected"),
  xdsPushes: counter("gatehouse_xds_pushes_total", "Responses sent to proxies", ["type"]),
  xdsBytes: counter("gatehouse_xds_sent_bytes_total", "Bytes of the responses sent to proxies", ["type"]),
  xdsAckTime: histogram("gatehouse_xds_ack_seconds", "Time until a proxy acknowledges a response", short, [
    "type",
  ]),
  xdsNacks: counter("gatehouse_xds_nacks_total", "Resources that a proxy rejected", ["type"]),

  // what is programmed against what is desired
  contributions: gauge(
    "gatehouse_contributions",
    "Objects that configure proxies, by how far the proxies are with them: programmed, pending or rejected",
    ["gateway", "state"],
  ),
  driftTime: gauge(
    "gatehouse_oldest_unprogrammed_seconds",
    "How long the object that has waited longest for the proxies of its Gateway has waited",
    ["gateway"],
  ),
  proxies: gauge("gatehouse_proxies", "Proxies of a Gateway: expected, synced or left_out", [
    "gateway",
    "state",
  ]),
} as const;

/** The handle of each metric: `metrics.queueDepth.set({ name, controller }, 3)`. */
export type Handles = {
  readonly [K in keyof typeof definitions]: (typeof definitions)[K] extends Definition<infer T, infer L>
    ? T extends "counter" ? Counter<L> : T extends "gauge" ? Gauge<L> : Histogram<L>
    : never;
};

/** Measures one process. Times are in seconds, as Prometheus wants them. */
export interface Metrics extends Handles {
  /** What a scrape answers, in {@linkcode Metrics.contentType}. */
  render(): Promise<string>;
  readonly contentType: string;
  /** Observes a queue of that name, which `concurrency` workers work on. */
  queueObserver(name: string, concurrency: number): QueueObserver;
  /** What the xDS server and the ledger tell. Times are in milliseconds. */
  readonly xds: {
    stream(change: 1 | -1): void;
    pushed(type: string, resources: number, removed: number, bytes: number): void;
    acked(id: string, milliseconds: number): void;
    nacked(id: string): void;
  };
  /** Follows the state of a watch: `watching`, or why it is not. */
  watchState(kind: string, state: string): void;
  /** Counts what a settle did. */
  settled(settlement: Settlement): void;
  /** Shows the sizes of a graph's tables and how many of their rows fail. */
  watchTables(graph: Graph): void;
  /** Runs before each scrape, for what is cheaper to ask than to follow. */
  beforeScrape(run: () => void): void;
}

/** Makes a registry of its own with every metric in it. */
export function createMetrics(options: { readonly clock: Clock; readonly version: string }): Metrics {
  const { clock, version } = options, registry = new Registry(), hooks: (() => void)[] = [];
  const handles = Object.fromEntries(
    Object.entries(definitions).map(([key, definition]) => [key, register(definition, registry)]),
  ) as unknown as Handles;
  hooks.push(watchProcess(registry, clock, version));
  const running = new Map<string, Map<string, number>>();
  hooks.push(() => {
    for (const [name, items] of running) {
      const ages = [...items.values()].map((start) => (clock.monotonic() - start) / 1000);
      handles.unfinishedWork.set({ name, controller: name }, ages.reduce((sum, age) => sum + age, 0));
      handles.longestWork.set({ name, controller: name }, Math.max(0, ...ages));
    }
  });
  return {
    ...handles,
    contentType: registry.contentType,
    beforeScrape: (run) => void hooks.push(run),
    async render() {
      for (const hook of hooks) hook();
      return await registry.metrics();
    },
    queueObserver(name, concurrency) {
      const labels = { name, controller: name }, items = new Map<string, number>();
      running.set(name, items);
      handles.reconcileWorkers.set({ controller: name }, concurrency);
      handles.queueDepth.set(labels, 0);
      return {
        added: () => handles.queueAdds.inc(labels),
        depth: (depth) => handles.queueDepth.set(labels, depth),
        retried: () => handles.retries.inc(labels),
        started(key, waited) {
          items.set(key, clock.monotonic());
          handles.activeWorkers.set({ controller: name }, items.size);
          handles.queueTime.observe(labels, waited / 1000);
        },
        ended(key, worked, result) {
          items.delete(key);
          handles.activeWorkers.set({ controller: name }, items.size);
          handles.workTime.observe(labels, worked / 1000);
          handles.reconcileTime.observe({ controller: name }, worked / 1000);
          handles.reconciles.inc({ controller: name, result });
          if (result === "error") handles.reconcileErrors.inc({ controller: name });
        },
      };
    },
    xds: {
      stream: (change) => handles.xdsStreams.inc(change),
      pushed(type, _resources, _removed, bytes) {
        handles.xdsPushes.inc({ type });
        handles.xdsBytes.inc({ type }, bytes);
      },
      acked: (id, milliseconds) => handles.xdsAckTime.observe({ type: typeOf(id) }, milliseconds / 1000),
      nacked: (id) => handles.xdsNacks.inc({ type: typeOf(id) }),
    },
    watchState(kind, state) {
      handles.watchUp.set({ kind }, state === "watching" ? 1 : 0);
      if (state !== "watching") handles.watchBreaks.inc({ kind, reason: state });
    },
    settled({ milliseconds, recomputed, written, failures }) {
      handles.settleTime.observe(milliseconds / 1000);
      handles.rowsRecomputed.inc(recomputed);
      handles.rowsWritten.inc(written);
      for (const { table } of failures) handles.rowFailures.inc({ table });
    },
    watchTables(graph) {
      hooks.push(() => {
        for (const { name: table, size, failures } of graph.tables) {
          handles.tableRows.set({ table }, size);
          handles.failedRows.set({ table }, failures.size);
        }
      });
    },
  };
}

/** `listener` of `listener:NAME`. */
function typeOf(id: string): string {
  return id.slice(0, id.indexOf(":"));
}

function register(
  definition: Definition<"counter" | "gauge" | "histogram", string>,
  registry: Registry,
): Counter | Gauge | Histogram {
  const { type, name, help, labels: labelNames, buckets = [] } = definition, registers = [registry];
  if (type === "counter") return new Counter({ name, help, labelNames, registers });
  if (type === "gauge") return new Gauge({ name, help, labelNames, registers });
  return new Histogram({ name, help, labelNames, buckets: [...buckets], registers });
}

/** The usual metrics of a process. Returns what brings them up to date. */
function watchProcess(registry: Registry, clock: Clock, version: string): () => void {
  const registers = [registry];
  new Gauge({
    name: "gatehouse_build_info",
    help: "Which Gatehouse this is",
    labelNames: ["version"],
    registers,
  })
    .set({ version }, 1);
  new Gauge({ name: "process_start_time_seconds", help: "When the process started, since 1970", registers })
    .set(Math.round(clock.now().getTime() / 1000 - process.uptime()));
  const memory = new Gauge({ name: "process_resident_memory_bytes", help: "Resident memory", registers });
  const heap = new Gauge({
    name: "gatehouse_heap_used_bytes",
    help: "Memory of live objects, about",
    registers,
  });
  const cpu = new Counter({ name: "process_cpu_seconds_total", help: "User and system time", registers });
  return () => {
    const { rss, heapUsed } = process.memoryUsage(), { user, system } = process.cpuUsage();
    memory.set(rss);
    heap.set(heapUsed);
    cpu.reset();
    cpu.inc((user + system) / 1_000_000);
  };
}
