/**
 * Measures what {@linkcode definitions} names.
 *
 * Names of controller-runtime and client-go are kept to the letter, so that the dashboards that people have go on working.
 *
 * @module
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import process from "node:process";
import type { Clock } from "./clock.ts";
import type { Graph, Settlement } from "./graph.ts";
import { buildInfo, type Definition, definitions } from "./metric_definitions.ts";
import type { QueueObserver } from "./queue.ts";

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
      // What is not installed cannot be watched, and nothing is wrong with that.
      if (state === "absent") return handles.watchUp.remove({ kind });
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
    name: buildInfo,
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
