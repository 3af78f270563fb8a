/**
 * What somebody should be woken up for, and what they should look at: the source of the alert rules in `deploy/monitoring`.
 *
 * @module
 */

export interface Alert {
  readonly name: string;
  readonly expr: string;
  /** How long it has to be so. */
  readonly for: string;
  readonly severity: "critical" | "warning";
  readonly summary: string;
  /** What it means and what to do. */
  readonly description: string;
  /** Series that make it fire, in promtool's notation, for the test of the rule. */
  readonly fires: readonly { readonly series: string; readonly values: string }[];
  /** Labels of the alert that fires, besides its severity. */
  readonly labels: { readonly [name: string]: string };
}

const pod = { job: "gatehouse", instance: "a" };
const gateway = { ...pod, gateway: "shop/web" };
const label = (labels: { readonly [name: string]: string }) =>
  Object.entries(labels).map(([name, value]) => `${name}="${value}"`).join(",");
const series = (metric: string, labels: { readonly [name: string]: string }, values = "1x60") => ({
  series: `${metric}{${label(labels)}}`,
  values,
});

export const alerts: readonly Alert[] = [
  {
    name: "GatehouseAbsent",
    expr: "absent(gatehouse_build_info)",
    for: "5m",
    severity: "critical",
    summary: "No Gatehouse is there",
    description: "Proxies go on serving what they have, and nothing that changes reaches them. " +
      "Look at the pods of the operator.",
    fires: [series("up", pod)],
    labels: {},
  },
  {
    name: "GatehouseNoLeader",
    expr: "sum by (job) (gatehouse_leader) != 1",
    for: "1m",
    severity: "critical",
    summary: "Not exactly one replica of Gatehouse leads",
    description:
      "Without a leader no status is written and no Gateway is created or removed; traffic is not affected. " +
      "Look at the Lease in the operator's namespace and at the logs of the replicas.",
    fires: [series("gatehouse_leader", pod, "0x60")],
    labels: { job: "gatehouse" },
  },
  {
    name: "GatehouseDrift",
    expr: "gatehouse_oldest_unprogrammed_seconds > 60",
    for: "1m",
    severity: "critical",
    summary: "Proxies of {{ $labels.gateway }} do not take changes",
    description: "Something has waited for {{ $value | humanizeDuration }} to be programmed. " +
      "`gatehouse status` and the conditions of the Gateway and its routes tell what and why.",
    fires: [series("gatehouse_oldest_unprogrammed_seconds", gateway, "0+60x60")],
    labels: gateway,
  },
  {
    name: "GatehouseProxyNotAcknowledging",
    expr: "gatehouse_oldest_unacknowledged_seconds > 60",
    for: "1m",
    severity: "critical",
    summary: "A proxy of {{ $labels.gateway }} is connected and does not take changes",
    description:
      "For {{ $value | humanizeDuration }} it has had older endpoints, certificates or routes than it should, " +
      "also if it has been left out of what is programmed. Look at the log of Envoy and at its metrics `*_update_rejected`.",
    fires: [series("gatehouse_oldest_unacknowledged_seconds", gateway, "0+60x60")],
    labels: gateway,
  },
  {
    name: "GatehouseConfigurationRejected",
    expr: 'gatehouse_contributions{state="rejected"} > 0',
    for: "5m",
    severity: "warning",
    summary: "Envoy refuses a part of the configuration of {{ $labels.gateway }}",
    description: "That part answers 500, everything else is served. " +
      "The objects have Programmed=False with Envoy's words: fix them.",
    fires: [series("gatehouse_contributions", { ...gateway, state: "rejected" })],
    labels: { ...gateway, state: "rejected" },
  },
  {
    name: "GatehouseProxiesOutOfSync",
    expr: 'sum by (job, gateway) (gatehouse_proxies{state="expected"}) ' +
      '- sum by (job, gateway) (gatehouse_proxies{state="synced"}) > 0',
    for: "5m",
    severity: "warning",
    summary: "{{ $value }} proxies of {{ $labels.gateway }} do not have the current configuration",
    description:
      "They are not connected, or do not answer. Look at their pods and at their connection to the xDS Service.",
    fires: [
      series("gatehouse_proxies", { ...gateway, state: "expected" }, "3x60"),
      series("gatehouse_proxies", { ...gateway, state: "synced" }),
      series("gatehouse_proxies", { ...gateway, instance: "b", state: "synced" }),
    ],
    labels: { job: "gatehouse", gateway: "shop/web" },
  },
  {
    name: "GatehouseReconcileErrors",
    expr: "rate(controller_runtime_reconcile_errors_total[5m]) > 0.1",
    for: "10m",
    severity: "warning",
    summary: "Writes of {{ $labels.controller }} fail",
    description:
      "The API server refuses them or cannot be reached. The log of the leader says what it answers; " +
      "what failed is tried again.",
    fires: [series("controller_runtime_reconcile_errors_total", { ...pod, controller: "status" }, "0+60x60")],
    labels: { ...pod, controller: "status" },
  },
  {
    name: "GatehouseQueueStuck",
    expr: "workqueue_depth > 0 and workqueue_longest_running_processor_seconds > 60",
    for: "5m",
    severity: "warning",
    summary: "The queue {{ $labels.name }} does not get on",
    description: "Work on one item takes longer than a minute while others wait.",
    fires: [
      series("workqueue_depth", { ...pod, name: "status", controller: "status" }, "5x60"),
      series(
        "workqueue_longest_running_processor_seconds",
        { ...pod, name: "status", controller: "status" },
        "100+60x60",
      ),
    ],
    labels: { ...pod, name: "status", controller: "status" },
  },
  {
    name: "GatehouseWatchDown",
    expr: "gatehouse_watch_up == 0",
    for: "5m",
    severity: "critical",
    summary: "Changes of {{ $labels.kind }} are not seen",
    description:
      "The watch cannot be established: the API server cannot be reached, or RBAC does not allow it.",
    fires: [series("gatehouse_watch_up", { ...pod, kind: "Gateway" }, "0x60")],
    labels: { ...pod, kind: "Gateway" },
  },
  {
    name: "GatehouseEventLoopBlocked",
    expr:
      "histogram_quantile(0.99, sum by (job, instance, le) (rate(gatehouse_event_loop_lag_seconds_bucket[5m]))) > 0.25",
    for: "10m",
    severity: "warning",
    summary: "{{ $labels.instance }} is busy for too long at a time",
    description:
      "Probes, the lease and streams share the thread. Give it more CPU, or split what it watches.",
    fires: [
      series("gatehouse_event_loop_lag_seconds_bucket", { ...pod, le: "0.25" }, "0x60"),
      series("gatehouse_event_loop_lag_seconds_bucket", { ...pod, le: "1" }, "0+60x60"),
      series("gatehouse_event_loop_lag_seconds_bucket", { ...pod, le: "+Inf" }, "0+60x60"),
    ],
    labels: pod,
  },
  {
    name: "GatehouseFailedRows",
    expr: "gatehouse_failed_rows > 0",
    for: "1m",
    severity: "warning",
    summary: "Gatehouse has a bug: rows of {{ $labels.table }} cannot be derived",
    description: "The objects concerned say so in their statuses, the log has the stack. Please report it.",
    fires: [series("gatehouse_failed_rows", { ...pod, table: "routes" })],
    labels: { ...pod, table: "routes" },
  },
];

