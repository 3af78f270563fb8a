/**
 * Finds a kubectl for tests, or builds one.
 *
 * `$KUBECTL` comes first, then the first on `$PATH` that is 1.32 or later, then one built with Go from the module
 * beside this file, kept in the user's cache.
 *
 * @module
 */

export interface KubectlOptions {
  readonly env: (name: string) => string | undefined;
  /** Tells people what is going on. */
  progress(line: string): void;
}

const pinned = "1.32.3";
const needed: readonly [number, number] = [1, 32];

/** The path of a kubectl that works. Rejects if there is none, saying what to do. */
export async function findKubectl({ env, progress }: KubectlOptions): Promise<string> {
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
    if (!isEnough(version)) {
      progress(`kubectl ${version} is too old: ${path}`);
      continue;
    }
    progress(`kubectl ${version} from PATH: ${path}`);
    return path;
  }
  const cache = env("XDG_CACHE_HOME")?.startsWith("/")
    ? env("XDG_CACHE_HOME")
    : `${env("HOME") ?? "/tmp"}/.cache`;
  const path = `${cache}/gatehouse/kubectl-${pinned}`;
  if (await versionOf(path) !== undefined) return path;
  progress(`building kubectl ${pinned} with Go, once, into ${path}: this takes a few minutes`);
  await build(path);
  return path;
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

function isEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => parseInt(part));
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}

async function build(path: string): Promise<void> {
  const version = "k8s.io/component-base/version";
  const [major, minor] = pinned.split(".");
  const flags = [
    `-X ${version}.gitVersion=v${pinned}`,
    `-X ${version}.gitMajor=${major}`,
    `-X ${version}.gitMinor=${minor}`,
  ];
  const temporary = `${path}.${crypto.randomUUID()}`;
  let success: boolean;
  try {
    ({ success } = await new Deno.Command("go", {
      args: ["build", "-trimpath", "-ldflags", `-s -w ${flags.join(" ")}`, "-o", temporary, "."],
      cwd: new URL("kubectl/", import.meta.url),
      stdin: "null",
      stdout: "inherit",
      stderr: "inherit",
    }).output());
  } catch (cause) {
    throw new Error(
      'Cannot build kubectl: there is no "go"; install kubectl 1.32 or later, or set $KUBECTL, or install Go',
      { cause },
    );
  }
  if (!success) throw new Error("Cannot build kubectl: see the output of go above");
  await Deno.rename(temporary, path); // so that tests in parallel never see half of it
}
