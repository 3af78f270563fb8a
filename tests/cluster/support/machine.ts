/**
 * What the test cluster needs of the machine: root, and a few programs.
 *
 * @module
 */

/** The programs, and the packages of Debian that bring them. */
const needed: { readonly [program: string]: string } = {
  go: "golang-go",
  nft: "nftables",
  ip: "iproute2",
  nsenter: "util-linux",
  ldd: "libc-bin",
};

/**
 * Installs what is missing, where root may do so with apt. Rejects with what the user has to do otherwise.
 *
 * Programs in `/usr/sbin` are found though it is not on everybody's PATH.
 */
export async function prepareMachine(progress: (line: string) => void): Promise<void> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) {
    throw new Error(
      "The test cluster makes network and mount namespaces: it needs Linux and root (`sudo -E deno task cluster`)",
    );
  }
  let missing = await absent();
  if (missing.length === 0) return;
  const packages = missing.map((program) => needed[program]!);
  if (await runs("apt-get", "--version")) {
    progress(`installing ${packages.join(", ")} with apt`);
    await runs("apt-get", "update", "-qq");
    await runs("apt-get", "install", "-y", "-qq", "--no-install-recommends", ...packages);
    missing = await absent();
  }
  if (missing.length > 0) {
    throw new Error(`The test cluster needs ${missing.join(", ")} (Debian: ${packages.join(", ")})`);
  }
}

async function absent(): Promise<string[]> {
  const found = await Promise.all(
    Object.keys(needed).map(async (program) => ({ program, there: await isProgram(program) })),
  );
  return found.filter(({ there }) => !there).map(({ program }) => program);
}

async function isProgram(name: string): Promise<boolean> {
  for (const folder of [...(Deno.env.get("PATH") ?? "").split(":"), "/usr/sbin", "/sbin"]) {
    if (await Deno.stat(`${folder}/${name}`).then(({ isFile }) => isFile, () => false)) return true;
  }
  return false;
}

async function runs(program: string, ...args: readonly string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(program, {
      args: [...args],
      env: { DEBIAN_FRONTEND: "noninteractive" },
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** `$PATH` with the folders of what only root runs. */
export function pathWithSbin(): string {
  return `${Deno.env.get("PATH") ?? ""}:/usr/sbin:/sbin`;
}
