/**
 * The official Gateway API conformance suite, built and run in a cluster.
 *
 * Each version is a Go module of its own (`v1.6.3/`, `v1.7.0/`), since Go has no two versions of one module in a program.
 * The backends that the suite deploys are `echo/`, whatever image it asks for.
 *
 * @module
 */
import { parse } from "yaml";
import type { Cluster } from "../cluster/support/cluster.ts";
import type { Images } from "../cluster/support/images.ts";
import { root, succeed } from "../support/command.ts";
import type { CacheOptions } from "../tools/cache.ts";
import { goProgram } from "../tools/go.ts";

/** The versions of Gateway API whose suites there are. */
export const versions = ["1.6.3", "1.7.0"] as const;
export type Version = (typeof versions)[number];

const folder = `${root}tests/conformance`;

/** The profile of which we claim everything. */
export const claimedProfile = "GATEWAY-HTTP";

/** What passes of it. A suite that leaves out tests does not say so: nothing fails, and nothing is skipped. */
export const passing: { readonly [version in Version]: Counted } = {
  "1.6.3": { core: 36, extended: 58, provisional: [] },
  "1.7.0": {
    core: 40,
    extended: 64,
    provisional: [
      "BackendTLSPolicyPreserveForeignStatus",
      "GatewayPreserveForeignConditions",
      "HTTPRouteBackendURLRewrite",
      "HTTPRoutePreserveForeignStatus",
      "HTTPRouteRetryWithBackendTimeout",
      "HTTPRouteRetryWithRequestTimeout",
    ],
  },
};

/** What Go has to be told to build a version: one that needs a newer Go than this machine's has Go fetch it. */
const goFor: { readonly [version in Version]: { readonly [name: string]: string } } = {
  "1.6.3": {},
  "1.7.0": { GOTOOLCHAIN: "go1.27.0" },
};

/** Builds the suite, if need be; gives the program. */
export async function buildSuite(version: Version, options: CacheOptions): Promise<string> {
  const built = await goProgram({
    name: `conformance-${version}`,
    module: `${folder}/v${version}`,
    packages: { suite: "." },
    test: true,
    takes: "4 minutes",
    env: goFor[version],
  }, options);
  return `${built}/suite`;
}

/** The images that the suites' backends ask for. */
export async function echoImages(options: CacheOptions): Promise<Images> {
  const echo = await goProgram(
    { name: "echo", module: `${folder}/echo`, packages: { echo: "." }, takes: "1 minute" },
    options,
  );
  const image = { layers: [echo], entrypoint: ["/echo"], user: 65532 };
  return {
    "registry.k8s.io/gateway-api/echo-basic": image,
    "registry.k8s.io/gateway-api/conformance/echo-basic": image,
  };
}

/** Runs the tests of the backends themselves, of which Go remembers that they passed. */
export async function testEcho(): Promise<void> {
  await succeed(["go", "test", "./..."], { cwd: `${folder}/echo` });
}

export interface SuiteRun {
  readonly cluster: Cluster;
  /** As from {@linkcode buildSuite}. */
  readonly program: string;
  readonly profiles: readonly string[];
  /** The one test to run; all of them if absent. */
  readonly test?: string;
  /** One that a load balancer has to give, and one that it cannot. */
  readonly addresses: { readonly usable: string; readonly unusable: string };
  /** The files to write: the suite's report, and what it prints. */
  readonly report: string;
  readonly log: string;
  /** For the suite itself. */
  readonly flags: readonly string[];
}

/** Tests that passed. */
export interface Counted {
  readonly core: number;
  readonly extended: number;
  /** Those of either that may still change, by name. */
  readonly provisional: readonly string[];
}

/** What came of a run. */
export interface Outcome {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Tests that a profile wants, and that did not run. */
  readonly skipped: readonly string[];
  /** Features of the profiles that are not claimed, though there are tests of them, which therefore did not run. */
  readonly unclaimed: readonly string[];
  /** How many tests of the profile that we claim passed, as the report counts them. */
  readonly counted: Counted;
  /** Why there is no result, if there is none: the last words of the suite. */
  readonly broken?: string;
}

