/**
 * Every metric: its name, what it tells, its labels. Documentation and dashboard are made from this table,
 * and alerts name metrics by it.
 *
 * Labels are bounded: names of kinds, tables, queues and results are this program's own, and only so many Gateways are told apart.
 *
 * @module
 */
export interface Definition<T extends "counter" | "gauge" | "histogram", L extends string> {
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

/** The metric that tells the version and is always 1. */
export const buildInfo = "gatehouse_build_info";

/** Every other metric, by the name of its handle. `deno task generate` makes docs/metrics.md from it. */
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
  xdsAckTime: histogram(
    "gatehouse_xds_ack_seconds",
    "Time until a proxy acknowledges a change, except for what it catches up with after connecting",
    short,
    ["type"],
  ),
  xdsNacks: counter("gatehouse_xds_nacks_total", "Resources that a proxy rejected", ["type"]),

  // what is written
  leader: gauge("gatehouse_leader", "Whether this replica is the one that writes"),
  statusWrites: counter(
    "gatehouse_status_writes_total",
    "Writes of statuses by result: written, no_op, conflict, gone or failed",
    ["kind", "result"],
  ),
  droppedEvents: gauge("gatehouse_events_dropped", "Events that were not sent, because there were too many"),

  // what is programmed against what is desired
  timeToProgrammed: histogram(
    "gatehouse_time_to_programmed_seconds",
    "Time from a change of an object until its proxies have it",
    short,
    ["kind"],
  ),
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
  unacknowledgedTime: gauge(
    "gatehouse_oldest_unacknowledged_seconds",
    "How long a proxy that is connected to this replica has not acknowledged a later version of something",
    ["gateway"],
  ),
  proxies: gauge(
    "gatehouse_proxies",
    "Proxies of a Gateway: expected or left_out, by the leader; synced, by the replica that they are connected to",
    ["gateway", "state"],
  ),
} as const;
