/**
 * Measures Gatehouse on a Kubernetes cluster of its own: `deno task bench:cluster`.
 *
 * A table for people, `build/bench-cluster.json` for machines, and a part of `docs/performance.md` if everything was
 * measured or `--page` asks for it.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { Argument, Command, InvalidArgumentError } from "commander";
import { buildCluster, type Cluster, startCluster } from "../cluster/support/cluster.ts";
import { kubernetesVersion } from "../tools/kubectl.ts";
import { installGatehouse, system } from "../cluster/support/installation.ts";
import { envoyBinaryForTests } from "../standalone/envoy_for_tests.ts";
import { root } from "../support/command.ts";
import {
  clusterFigures,
  type ClusterMachine,
  clusterPart,
  isMissed,
  type Result,
  type Run,
  shown,
} from "./cluster_figures.ts";
import { withPart } from "./marked.ts";

/** The commands of gwbench, by the scenarios that are made of them, in their order. */
const scenarios: { readonly [name: string]: readonly [command: string, ...args: readonly string[]] } = {
  setup: ["setup"],
  probe: ["probe", "-n", "1000"],
  attached: ["attached", "-n", "1000"],
  "change-20": ["change", "-iterations", "20"],
  "change-200": ["change", "-iterations", "200"],
  steady: ["steady", "-n", "1000", "-services", "100"],
  start: ["start", "-n", "1000", "-services", "100"],
  floor: ["floor", "-n", "1000"],
};

/** What gwbench has to know of this implementation. */
const flags = [
  "-label=gatehouse",
  "-class=gatehouse",
  "-gateway=bench/gw",
  "-ns=bench",
  String.raw`-controller=^/usr/local/bin/deno run .*/gatehouse\.mjs operator`,
  "-proxy=^/usr/local/bin/envoy ",
  `-controller-deployment=${system}/gatehouse`,
  "-proxy-selector=bench/gateway.networking.k8s.io/gateway-name=gw",
];

interface Options {
  readonly replicas: number;
  readonly page?: boolean;
}

const results = `${root}build/bench-cluster.json`;

/** How long to look at what else the machine does, in milliseconds. */
const look = 2000;

async function main(words: readonly string[], { replicas, page }: Options): Promise<boolean> {
  const { images } = await buildCluster((line) => console.error(line));
  const gwbench = `${images["bench/backend"]!.layers[0]}/gwbench`;
  await using cluster = await startCluster();
  await installGatehouse(cluster, { replicas });
  const runs: Run[] = [];
  for (const [scenario, [command, ...args]] of Object.entries(scenarios)) {
    // Without the Gateway that it makes there is nothing to measure.
    if (scenario !== "setup" && words.length > 0 && !words.includes(scenario)) continue;
    const busy = await busyCores();
    console.error(`running ${scenario}; ${shown(busy)} cores are busy with something else`);
    runs.push({ scenario, busy, result: await measure(cluster, [gwbench, command, ...flags, ...args]) });
  }
  const machine = await thisMachine(replicas);
  print(runs);
  const all = page ? await withEarlier(runs) : runs;
  const json = { machine, figures: clusterFigures(all), runs: all };
  await Deno.mkdir(`${root}build`, { recursive: true });
  await Deno.writeTextFile(results, JSON.stringify(json, undefined, 2) + "\n");
  if (page || words.length === 0) await writePage(clusterPart(all, machine));
  return !clusterFigures(runs).some(isMissed);
}

/** Runs gwbench within the cluster; what it says on the way can be seen. */
async function measure(cluster: Cluster, command: readonly string[]): Promise<Result> {
  const [program, ...args] = cluster.command(command);
  const { code, stdout } = await new Deno.Command(program, {
    args,
    env: { KUBECONFIG: `${cluster.folder}/admin.kubeconfig` },
    stderr: "inherit",
  }).output();
  if (code !== 0) throw new Error(`Cannot measure: ${command.join(" ")} has ended with status ${code}`);
  return JSON.parse(new TextDecoder().decode(stdout)) as Result;
}

