/**
 * Writes `build/sbom.cdx.json`: what Gatehouse is made of, by the lock, as a CycloneDX 1.6 bill of materials. The same lock
 * gives the same bytes, so it has neither a time nor a serial number.
 *
 * @module
 */
import manifest from "../deno.json" with { type: "json" };
import { cacheFolders, fromJsr, licenseOf, type Lock, type Package } from "./notices.ts";

const folder = "build", file = `${folder}/sbom.cdx.json`;

/** A part of the whole. See https://cyclonedx.org/docs/1.6/json/. */
export interface Component {
  readonly type: "application" | "library" | "platform";
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly alg: "SHA-512"; readonly content: string }[];
  readonly licenses: readonly (
    | { readonly license: { readonly id: string } }
    | { readonly license: { readonly name: string } }
    | { readonly expression: string }
  )[];
}

export interface Bom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export interface BomOptions {
  readonly version: string;
  /** The version of the runtime that the images hold. */
  readonly deno: string;
  /** The license that a package names. */
  readonly license: (pkg: Package) => Promise<string>;
}

const order = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;

/** The bill of a lock. */
export async function bomOf(lock: Lock, { version, deno, license }: BomOptions): Promise<Bom> {
  const npm = lock.npm ?? {}, wanted = lock.workspace?.dependencies ?? [];
  const packages = Object.entries(npm).map(([id, entry]) => ({ ...packageOf(id), id, ...entry }));
  const libraries = packages.map(async (pkg): Promise<Component> => ({
    type: "library",
    ...named(pkg),
    purl: refOf(pkg),
    ...pkg.integrity !== undefined && { hashes: [hashOf(pkg.integrity)] },
    licenses: [licenseEntry(await license(pkg))],
  }));
  const jsr = wanted.filter((specifier) => specifier.startsWith("jsr:")).map((specifier): Component => {
    const pkg = packageOf(specifier.slice("jsr:".length)), known = fromJsr[pkg.name];
    if (known === undefined) {
      throw new Error(`Cannot name the license of "${specifier}": add it to scripts/notices.ts`);
    }
    return {
      type: "library",
      ...named(pkg),
      "bom-ref": specifier,
      licenses: [licenseEntry(known.split(",")[0]!)],
    };
  });
  const runtime: Component = {
    type: "platform",
    "bom-ref": `deno@${deno}`,
    name: "deno",
    version: deno,
    licenses: [licenseEntry("MIT")],
  };
  const root: Component = {
    type: "application",
    "bom-ref": `gatehouse@${version}`,
    name: "gatehouse",
    version,
    licenses: [licenseEntry("Apache-2.0")],
  };
  /** An entry of a lock names a package alone where there is one of that name only. */
  const resolve = (name: string): string => {
    const found = packages.find(({ id }) => id === name) ?? packages.find((pkg) => pkg.name === name);
    if (!found) throw new Error(`Cannot resolve "${name}": the lock has no such package`);
    return refOf(found);
  };
  const direct = wanted.map((specifier) =>
    specifier.startsWith("jsr:") ? specifier : resolve(specifier.slice("npm:".length))
  );
  const byRef = (a: Component, b: Component) => order(a["bom-ref"], b["bom-ref"]);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: root },
    components: [...await Promise.all(libraries), ...jsr, runtime].toSorted(byRef),
    dependencies: [
      { ref: root["bom-ref"], dependsOn: [...direct, runtime["bom-ref"]].toSorted(order) },
      ...packages.map((pkg) => ({
        ref: refOf(pkg),
        dependsOn: (pkg.dependencies ?? []).map(resolve).toSorted(order),
      })).toSorted((a, b) => order(a.ref, b.ref)),
    ],
  };
}

/** Reads `@scope/name@1.2.3_peer@1.0.0`. */
function packageOf(id: string): Package {
  const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(id) ?? [];
  if (name === undefined || version === undefined) throw new Error(`Cannot read "${id}" in the lock`);
  return { name, version };
}

/** A package URL, which also is its reference. */
const refOf = ({ name, version }: Package): string => `pkg:npm/${name.replace("@", "%40")}@${version}`;

function named(pkg: Package): Pick<Component, "bom-ref" | "group" | "name" | "version"> {
  const slash = pkg.name.indexOf("/");
  return {
    "bom-ref": refOf(pkg),
    ...slash >= 0 && { group: pkg.name.slice(0, slash) },
    name: pkg.name.slice(slash + 1),
    version: pkg.version,
  };
}

/** An `integrity` of npm is base64, a hash of CycloneDX hexadecimal. */
function hashOf(integrity: string): { readonly alg: "SHA-512"; readonly content: string } {
  const [algorithm, value] = integrity.split("-", 2);
  if (algorithm !== "sha512" || !value) throw new Error(`Cannot read the integrity "${integrity}"`);
  return { alg: "SHA-512", content: Uint8Array.fromBase64(value).toHex() };
}

function licenseEntry(name: string): Component["licenses"][number] {
  if (/ (AND|OR|WITH) /.test(name)) return { expression: name };
  return /^[A-Za-z0-9.+-]+$/.test(name) ? { license: { id: name } } : { license: { name } };
}

/** The version of Deno that `deploy/Containerfile` takes. */
export function denoOf(containerfile: string): string {
  const [, version] = /^ARG DENO=(\S+)$/m.exec(containerfile) ?? [];
  if (version === undefined) throw new Error('deploy/Containerfile has no line "ARG DENO=VERSION"');
  return version;
}

if (import.meta.main) {
  const lock: Lock = JSON.parse(await Deno.readTextFile("deno.lock")), folders = await cacheFolders();
  const bom = await bomOf(lock, {
    version: manifest.version,
    deno: denoOf(await Deno.readTextFile("deploy/Containerfile")),
    license: async (pkg) => (await licenseOf(pkg, folders)).name,
  });
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(file, `${JSON.stringify(bom, null, 2)}\n`);
}
