/**
 * Writes the CustomResourceDefinitions of our own kinds into `deploy/crds`. `--check` compares instead of writing.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people
import { stringify } from "yaml";
import { definitionOf } from "../crds/definition.ts";
import { gatehouseKinds, type Kind } from "../crds/mod.ts";

const folder = "deploy/crds";

/** What a file says, by the file's name. */
const files: ReadonlyMap<string, string> = new Map(
  gatehouseKinds.map((kind) => [`${kind.group}_${kind.plural}.yaml`, textOf(kind)]),
);

function textOf(kind: Kind): string {
  const text = stringify(definitionOf(kind), { lineWidth: 110, aliasDuplicateObjects: false });
  return `# Written by "deno task crds" from crds/; do not edit.\n${text}`;
}

function read(file: string): string | undefined {
  try {
    return Deno.readTextFileSync(`${folder}/${file}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const strangers = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => !files.has(name));
const stale = [...files].filter(([file, text]) => read(file) !== text);
if (Deno.args.includes("--check")) {
  for (const file of [...stale.map(([file]) => file), ...strangers]) {
    console.error(`${folder}/${file} is out of step with crds/: run "deno task crds"`);
  }
  if (stale.length + strangers.length > 0) Deno.exit(1);
} else {
  for (const file of strangers) Deno.removeSync(`${folder}/${file}`);
  for (const [file, text] of stale) Deno.writeTextFileSync(`${folder}/${file}`, text);
}