/** How many cores are busy while we do nothing. */
async function busyCores(): Promise<number> {
  const times = async () => {
    const [first = ""] = (await Deno.readTextFile("/proc/stat")).split("\n");
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = first
      .trim().split(/\s+/).slice(1).map(Number);
    const busy = user + nice + system + irq + softirq + steal;
    return { busy, all: busy + idle + wait };
  };
  const before = await times();
  await new Promise((resolve) => setTimeout(resolve, look));
  const after = await times();
  return navigator.hardwareConcurrency * (after.busy - before.busy) / (after.all - before.all);
}

/** These runs, and what an earlier call has measured of the other scenarios. */
async function withEarlier(runs: readonly Run[]): Promise<readonly Run[]> {
  const text = await Deno.readTextFile(results).catch(() => `{ "runs": [] }`);
  const earlier = (JSON.parse(text) as { readonly runs: readonly Run[] }).runs;
  return Object.keys(scenarios).flatMap((name) => {
    const run = [...runs, ...earlier].find(({ scenario }) => scenario === name);
    return run ? [run] : [];
  });
}

async function thisMachine(replicas: number): Promise<ClusterMachine> {
  const processors = await Deno.readTextFile("/proc/cpuinfo");
  return {
    cpu: /model name\s*: (.*)/.exec(processors)?.[1] ?? "Unknown processor",
    cores: navigator.hardwareConcurrency,
    memory: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
    kubernetes: kubernetesVersion,
    envoy: `Envoy ${(await envoyBinaryForTests()).version}`,
    deno: Deno.version.deno,
    date: new Date().toISOString().slice(0, 10),
    replicas,
  };
}

function print(runs: readonly Run[]): void {
  const header = ["scenario", "figure", "value", "unit", "at most", "Envoy Gateway"];
  const rows = [
    header,
    ...clusterFigures(runs).map((figure) => [
      figure.scenario,
      figure.name,
      shown(figure.value),
      figure.unit,
      figure.target === undefined ? "" : `${figure.target}${isMissed(figure) ? "  missed" : ""}`,
      figure.envoyGateway ?? "",
    ]),
  ];
  const widths = header.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  for (const row of rows) {
    const cells = row.map((cell, i) => i === 2 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!));
    console.log(cells.join("  ").trimEnd());
  }
}

async function writePage(text: string): Promise<void> {
  const path = `${root}docs/performance.md`;
  await Deno.writeTextFile(path, withPart(await Deno.readTextFile(path), "cluster", text));
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", path] }).output();
}

function count(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It has to be a number of at least 1.");
  return Number(text);
}

const program = new Command("deno task bench:cluster")
  .description("Measure Gatehouse on a Kubernetes cluster of its own, with the load of tests/bench/gwbench")
  .addArgument(
    new Argument("[scenarios...]", "some of them; all by default").choices(Object.keys(scenarios)),
  )
  // One, as the others that gwbench has measured; each further one serves xDS and waits.
  .option("--replicas <number>", "how many replicas of the operator there are", count, 1)
  .option(
    "--page",
    "write docs/performance.md, with what was measured before of the scenarios that are left out",
  )
  .addHelpText(
    "after",
    `
Needs what deno task cluster needs. The table goes to stdout, everything that was measured to build/bench-cluster.json.
The status is 1 if a target was missed.

Examples:
  deno task bench:cluster                    measure everything, and write docs/performance.md; 8 minutes
  deno task bench:cluster probe attached     two of the scenarios
  deno task bench:cluster --replicas=2 start`,
  );
program.action(async (words: readonly string[], options: Options) => {
  if (!await main(words, options)) Deno.exitCode = 1;
});

try {
  await program.parseAsync(Deno.args, { from: "user" });
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  Deno.exit(1);
}
