/**
 * What gwbench has measured on a cluster, against what is asked for and against what another implementation needed.
 *
 * @module
 */
import { digits } from "./page.ts";

/** What one command of gwbench has printed; see `gwbench/README.md`. */
export interface Result {
  readonly [name: string]: unknown;
}

/** A run of a scenario. */
export interface Run {
  readonly scenario: string;
  readonly result: Result;
  /** Cores that were busy with something else just before. */
  readonly busy: number;
}

/** One line of the table. */
export interface ClusterFigure {
  readonly scenario: string;
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** What it should be at most. */
  readonly target?: number;
  /** The same of Envoy Gateway 1.9.0, as gwbench's README has it. */
  readonly envoyGateway?: string;
}

interface Question {
  readonly name: string;
  readonly unit: string;
  readonly target?: number;
  readonly envoyGateway?: string;
  value(result: Result): number;
}

/** A number that gwbench has printed, however deep. */
function at(result: Result, ...path: readonly string[]): number {
  const found = path.reduce<unknown>((value, name) => (value as Result | undefined)?.[name], result);
  return typeof found === "number" ? found : NaN;
}

/** How many of the counted things there were. */
function sum(counts: unknown, counted: (name: string) => boolean = () => true): number {
  const all = Object.entries(counts as Readonly<Record<string, number>>);
  return all.filter(([name]) => counted(name)).reduce((total, [, count]) => total + count, 0);
}

/** How many writes of a resource the API server has answered, whatever the answer. */
function writes(result: Result, phase: string, resource: string): number {
  return sum(result[`${phase}_api_writes`], (name) => name.startsWith(`${resource} `));
}

function conflicts(result: Result, phase: string): number {
  return sum(result[`${phase}_api_writes`], (name) => name.endsWith(" 409") || name.endsWith(" 422"));
}

const change = (count: string): readonly Question[] => [
  {
    name: `${count} changes of a route: requests that failed`,
    unit: "",
    target: 0,
    value: (r) => at(r, "traffic", "not_200"),
    ...count === "20" && { envoyGateway: "697, 991, 411" },
  },
  {
    name: `${count} changes of a route: requests a second`,
    unit: "/s",
    value: (r) => at(r, "traffic", "requests_per_s"),
    ...count === "20" && { envoyGateway: "3,500" },
  },
  {
    name: `${count} changes of a route: shown, p50`,
    unit: "ms",
    value: (r) => at(r, "change_shown", "p50_ms"),
    ...count === "20" && { envoyGateway: "19 to 29" },
  },
  {
    name: `${count} changes of a route: shown, p99`,
    unit: "ms",
    value: (r) => at(r, "change_shown", "p99_ms"),
  },
];

