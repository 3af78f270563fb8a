/**
 * Finds a kubectl for tests, or builds one.
 *
 * `$KUBECTL` comes first, then the first on `$PATH` whose version will do, then one built with Go from the module beside
 * this file, kept in the user's cache.
 *
 * @module
 */
import { cacheDirectory } from "../../standalone/envoy/find.ts";
import { root } from "../support/command.ts";
import { goProgram, kubernetesVariables } from "./go.ts";

/** The version of Kubernetes that the test cluster is, and the kubectl that is built; their `go.mod` name it, too. */
export const kubernetesVersion = "1.37.2";

/** Minor versions of Kubernetes 1. */
export interface Minors {
  readonly from: number;
  /** Without an end if absent. */
  readonly to?: number;
}

/** What the API server of standalone works with. */
export const standaloneMinors: Minors = { from: 32 };

const [, minor] = kubernetesVersion.split(".").map(Number);
/** What the test cluster works with: a kubectl may be one minor version older or newer than its API server. */
export const clusterMinors: Minors = { from: minor! - 1, to: minor! + 1 };

export interface KubectlOptions {
  readonly env: (name: string) => string | undefined;
  /** Which of those on `$PATH` will do. */
  readonly minors: Minors;
  /** Tells people what is going on. */
  progress(line: string): void;
  /** Gives one of {@linkcode kubernetesVersion}; builds it, if need be, if absent. */
  build?(): Promise<string>;
}

/** The path of a kubectl that works. Rejects if there is none, saying what to do. */
export async function findKubectl(
  { env, minors, progress, build = () => buildKubectl(env, progress) }: KubectlOptions,
): Promise<string> {
  const named = env("KUBECTL");
  if (named) {
    const version = await versionOf(named);
    if (version === undefined) throw new Error(`Cannot run kubectl "${named}" (from $KUBECTL)`);
    progress(`kubectl ${version} from $KUBECTL: ${named}`);
    return named;
  }
  for (const folder of (env("PATH") ?? "").split(":")) {
    const path = `${folder}/kubectl`;
    const version = folder.startsWith("/") ? await versionOf(path) : undefined;
    if (version === undefined) continue;
    if (!willDo(version, minors)) {
      progress(`kubectl ${version} is not ${text(minors)}: ${path}`);
      continue;
    }
    progress(`kubectl ${version} from PATH: ${path}`);
    return path;
  }
  try {
    return await build();
  } catch (cause) {
    const what = `install kubectl ${text(minors)}, or set $KUBECTL, or have Go build it`;
    throw new Error(`Cannot build kubectl: ${what}`, { cause });
  }
}

/** The client version as in `1.32.3`; `undefined` if there is no kubectl at `path`, or one that does not work. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command(path, {
      args: ["version", "--client", "--output=json"],
      stdin: "null",
      stderr: "null",
    }).output();
    if (!success) return undefined;
    const { clientVersion } = JSON.parse(new TextDecoder().decode(stdout));
    return String(clientVersion.gitVersion).replace(/^v/, "");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return undefined;
    }
    if (error instanceof SyntaxError || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}

function willDo(version: string, { from, to = Infinity }: Minors): boolean {
  const [major, minor = 0] = version.split(".").map((part) => parseInt(part));
  return major === 1 && minor >= from && minor <= to;
}

function text({ from, to }: Minors): string {
  return `1.${from} ${to === undefined ? "or later" : `to 1.${to}`}`;
}

async function buildKubectl(
  env: KubectlOptions["env"],
  progress: KubectlOptions["progress"],
): Promise<string> {
  const built = await goProgram({
    name: "kubectl",
    module: new URL("kubectl", import.meta.url).pathname,
    packages: { kubectl: "." },
    takes: "4 minutes",
    variables: kubernetesVariables(kubernetesVersion),
  }, { cache: `${cacheDirectory(env, `${root}.gatehouse`)}/cluster`, progress });
  return `${built}/kubectl`;
}
