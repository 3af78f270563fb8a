/**
 * Goldens of infrastructure: each folder of `golden/` holds objects (`in.yaml`) and what is to be had for the Gateways among
 * them (`children.yaml`).
 *
 * `deno test -A tests/infrastructure -- --update` writes the latter anew; read the difference before it is committed.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Document, parseAllDocuments, visit } from "yaml";
import type { ApiObject } from "../../crds/kind.ts";
import { deployment } from "../../crds/mod.ts";
import { infrastructure, stored } from "./support.ts";

const folder = new URL("golden/", import.meta.url);
const update = Deno.args.includes("--update");

for (const { name } of [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)) {
  Deno.test(`infrastructure golden: ${name}`, () => {
    const objects = parseAllDocuments(Deno.readTextFileSync(new URL(`${name}/in.yaml`, folder))).map(
      (document) => {
        for (const error of document.errors) throw error;
        return stored(document.toJS() as ApiObject);
      },
    );
    const { graph, children, due } = infrastructure(objects);
    const failures = graph.tables.flatMap(({ name, failures }) =>
      [...failures].map(([key, error]) => [name, key, error])
    );
    assertEquals(failures, []);
    const rows = [...children.entries()].sort(([a], [b]) => a < b ? -1 : 1);
    // A workload waits for what its pods need; everything else is to be made.
    const waiting = rows.filter(([key]) => !due.get(key)).map(([, { kind }]) => kind);
    assertEquals(new Set(waiting).difference(new Set([deployment.kind, "DaemonSet"])), new Set());
    const text = print(Object.fromEntries(rows));
    const file = new URL(`${name}/children.yaml`, folder);
    if (update) Deno.writeTextFileSync(file, text);
    else {assertEquals(
        text,
        Deno.readTextFileSync(file),
        `${name}/children.yaml; to accept it run with --update`,
      );}
  });
}

/** Collections up to this many characters take one line. */
const short = 100;

function print(value: object): string {
  const document = new Document(JSON.parse(JSON.stringify(value)), { aliasDuplicateObjects: false });
  visit(document, {
    Collection(key, node) {
      if (key === null || JSON.stringify(node).length > short) return undefined;
      node.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0 });
}
