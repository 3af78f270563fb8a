/**
 * Runs the official Gateway API conformance suites on clusters of their own: `deno task conformance`.
 *
 * What was counted goes to `build/conformance/summary.json`, for CI; reports and logs are beside it.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { Command, InvalidArgumentError, Option } from "commander";
import { buildCluster, startCluster } from "../tests/cluster/support/cluster.ts";
import { installGatehouse } from "../tests/cluster/support/installation.ts";
import { startLocal } from "../tests/conformance/operators.ts";
import {
  buildSuite,
  claimedProfile,
  echoImages,
  missed,
  type Outcome,
  runSuite,
  testEcho,
  type Version,
  versions,
} from "../tests/conformance/suite.ts";
import { cacheDirectory } from "../standalone/envoy/find.ts";
import { root } from "../tests/support/command.ts";

interface Options {
  readonly version: readonly Version[];
  readonly profile: readonly string[];
  readonly run?: string;
  readonly repeat: number;
  readonly local?: boolean;
  readonly replicas?: number;
  readonly build?: boolean;
}

const results = `${root}build/conformance`;
const cache = {
  cache: `${cacheDirectory((name) => Deno.env.get(name), `${root}.gatehouse`)}/cluster`,
  progress: (line: string) => console.log(line),
};

/** Addresses that the cluster's load balancer, and `gatehouse local`, have and have not. */
const addresses = {
  cluster: { usable: "172.18.0.200", unusable: "192.0.2.1" },
  local: { usable: "172.18.1.200", unusable: "192.0.2.1" },
};

async function main(flags: readonly string[], options: Options): Promise<boolean> {
  await Deno.mkdir(results, { recursive: true });
  await Deno.remove(`${results}/summary.json`).catch(() => {});
  await buildCluster(cache.progress);
  await testEcho();
  const images = await echoImages(cache);
  const programs = new Map<Version, string>();
  for (const version of options.version) programs.set(version, await buildSuite(version, cache));
  if (options.build) return true;
  const total = { passed: 0, failed: 0 };
  for (let round = 1; round <= options.repeat; round++) {
    for (const [version, program] of programs) {
      const name = options.repeat === 1 ? `v${version}` : `v${version}-${round}`;
      console.log(`\n# ${name}: ${options.run ?? options.profile.join(", ")}`);
      const start = performance.now();
      const outcome = await runOn(version, program, name, images, flags, options);
      tell(outcome, name, (performance.now() - start) / 1000);
      const { passed, failed, skipped, unclaimed, broken } = outcome;
      total.passed += passed.length;
      total.failed += failed.length + (broken === undefined ? 0 : 1);
      // Whoever runs all of a profile wants all of it.
      if (options.run === undefined) total.failed += skipped.length;
      // What is about pods is not claimed where there are none.
      if (options.run === undefined && !options.local) total.failed += unclaimed.length;
      const isClean = failed.length + skipped.length === 0 && broken === undefined;
      if (isClean && isEverything(flags, options)) {
        const lines = missed(version, outcome);
        for (const line of lines) {
          console.log(`NOT AS IT HAS TO BE: ${line}; tests/conformance/suite.ts says what does`);
        }
        total.failed += lines.length;
      }
    }
  }
  await Deno.writeTextFile(`${results}/summary.json`, JSON.stringify(total) + "\n");
  return total.failed === 0;
}

/** Whether all tests of the profile run that there are, and no others. */
function isEverything(flags: readonly string[], { run, profile, local }: Options): boolean {
  return flags.length === 0 && run === undefined && !local && profile.join() === claimedProfile;
}

async function runOn(
  version: Version,
  program: string,
  name: string,
  images: Awaited<ReturnType<typeof echoImages>>,
  flags: readonly string[],
  { profile: profiles, run: test, local, replicas }: Options,
): Promise<Outcome> {
  await using cluster = await startCluster({
    gatewayApi: { version: `v${version}`, channel: "experimental" },
    images,
    progress: () => {},
  });
  await using _local = local ? await startLocal(cluster) : undefined;
  if (!local) await installGatehouse(cluster, replicas === undefined ? {} : { replicas });
  const outcome = await runSuite({
    cluster,
    program,
    profiles,
    ...test !== undefined && { test },
    addresses: local ? addresses.local : addresses.cluster,
    report: `${results}/${name}.yaml`,
    log: `${results}/${name}.log`,
    flags,
  });
  await keepLogs(`${cluster.folder}/logs`, `${results}/${name}-pods`);
  return outcome;
}

/** Copies what the operator and the proxies printed. */
async function keepLogs(from: string, to: string): Promise<void> {
  await Deno.remove(to, { recursive: true }).catch(() => {});
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) {
    if (/_(operator|envoy)\.log$/.test(name)) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

function tell(
  { passed, failed, skipped, unclaimed, broken }: Outcome,
  name: string,
  seconds: number,
): void {
  if (broken !== undefined) console.log(`The suite gave no result; its last words:\n${broken}`);
  for (const test of failed) console.log(`FAILED ${test}`);
  for (const test of skipped) console.log(`SKIPPED ${test}`);
  for (const feature of unclaimed) console.log(`NOT CLAIMED ${feature}`);
  console.log(
    `${name}: ${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped, ${
      seconds.toFixed(0)
    } s; ` +
      `see build/conformance/${name}.yaml and .log`,
  );
}

function atLeastOne(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError("Expected a whole number from 1.");
  }
  return value;
}

const program = new Command("deno task conformance")
  .description("Run the official Gateway API conformance suites, each on a cluster of its own (needs root)")
  .addOption(
    new Option("--version <version...>", "versions of Gateway API").choices([...versions])
      .default([...versions]),
  )
  .option("--profile <name...>", "conformance profiles", [claimedProfile])
  .option("--run <test>", "run one test only, by its short name")
  .option("--repeat <n>", "run everything so many times", atLeastOne, 1)
  .option(
    "--local",
    "run the operator and its proxies as processes of the node (gatehouse local), not as pods",
  )
  .option("--replicas <n>", "replicas of the operator, instead of what its manifests say", atLeastOne)
  .option("--build", "build only")
  .argument("[flags...]", "after --, for the suite itself")
  .addHelpText(
    "after",
    `
Examples:
  deno task conformance
  deno task conformance --version 1.7.0 --run HTTPRouteCORS
  deno task conformance --repeat 3
  deno task conformance -- -debug -fail-fast`,
  )
  .action(async (flags: readonly string[], options: Options) => {
    if (!await main(flags, options)) Deno.exit(1);
  });

try {
  await program.parseAsync(Deno.args, { from: "user" });
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.stack : error}`);
  Deno.exit(1);
}
