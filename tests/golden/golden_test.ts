/**
 * Goldens: each folder here holds a whole `in.yaml`, the statuses that it comes to (`status.yaml`) and what proxies are
 * given (`xds.yaml`).
 *
 * `deno test -A tests/golden -- --update` writes them anew and deletes what belongs to no input; read the difference
 * with the specification at hand before it is committed.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { envoyForTests } from "../standalone/envoy_for_tests.ts";
import { type Produced, produce } from "./harness.ts";
import { refusal, staticConfiguration } from "./validate.ts";

const folder = new URL(".", import.meta.url);
const update = Deno.args.includes("--update");

const names = [...Deno.readDirSync(folder)].filter(({ isDirectory }) => isDirectory).map(({ name }) => name).sort();

function read(name: string, file: string): string | undefined {
  try {
    return Deno.readTextFileSync(new URL(`${name}/${file}`, folder));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const produced = new Map<string, Produced>();

for (const name of names) {
  const input = read(name, "in.yaml");
  if (input === undefined) {
    if (update) Deno.removeSync(new URL(name, folder), { recursive: true });
    else Deno.test(`golden: ${name}`, () => assert(false, "there is no in.yaml: run with --update"));
    continue;
  }
  Deno.test(`golden: ${name}`, () => {
    const result = produce(input);
    produced.set(name, result);
    for (const [file, text] of [["status.yaml", result.status], ["xds.yaml", result.xds]] as const) {
      if (update) Deno.writeTextFileSync(new URL(`${name}/${file}`, folder), text);
      else assertEquals(text, read(name, file), `${name}/${file}; to accept it run with --update`);
    }
  });
  Deno.test(`golden: ${name}: no other files`, () => {
    const expected = ["in.yaml", "status.yaml", "xds.yaml"];
    for (const entry of Deno.readDirSync(new URL(name, folder))) {
      if (expected.includes(entry.name)) continue;
      if (update) Deno.removeSync(new URL(`${name}/${entry.name}`, folder));
      else assert(false, `${name}/${entry.name} belongs to nothing`);
    }
  });
}

Deno.test("golden: Envoy takes every xds.yaml", async () => {
  for (const name of names) if (!produced.has(name)) produced.set(name, produce(read(name, "in.yaml")!));
  assertEquals(await refusal(await envoyForTests(), staticConfiguration(produced)), undefined);
});

Deno.test("golden: Envoy is asked in earnest", async () => {
  const broken = structuredClone(staticConfiguration(produced)) as {
    static_resources: { clusters: { lb_policy: string }[] };
  };
  broken.static_resources.clusters[0]!.lb_policy = "NO_SUCH_POLICY";
  assert((await refusal(await envoyForTests(), broken))?.includes("NO_SUCH_POLICY"));
});
