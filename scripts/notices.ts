/**
 * Writes `THIRD_PARTY_NOTICES` from the lock and the licenses inside the packages, without any network once they are
 * cached. `--check` compares instead of writing.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people

const file = "THIRD_PARTY_NOTICES";

/** Packages from JSR, of which only the names are here: the stand-ins in `compat/` are our own. */
export const fromJsr: { readonly [name: string]: string } = {
  "@cloudydeno/kubernetes-apis": "Apache-2.0",
  "@std/assert": "MIT, copyright the Deno authors",
  "@std/http": "MIT, copyright the Deno authors",
};

export interface Package {
  readonly name: string;
  readonly version: string;
}

/** What is read of `deno.lock`. */
export interface Lock {
  readonly npm?: {
    readonly [id: string]: { readonly integrity?: string; readonly dependencies?: readonly string[] };
  };
  readonly workspace?: { readonly dependencies?: readonly string[] };
}

/** The packages of a lock; ids look like `@scope/name@1.2.3_peer@1.0.0`. */
export function packagesOf(lock: Lock): readonly Package[] {
  const found = new Map<string, Package>();
  for (const id of Object.keys(lock.npm ?? {})) {
    const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(id) ?? [];
    if (name && version) found.set(`${name} ${version}`, { name, version });
  }
  return [...found.values()].sort((a, b) => compare(`${a.name} ${a.version}`, `${b.name} ${b.version}`));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The folder of the cache that holds packages by name and version; its name is that of the registry. */
export async function cacheFolders(): Promise<readonly string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache }: { readonly npmCache: string } = JSON.parse(new TextDecoder().decode(stdout));
  return (await Array.fromAsync(Deno.readDir(npmCache))).filter((e) => e.isDirectory).map((e) =>
    `${npmCache}/${e.name}`
  );
}

export interface License {
  /** As in SPDX, `MIT OR Apache-2.0`. */
  readonly name: string;
  /** Of the license file and what else has to be passed on; empty if the package has none. */
  readonly text: string;
}

/** What a package's manifest and files say; `folders` as from {@linkcode cacheFolders}. */
export async function licenseOf(pkg: Package, folders: readonly string[]): Promise<License> {
  for (const folder of folders) {
    const path = `${folder}/${pkg.name}/${pkg.version}`;
    const manifest = await Deno.readTextFile(`${path}/package.json`).catch(() => undefined);
    if (manifest === undefined) continue;
    const names = (await Array.fromAsync(Deno.readDir(path))).map((entry) => entry.name).sort(compare);
    const texts: string[] = [];
    for (const name of names.filter((name) => /^(licen[cs]e|notice|copyright|copying)/i.test(name))) {
      const text = await Deno.readTextFile(`${path}/${name}`);
      texts.push(text.replaceAll(/\r\n?/g, "\n").replaceAll(/[ \t]+$/gm, "").replaceAll(/^\n+|\n+$/g, ""));
    }
    const { license = "see the text" }: { readonly license?: string } = JSON.parse(manifest);
    return { name: license, text: texts.join("\n\n") };
  }
  throw new Error(`Cannot read the license of "${pkg.name}@${pkg.version}": run "deno install" first`);
}

/** Packages that share a text share one section. */
async function notices(lock: Lock): Promise<string> {
  const folders = await cacheFolders(), sections = new Map<string, string[]>();
  for (const pkg of packagesOf(lock)) {
    const { name, text } = await licenseOf(pkg, folders);
    const section = text || `(The package has no license file; its manifest says: ${name}.)`;
    sections.set(section, [...sections.get(section) ?? [], `${pkg.name} ${pkg.version} (${name})`]);
  }
  const rule = "=".repeat(80);
  const jsr = (lock.workspace?.dependencies ?? []).filter((name) => name.startsWith("jsr:")).map(
    (specifier) => {
      const [, name = "", range = ""] = /^jsr:(@[^@]+)@(.*)$/.exec(specifier) ?? [];
      if (!fromJsr[name]) {
        throw new Error(`Cannot name the license of "${specifier}": add it to scripts/notices.ts`);
      }
      return `${name} ${range} (${fromJsr[name]})`;
    },
  );
  const head = `Gatehouse is built on the packages below. "deno task notices" writes this file from deno.lock.

Gatehouse runs Envoy (Apache-2.0) as a separate program; it is not part of Gatehouse and not distributed with it.

Executables made by "deno task compile" also hold the Deno runtime (MIT) and, from JSR:

${jsr.sort(compare).join("\n")}
`;
  const parts = [...sections].map(([text, names]) => `${rule}\n${names.join("\n")}\n${rule}\n\n${text}\n`);
  return [head, ...parts].join("\n");
}

async function main(args: readonly string[]): Promise<number> {
  const lock: Lock = JSON.parse(
    await Deno.readTextFile(args.find((arg) => !arg.startsWith("-")) ?? "deno.lock"),
  );
  const wanted = await notices(lock);
  if (!args.includes("--check")) {
    await Deno.writeTextFile(file, wanted);
    return 0;
  }
  if (wanted === await Deno.readTextFile(file).catch(() => "")) return 0;
  console.error(`${file} is out of step with deno.lock: run "deno task notices"`);
  return 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