/** What is asked of each scenario. */
const questions: { readonly [scenario: string]: readonly Question[] } = {
  setup: [
    {
      name: "a Gateway: created until programmed",
      unit: "ms",
      value: (r) => at(r, "gateway_programmed_ms"),
    },
    {
      name: "a Gateway: created until the first 200",
      unit: "ms",
      value: (r) => at(r, "gateway_first_200_ms"),
    },
  ],
  probe: [
    {
      name: "1,000 routes one by one: first 200, p50",
      unit: "ms",
      target: 30,
      envoyGateway: "160",
      value: (r) => at(r, "latency", "p50_ms"),
    },
    {
      name: "1,000 routes one by one: first 200, p99",
      unit: "ms",
      target: 80,
      envoyGateway: "345",
      value: (r) => at(r, "latency", "p99_ms"),
    },
    {
      name: "the first 100 of them, mean",
      unit: "ms",
      envoyGateway: "30",
      value: (r) => at(r, "latency_first_tenth", "mean_ms"),
    },
    {
      name: "the last 100 of them, mean",
      unit: "ms",
      envoyGateway: "298",
      value: (r) => at(r, "latency_last_tenth", "mean_ms"),
    },
    {
      name: "wrong answers before the first 200",
      unit: "",
      target: 0,
      envoyGateway: "1,742",
      value: (r) => sum(r.unexpected_answers),
    },
    {
      name: "wrong answers after it",
      unit: "",
      target: 0,
      value: (r) => sum(r.not_200_after_first_200),
    },
    {
      name: "operator",
      unit: "CPU s",
      target: 10,
      envoyGateway: "103",
      value: (r) => at(r, "adding_controller_cpu_s"),
    },
    {
      name: "operator with 1,000 routes, resident",
      unit: "MiB",
      target: 150,
      envoyGateway: "209",
      value: (r) => at(r, "adding_controller_rss_mib"),
    },
    {
      name: "Envoy",
      unit: "CPU s",
      envoyGateway: "73",
      value: (r) => at(r, "adding_proxy_cpu_s"),
    },
    {
      name: "Envoy with 1,000 routes, resident",
      unit: "MiB",
      envoyGateway: "246",
      value: (r) => at(r, "adding_proxy_rss_mib"),
    },
  ],
  attached: [
    {
      name: "1,000 routes at once: attachedRoutes right",
      unit: "s",
      target: 5,
      envoyGateway: "20.7",
      value: (r) => at(r, "setup_attached_s"),
    },
    {
      name: "all statuses right",
      unit: "s",
      target: 5,
      envoyGateway: "21.1",
      value: (r) => at(r, "setup_all_statuses_s"),
    },
    {
      name: "the API server has taken all of them",
      unit: "s",
      value: (r) => at(r, "setup_requests_s"),
    },
    { name: "all have answered 200", unit: "s", value: (r) => at(r, "setup_all_answer_200_s") },
    {
      name: "writes of statuses of routes",
      unit: "",
      target: 1200,
      envoyGateway: "1,000",
      value: (r) => writes(r, "setup", "httproutes/status"),
    },
    {
      name: "writes of the Gateway's status",
      unit: "",
      target: 40,
      envoyGateway: "43",
      value: (r) => writes(r, "setup", "gateways/status"),
    },
    { name: "conflicts", unit: "", value: (r) => conflicts(r, "setup") },
    {
      name: "counts that went back, statuses that went bad",
      unit: "",
      target: 0,
      value: (r) => at(r, "setup_counts_went_back") + at(r, "setup_statuses_went_bad"),
    },
    { name: "operator", unit: "CPU s", value: (r) => at(r, "setup_controller_cpu_s") },
    {
      name: "all deleted: attachedRoutes right",
      unit: "s",
      target: 3,
      envoyGateway: "3.6",
      value: (r) => at(r, "teardown_attached_s"),
    },
    {
      name: "all deleted: the API server has taken it",
      unit: "s",
      value: (r) => at(r, "teardown_requests_s"),
    },
    {
      name: "all deleted: writes of statuses",
      unit: "",
      envoyGateway: "55",
      value: (r) => writes(r, "teardown", "gateways/status") + writes(r, "teardown", "httproutes/status"),
    },
    {
      name: "all deleted: conflicts",
      unit: "",
      envoyGateway: "22",
      value: (r) => conflicts(r, "teardown"),
    },
  ],
  "change-20": change("20"),
  "change-200": change("200"),
  steady: [
    {
      name: "1,000 routes, nothing happens: operator",
      unit: "% of a core",
      target: 0.5,
      envoyGateway: "0.2",
      value: (r) => at(r, "idle_controller_cpu_percent"),
    },
    {
      name: "operator, resident",
      unit: "MiB",
      target: 150,
      envoyGateway: "208",
      value: (r) => at(r, "idle_controller_rss_mib"),
    },
    {
      name: "an endpoint changes each second: operator",
      unit: "% of a core",
      target: 2,
      envoyGateway: "16",
      value: (r) => at(r, "churn_controller_cpu_percent"),
    },
    {
      name: "an endpoint changes each second: requests that failed",
      unit: "",
      target: 0,
      value: (r) => at(r, "churn_traffic", "not_200"),
    },
  ],
  start: [
    {
      name: "start with 1,000 changed routes: the first is right",
      unit: "s",
      value: (r) => at(r, "first_route_s"),
    },
    {
      name: "all are right",
      unit: "s",
      target: 2,
      envoyGateway: "1.85",
      value: (r) => at(r, "all_routes_s"),
    },
    {
      name: "all statuses are right",
      unit: "s",
      target: 8,
      envoyGateway: "33.9",
      value: (r) => at(r, "all_statuses_s"),
    },
    {
      name: "operator",
      unit: "CPU s",
      envoyGateway: "2.6",
      value: (r) => at(r, "start_controller_cpu_s"),
    },
    {
      name: "requests that failed meanwhile",
      unit: "",
      target: 0,
      envoyGateway: "0",
      value: (r) => at(r, "traffic_over_restart", "not_200"),
    },
    {
      name: "all proxies killed: the first 200 of new ones",
      unit: "s",
      value: (r) => at(r, "new_proxy_first_200_s"),
    },
    {
      name: "all proxies killed: all routes have answered 200",
      unit: "s",
      value: (r) => at(r, "new_proxy_all_200_s"),
    },
  ],
  floor: [
    {
      name: "no operator, 1,000 routes at once: the API server has taken all of them",
      unit: "s",
      value: (r) => at(r, "floor_requests_s"),
    },
    {
      name: "no operator: the benchmark itself has written all statuses",
      unit: "s",
      value: (r) => at(r, "floor_all_statuses_s"),
    },
  ],
};

