/**
 * What the test cluster needs of the machine: root, and a few programs.
 *
 * @module
 */
import { root } from "../../support/command.ts";
import { goProblem } from "../../tools/go.ts";

/** The programs, and the packages of Debian that bring them. */
const needed: { readonly [program: string]: string } = {
  go: "golang-go",
  nft: "nftables",
  ip: "iproute2",
  nsenter: "util-linux",
  ldd: "libc-bin",
};

/**
 * Installs what is missing on `path`, where root may do so with apt. Rejects with what the user has to do otherwise.
 *
 * Programs in `/usr/sbin` are found though it is not on everybody's PATH.
 */
export async function prepareMachine(
  progress: (line: string) => void,
  path: string = pathWithSbin(),
): Promise<void> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) {
    throw new Error(
      "The test cluster makes network and mount namespaces: it needs Linux and root (`sudo -E deno task cluster`)",
    );
  }
  let missing = await absent(path);
  const packages = missing.map((program) => needed[program]!);
  const apt = missing.length === 0 ? undefined : await find("apt-get", path);
  if (apt !== undefined) {
    progress(`installing ${packages.join(", ")} with apt`);
    await run(apt, "update", "-qq");
    await run(apt, "install", "-y", "-qq", "--no-install-recommends", ...packages);
    missing = await absent(path);
  }
  if (missing.length > 0) {
    throw new Error(`The test cluster needs ${missing.join(", ")} (Debian: ${packages.join(", ")})`);
  }
  const go = (await find("go", path))!;
  const problem = await goProblem(go, `${root}tests/cluster/lab`);
  if (problem !== undefined) throw new Error(`Cannot build the test cluster: ${problem}`);
}

async function absent(path: string): Promise<string[]> {
  const found = await Promise.all(
    Object.keys(needed).map(async (program) => ({ program, there: await find(program, path) !== undefined })),
  );
  return found.filter(({ there }) => !there).map(({ program }) => program);
}

/** Where a program is. */
async function find(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(":")) {
    const file = `${folder}/${name}`;
    if (folder !== "" && await Deno.stat(file).then(({ isFile }) => isFile, () => false)) return file;
  }
  return undefined;
}

async function run(program: string, ...args: readonly string[]): Promise<void> {
  await new Deno.Command(program, {
    args: [...args],
    env: { DEBIAN_FRONTEND: "noninteractive" },
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).output();
}

/** `$PATH` with the folders of what only root runs. */
export function pathWithSbin(): string {
  return `${Deno.env.get("PATH") ?? ""}:/usr/sbin:/sbin`;
}
