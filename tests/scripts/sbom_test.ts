/** The bill of materials has everything that the lock has. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { cacheFolders, licenseOf, type Lock } from "../../scripts/notices.ts";
import { bomOf, denoOf } from "../../scripts/sbom.ts";
import { root } from "../support/command.ts";

const lock: Lock = JSON.parse(await Deno.readTextFile(`${root}deno.lock`));

async function bill() {
  const folders = await cacheFolders();
  return await bomOf(lock, {
    version: "0.1.0",
    deno: "2.9.6",
    license: async (pkg) => (await licenseOf(pkg, folders)).name,
  });
}

Deno.test("sbom: each package of the lock is there with its version, hash and license, and nothing else", async () => {
  const { components } = await bill();
  const told = components.filter(({ purl }) => purl !== undefined).map(({ group, name, version, hashes }) => {
    const bytes = Uint8Array.fromHex(hashes![0]!.content);
    return [`${group === undefined ? "" : `${group}/`}${name}@${version}`, `sha512-${bytes.toBase64()}`];
  });
  const locked = Object.entries(lock.npm!).map(([id, { integrity }]) => [id.split("_")[0]!, integrity!]);
  assert(locked.length > 20);
  const byId = (a: readonly string[], b: readonly string[]) => a[0]! < b[0]! ? -1 : 1;
  assertEquals(told.toSorted(byId), locked.toSorted(byId));
  for (const { "bom-ref": ref, licenses: [license] } of components) {
    assert(license && ("expression" in license || "id" in license.license), `${ref} has a license of SPDX`);
  }
});

Deno.test("sbom: what the lock leaves to JSR and the runtime are there, too", async () => {
  const { components } = await bill();
  const others = components.filter(({ purl }) => purl === undefined).map((component) => component["bom-ref"]);
  const jsr = lock.workspace!.dependencies!.filter((specifier) => specifier.startsWith("jsr:"));
  assertEquals(others, ["deno@2.9.6", ...jsr].toSorted());
});

Deno.test("sbom: who needs what is the lock's, and leads from Gatehouse to everything", async () => {
  const { metadata: { component }, components, dependencies } = await bill();
  const refs = new Set(components.map((component) => component["bom-ref"]));
  assertEquals(refs.size, components.length, "no reference is there twice");
  const needs = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  for (const needed of needs.values()) assertEquals(needed.filter((ref) => !refs.has(ref)), []);
  const reached = new Set<string>(), next = [component["bom-ref"]];
  for (let ref = next.pop(); ref !== undefined; ref = next.pop()) {
    if (reached.has(ref)) continue;
    reached.add(ref);
    next.push(...needs.get(ref) ?? []);
  }
  assertEquals([...refs].filter((ref) => !reached.has(ref)), []);
});

Deno.test("sbom: peers, scopes and two versions of a package", async () => {
  const integrity = `sha512-${new Uint8Array(64).fill(255).toBase64()}`;
  const small = {
    npm: {
      "@s/a@1.0.0_b@2.0.0": { integrity, dependencies: ["b@2.0.0", "c"] },
      "b@1.0.0": { integrity },
      "b@2.0.0": { integrity },
      "c@3.0.0": { integrity },
    },
    workspace: { dependencies: ["npm:@s/a@1.0.0_b@2.0.0", "npm:b@1.0.0"] },
  };
  const options = { version: "1", deno: "2", license: () => Promise.resolve("MIT OR Apache-2.0") };
  const { components, dependencies } = await bomOf(small, options);
  assertEquals(components.find(({ name }) => name === "a"), {
    type: "library",
    "bom-ref": "pkg:npm/%40s/a@1.0.0",
    group: "@s",
    name: "a",
    version: "1.0.0",
    purl: "pkg:npm/%40s/a@1.0.0",
    hashes: [{ alg: "SHA-512", content: "ff".repeat(64) }],
    licenses: [{ expression: "MIT OR Apache-2.0" }],
  });
  assertEquals(
    dependencies.find(({ ref }) => ref === "pkg:npm/%40s/a@1.0.0")?.dependsOn,
    ["pkg:npm/b@2.0.0", "pkg:npm/c@3.0.0"],
  );
  await assertRejects(
    () => bomOf({ npm: { "a@1.0.0": { dependencies: ["missing"] } } }, options),
    Error,
    'Cannot resolve "missing"',
  );
});

Deno.test("sbom: the runtime is the one of the images", async () => {
  const containerfile = await Deno.readTextFile(`${root}deploy/Containerfile`);
  assertEquals(denoOf(containerfile), Deno.version.deno, "which the tests run, too");
});