/** What an installation with nothing wrong tells: of every metric that an alert asks for. None of them fires then. */
export const healthy: Alert["fires"] = [
  series("gatehouse_build_info", { ...pod, version: "1.2.3" }),
  series("gatehouse_leader", pod),
  series("gatehouse_leader", { ...pod, instance: "b" }, "0x60"),
  series("gatehouse_oldest_unprogrammed_seconds", gateway, "0 5 0x58"),
  series("gatehouse_oldest_unacknowledged_seconds", gateway, "0 5 0x58"),
  series("gatehouse_contributions", { ...gateway, state: "programmed" }, "5x60"),
  series("gatehouse_contributions", { ...gateway, state: "rejected" }, "0x60"),
  series("gatehouse_proxies", { ...gateway, state: "expected" }, "2x60"),
  series("gatehouse_proxies", { ...gateway, state: "synced" }),
  series("gatehouse_proxies", { ...gateway, instance: "b", state: "synced" }),
  series("controller_runtime_reconcile_errors_total", { ...pod, controller: "status" }, "3x60"),
  series("workqueue_depth", { ...pod, name: "status", controller: "status" }, "5x60"),
  series(
    "workqueue_longest_running_processor_seconds",
    { ...pod, name: "status", controller: "status" },
    "1x60",
  ),
  series("gatehouse_watch_up", { ...pod, kind: "Gateway" }),
  ...["0.25", "1", "+Inf"].map((le) =>
    series("gatehouse_event_loop_lag_seconds_bucket", { ...pod, le }, "0+60x60")
  ),
  series("gatehouse_failed_rows", { ...pod, table: "routes" }, "0x60"),
];
