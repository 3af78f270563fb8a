/**
 * What somebody should be woken up for, and what they should look at: the source of the alert rules in `deploy/monitoring`.
 *
 * @module
 */

import { buildInfo, definitions } from "../controllers/runtime/metric_definitions.ts";

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

const { leader, driftTime, contributions, proxies, reconcileErrors, queueDepth, longestWork } = definitions;
const { unacknowledgedTime, watchUp, eventLoopLag, failedRows } = definitions;
const lagBuckets = `${eventLoopLag.name}_bucket`;

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
    expr: `absent(${buildInfo})`,
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
    expr: `sum by (job) (${leader.name}) != 1`,
    for: "1m",
    severity: "critical",
    summary: "Not exactly one replica of Gatehouse leads",
    description:
      "Without a leader no status is written and no Gateway is created or removed; traffic is not affected. " +
      "Look at the Lease in the operator's namespace and at the logs of the replicas.",
    fires: [series(leader.name, pod, "0x60")],
    labels: { job: "gatehouse" },
  },
  {
    name: "GatehouseDrift",
    expr: `${driftTime.name} > 60`,
    for: "1m",
    severity: "critical",
    summary: "Proxies of {{ $labels.gateway }} do not take changes",
    description: "Something has waited for {{ $value | humanizeDuration }} to be programmed. " +
      "`gatehouse status` and the conditions of the Gateway and its routes tell what and why.",
    fires: [series(driftTime.name, gateway, "0+60x60")],
    labels: gateway,
  },
  {
    name: "GatehouseProxyNotAcknowledging",
    expr: `${unacknowledgedTime.name} > 60`,
    for: "1m",
    severity: "critical",
    summary: "A proxy of {{ $labels.gateway }} is connected and does not take changes",
    description:
      "For {{ $value | humanizeDuration }} it has had older endpoints, certificates or routes than it should, " +
      "also if it has been left out of what is programmed. Look at the log of Envoy and at its metrics `*_update_rejected`.",
    fires: [series(unacknowledgedTime.name, gateway, "0+60x60")],
    labels: gateway,
  },
  {
    name: "GatehouseConfigurationRejected",
    expr: `${contributions.name}{state="rejected"} > 0`,
    for: "5m",
    severity: "warning",
    summary: "Envoy refuses a part of the configuration of {{ $labels.gateway }}",
    description: "That part answers 500, everything else is served. " +
      "The objects have Programmed=False with Envoy's words: fix them.",
    fires: [series(contributions.name, { ...gateway, state: "rejected" })],
    labels: { ...gateway, state: "rejected" },
  },
  {
    name: "GatehouseProxiesOutOfSync",
    expr: `sum by (job, gateway) (${proxies.name}{state="expected"}) ` +
      `- sum by (job, gateway) (${proxies.name}{state="synced"}) > 0`,
    for: "5m",
    severity: "warning",
    summary: "{{ $value }} proxies of {{ $labels.gateway }} do not have the current configuration",
    description:
      "They are not connected, or do not answer. Look at their pods and at their connection to the xDS Service.",
    fires: [
      series(proxies.name, { ...gateway, state: "expected" }, "3x60"),
      series(proxies.name, { ...gateway, state: "synced" }),
      series(proxies.name, { ...gateway, instance: "b", state: "synced" }),
    ],
    labels: { job: "gatehouse", gateway: "shop/web" },
  },
  {
    name: "GatehouseReconcileErrors",
    expr: `rate(${reconcileErrors.name}[5m]) > 0.1`,
    for: "10m",
    severity: "warning",
    summary: "Writes of {{ $labels.controller }} fail",
    description:
      "The API server refuses them or cannot be reached. The log of the leader says what it answers; " +
      "what failed is tried again.",
    fires: [series(reconcileErrors.name, { ...pod, controller: "status" }, "0+60x60")],
    labels: { ...pod, controller: "status" },
  },
  {
    name: "GatehouseQueueStuck",
    expr: `${queueDepth.name} > 0 and ${longestWork.name} > 60`,
    for: "5m",
    severity: "warning",
    summary: "The queue {{ $labels.name }} does not get on",
    description: "Work on one item takes longer than a minute while others wait.",
    fires: [
      series(queueDepth.name, { ...pod, name: "status", controller: "status" }, "5x60"),
      series(
        longestWork.name,
        { ...pod, name: "status", controller: "status" },
        "100+60x60",
      ),
    ],
    labels: { ...pod, name: "status", controller: "status" },
  },
  {
    name: "GatehouseWatchDown",
    expr: `${watchUp.name} == 0`,
    for: "5m",
    severity: "critical",
    summary: "Changes of {{ $labels.kind }} are not seen",
    description:
      "The watch cannot be established: the API server cannot be reached, or RBAC does not allow it.",
    fires: [series(watchUp.name, { ...pod, kind: "Gateway" }, "0x60")],
    labels: { ...pod, kind: "Gateway" },
  },
  {
    name: "GatehouseEventLoopBlocked",
    expr: `histogram_quantile(0.99, sum by (job, instance, le) (rate(${lagBuckets}[5m]))) > 0.25`,
    for: "10m",
    severity: "warning",
    summary: "{{ $labels.instance }} is busy for too long at a time",
    description:
      "Probes, the lease and streams share the thread. Give it more CPU, or split what it watches.",
    fires: [
      series(lagBuckets, { ...pod, le: "0.25" }, "0x60"),
      series(lagBuckets, { ...pod, le: "1" }, "0+60x60"),
      series(lagBuckets, { ...pod, le: "+Inf" }, "0+60x60"),
    ],
    labels: pod,
  },
  {
    name: "GatehouseFailedRows",
    expr: `${failedRows.name} > 0`,
    for: "1m",
    severity: "warning",
    summary: "Gatehouse has a bug: rows of {{ $labels.table }} cannot be derived",
    description: "The objects concerned say so in their statuses, the log has the stack. Please report it.",
    fires: [series(failedRows.name, { ...pod, table: "routes" })],
    labels: { ...pod, table: "routes" },
  },
];

/** What an installation with nothing wrong tells: of every metric that an alert asks for. None of them fires then. */
export const healthy: Alert["fires"] = [
  series(buildInfo, { ...pod, version: "1.2.3" }),
  series(leader.name, pod),
  series(leader.name, { ...pod, instance: "b" }, "0x60"),
  series(driftTime.name, gateway, "0 5 0x58"),
  series(unacknowledgedTime.name, gateway, "0 5 0x58"),
  series(contributions.name, { ...gateway, state: "programmed" }, "5x60"),
  series(contributions.name, { ...gateway, state: "rejected" }, "0x60"),
  series(proxies.name, { ...gateway, state: "expected" }, "2x60"),
  series(proxies.name, { ...gateway, state: "synced" }),
  series(proxies.name, { ...gateway, instance: "b", state: "synced" }),
  series(reconcileErrors.name, { ...pod, controller: "status" }, "3x60"),
  series(queueDepth.name, { ...pod, name: "status", controller: "status" }, "5x60"),
  series(
    longestWork.name,
    { ...pod, name: "status", controller: "status" },
    "1x60",
  ),
  series(watchUp.name, { ...pod, kind: "Gateway" }),
  ...["0.25", "1", "+Inf"].map((le) => series(lagBuckets, { ...pod, le }, "0+60x60")),
  series(failedRows.name, { ...pod, table: "routes" }, "0x60"),
];