/** The lines of the table that follow from some runs. */
export function clusterFigures(runs: readonly Run[]): readonly ClusterFigure[] {
  return runs.flatMap(({ scenario, result }) =>
    (questions[scenario] ?? []).map(({ value, ...question }) => ({
      scenario,
      ...question,
      value: value(result),
    }))
  );
}

/** Whether it is worse than it should be; something that was not measured is. */
export function isMissed({ value, target }: ClusterFigure): boolean {
  return target !== undefined && !(value <= target);
}

/** A value for people. */
export function shown(value: number): string {
  return Number.isNaN(value) ? "none" : Number.isInteger(value) ? `${value}` : digits(value);
}

/** What all of it was measured on. */
export interface ClusterMachine {
  readonly cpu: string;
  readonly cores: number;
  /** In GB. */
  readonly memory: number;
  readonly kubernetes: string;
  readonly envoy: string;
  readonly deno: string;
  readonly date: string;
  readonly replicas: number;
}

/** What `docs/performance.md` says about it. */
export function clusterPart(runs: readonly Run[], machine: ClusterMachine): string {
  const { cpu, cores, memory, kubernetes, envoy, deno, date, replicas } = machine;
  const busy = runs.map((run) => run.busy);
  return [
    "## On a cluster",
    "",
    "`deno task bench:cluster` has written this part: Gatehouse installed on a Kubernetes cluster from its manifests, measured",
    "by `tests/bench/gwbench`, which knows nothing of it. **Envoy Gateway** 1.9.0 with Envoy 1.39.0 was measured once by the same",
    "program in the same kind of cluster on the same kind of machine, but with an API server that collected garbage as often as Go does by",
    "default, which is about a third of what **floor** took, and, in `start`, with lists of all routes every 50 ms in place of a watch.",
    "**floor** is what the API server takes on this machine for as many routes and as many statuses, with no operator",
    "and no Envoy.",
    "",
    `${cpu}, ${cores} cores, ${memory} GB of memory, Kubernetes ${kubernetes}, Deno ${deno}, ${envoy}, on ${date}. The`,
    `control plane, ${
      replicas === 1 ? "one replica" : `${replicas} replicas`
    } of the operator, Envoy, backends and clients`,
    "share it.",
    `Before the scenarios ${digits(Math.min(...busy))} to ${
      digits(Math.max(...busy))
    } of its cores were busy with something else${
      Math.max(...busy) > 0.25 * cores
        ? ": **latencies are longer than they would be on a machine of one's own**; CPU time and counts are not"
        : ""
    }.`,
    "",
    "| Scenario | Figure | Gatehouse | Unit | At most | Envoy Gateway |",
    "| --- | --- | ---: | --- | ---: | ---: |",
    ...clusterFigures(runs).map((figure) => {
      const { scenario, name, unit, value, target, envoyGateway = "" } = figure;
      const most = target === undefined ? "" : isMissed(figure) ? `**${target}** missed` : `${target}`;
      return `| ${[scenario, name, shown(value), unit, most, envoyGateway].join(" | ")} |`;
    }),
  ].join("\n");
}