/** Runs the suite where the cluster's pods and load balancers can be reached. */
export async function runSuite(run: SuiteRun): Promise<Outcome> {
  const { cluster, program, profiles, addresses, report, log } = run;
  await Deno.remove(report).catch(() => {});
  const suite = cluster.command([
    program,
    "-test.v",
    "-test.timeout=15m", // it takes three
    "-test.run=^TestConformance$",
    "-gateway-class=gatehouse",
    `-conformance-profiles=${profiles.join(",")}`,
    ...run.test === undefined ? [] : [`-run-test=${run.test}`],
    `-usable-address=${addresses.usable}`,
    `-unusable-address=${addresses.unusable}`,
    `-report-output=${report}`,
    // The cluster ends with the run. To delete them takes as long as their proxies drain, which 1.7 has no patience for.
    "-cleanup-base-resources=false",
    ...implementation,
    ...run.flags,
  ]);
  // Into the file, so that nothing is lost, whatever becomes of this process.
  const child = new Deno.Command("sh", {
    args: ["-c", 'exec "$0" "$@" >"$LOG" 2>&1', ...suite],
    env: { KUBECONFIG: `${cluster.folder}/admin.kubeconfig`, LOG: log },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const { success } = await child.status;
  const lines = (await Deno.readTextFile(log)).trimEnd().split("\n");
  return outcomeOf(lines, await Deno.readTextFile(report).catch(() => ""), success);
}

/** How the report names us. */
const implementation = [
  "-organization=gatehouse",
  "-project=gatehouse",
  "-url=https://gatehouse.dev",
  "-version=0.1.0",
  "-contact=https://gatehouse.dev",
];

interface Status {
  readonly statistics?: { readonly Passed: number };
  readonly skippedTests?: readonly string[];
  readonly unsupportedFeatures?: readonly string[];
}

interface Report {
  readonly profiles?: readonly {
    readonly name: string;
    readonly core: Status;
    readonly extended?: Status;
  }[];
  readonly succeededProvisionalTests?: readonly string[];
}

/** Features of 1.7's profiles that none of its tests is about: nothing is missed for not claiming them. */
const untested: ReadonlySet<string> = new Set([
  "ClusterTrustBundle",
  "GatewayAddressRoutability",
  "GatewayAddressRoutabilityCluster",
  "GatewayListenerFilters",
]);

/** Reads what `go test -v` printed, and the report. */
export function outcomeOf(lines: readonly string[], report: string, success: boolean): Outcome {
  const results = lines.flatMap((line) => {
    const [, result, name] = line.match(/^ {4}--- (PASS|FAIL|SKIP): TestConformance\/(\S+) /) ?? [];
    return result === undefined || name === undefined ? [] : [{ result, name }];
  });
  const named = (which: string) => results.flatMap(({ result, name }) => result === which ? [name] : []);
  const { profiles = [], succeededProvisionalTests = [] } = (parse(report) ?? {}) as Report;
  const { core, extended } = profiles.find(({ name }) => name === claimedProfile) ?? {};
  const statuses = profiles.flatMap(({ core, extended }) => extended ? [core, extended] : [core]);
  const all = (of: (status: Status) => readonly string[] | undefined) =>
    [...new Set(statuses.flatMap((status) => of(status) ?? []))].sort();
  const passed = named("PASS"), failed = named("FAIL");
  const isBroken = failed.length === 0 && (!success || passed.length === 0);
  return {
    passed,
    failed,
    skipped: all(({ skippedTests }) => skippedTests),
    unclaimed: all(({ unsupportedFeatures }) => unsupportedFeatures).filter((name) => !untested.has(name)),
    counted: {
      core: core?.statistics?.Passed ?? 0,
      extended: extended?.statistics?.Passed ?? 0,
      provisional: succeededProvisionalTests.toSorted(),
    },
    ...isBroken && { broken: lines.slice(-30).join("\n") },
  };
}

/** How what passed in a run of everything differs from what has to, one line each. */
export function missed(version: Version, { counted }: Outcome): readonly string[] {
  const wanted = passing[version], lines: string[] = [];
  for (const level of ["core", "extended"] as const) {
    if (counted[level] !== wanted[level]) {
      lines.push(`${counted[level]} ${level} tests of ${claimedProfile} passed, and not ${wanted[level]}`);
    }
  }
  const ran = new Set(counted.provisional), known = new Set(wanted.provisional);
  for (const name of known.difference(ran)) {
    lines.push(`the provisional test ${name} did not pass, or did not run`);
  }
  for (const name of ran.difference(known)) {
    lines.push(`the provisional test ${name} passed and is not known`);
  }
  return lines;
}
