/**
 * Breaks the engine of tables on purpose, one line at a time, and expects the properties to notice each time: what shows that they
 * are worth something.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Graph, GraphOptions } from "../../controllers/runtime/graph.ts";
import {
  changesAreExact,
  type Engine,
  incrementalIsBatch,
  nothingIsLeftBehind,
  piecesAreOneGo,
  workFollowsTheChange,
} from "./graph_properties.ts";

const folder = new URL("../../controllers/runtime/", import.meta.url);
const files = [
  "graph.ts",
  "node.ts",
  "source_node.ts",
  "index_node.ts",
  "union_node.ts",
  "derived_node.ts",
  "readers.ts",
  "table.ts",
  "equal.ts",
  "freeze.ts",
  "sorted_map.ts",
  "kept.ts",
];

const properties = {
  incrementalIsBatch,
  changesAreExact,
  workFollowsTheChange,
  nothingIsLeftBehind,
  piecesAreOneGo,
};

interface Mutant {
  readonly about: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Who has to notice. */
  readonly by: keyof typeof properties;
}

const mutants: readonly Mutant[] = [
  {
    about: "the next piece of a settle begins anew",
    file: "graph.ts",
    from: "this.#pass ??= this.#begin()",
    to: "this.#begin()",
    by: "piecesAreOneGo",
  },
  {
    about: "the next piece of a settle leaves out groups",
    file: "index_node.ts",
    from: "return this.#edits.size === 0;",
    to: "return true;",
    by: "piecesAreOneGo",
  },
  {
    about: "look-ups are not remembered",
    file: "derived_node.ts",
    from: "this.#reads.push(readers);",
    to: "",
    by: "incrementalIsBatch",
  },
  {
    about: "look-ups of missing rows are not remembered",
    file: "derived_node.ts",
    from: "this.#reads.push(readers);",
    to: "if (table.rows.has(key)) this.#reads.push(readers);",
    by: "incrementalIsBatch",
  },
  {
    about: "look-ups before a throw are not remembered",
    file: "derived_node.ts",
    from: "output = this.#replacement(error, input, key);",
    to: "output = this.#replacement(error, input, key); this.#reads.length = 0;",
    by: "incrementalIsBatch",
  },
  {
    about: "look-ups that are over stay remembered",
    file: "derived_node.ts",
    from: "readers.delete(cell);",
    to: "continue;",
    by: "nothingIsLeftBehind",
  },
  {
    about: "the second row that looks something up takes the place of the first",
    file: "readers.ts",
    from: "this.#cells = new Set([this.#cells, cell]);",
    to: "this.#cells = cell;",
    by: "incrementalIsBatch",
  },
  {
    about: "of two rows that look something up the one that stays is not told any more",
    file: "readers.ts",
    from: "[this.#cells] = this.#cells;",
    to: "this.#cells = undefined;",
    by: "incrementalIsBatch",
  },
  {
    about: "a row that fails keeps its last good value",
    file: "derived_node.ts",
    from: "return this.#failed?.(error, input, key);",
    to: "return this.#failed?.(error, input, key) ?? this.rows.get(key);",
    by: "incrementalIsBatch",
  },
  {
    about: "a failure is not forgotten when its row goes",
    file: "derived_node.ts",
    from: "this.failures.delete(key);\n      this.#depend(key, nothing);",
    to: "this.#depend(key, nothing);",
    by: "incrementalIsBatch",
  },
  {
    about: "readers of removed rows are not told",
    file: "node.ts",
    from: "if (!this.rows.delete(key)) return;",
    to: "this.rows.delete(key); return;",
    by: "incrementalIsBatch",
  },
  {
    about: "removals of rows that are not there count as changes",
    file: "node.ts",
    from: "if (!this.rows.delete(key)) return;",
    to: "this.rows.delete(key);",
    by: "changesAreExact",
  },
  {
    about: "a member stays in the groups that it has left",
    file: "index_node.ts",
    from: "edit(group, key, undefined);",
    to: "continue;",
    by: "incrementalIsBatch",
  },
  {
    about: "an empty group stays",
    file: "index_node.ts",
    from: "after.size > 0 ? after : undefined",
    to: "after",
    by: "incrementalIsBatch",
  },
  {
    about: "groups remember the order of arrival",
    file: "sorted_map.ts",
    from: "[...edits.keys()].sort(byCodeUnits)",
    to: "[...edits.keys()]",
    by: "incrementalIsBatch",
  },
  {
    about: "changes of the last settle are not cleared",
    file: "graph.ts",
    from: "if (node.changed.size > 0) node.changed.clear();",
    to: "node.size;",
    by: "changesAreExact",
  },
  {
    about: "equality takes longer lists for equal",
    file: "equal.ts",
    from: "!Array.isArray(b) || a.length !== b.length",
    to: "!Array.isArray(b) || a.length > b.length",
    by: "incrementalIsBatch",
  },
  {
    about: "equality does not look into lists",
    file: "equal.ts",
    from: "if (!equal(a[i], b[i])) return false;",
    to: "break;",
    by: "incrementalIsBatch",
  },
  {
    about: "nothing is cut off",
    file: "derived_node.ts",
    from: "if (!unchanged) this.write(key, output);",
    to: "this.write(key, output);",
    by: "workFollowsTheChange",
  },
  {
    about: "equal objects of a source count as changes",
    file: "source_node.ts",
    from: "before !== undefined && value !== undefined && this.#same(before, value)",
    to: "false",
    by: "workFollowsTheChange",
  },
  {
    about: "replace keeps what is not listed",
    file: "source_node.ts",
    from: "for (const key of this.rows.keys()) this.#pending.set(key, undefined);",
    to: "",
    by: "nothingIsLeftBehind",
  },
  {
    about: "a union does not see removals",
    file: "union_node.ts",
    from: "this.write(prefix + key, table.get(key));",
    to: "if (table.get(key) !== undefined) this.write(prefix + key, table.get(key));",
    by: "incrementalIsBatch",
  },
  {
    about: "every settle computes everything",
    file: "derived_node.ts",
    from: "for (const key of this.#input.changed) this.#dirty.add(key);",
    to: "for (const [key] of this.#input.entries()) this.#dirty.add(key);" +
      "for (const key of this.#input.changed) this.#dirty.add(key);",
    by: "workFollowsTheChange",
  },
];

async function brokenEngine(mutant: Mutant, to: string): Promise<Engine> {
  for (const file of files) {
    let text = await Deno.readTextFile(new URL(file, folder));
    if (file === mutant.file) {
      assertEquals(text.split(mutant.from).length, 2, `${file} has to contain "${mutant.from}" once`);
      text = text.replace(mutant.from, () => mutant.to);
    }
    await Deno.writeTextFile(`${to}/${file}`, text);
  }
  const module: { Graph: new (options?: GraphOptions) => Graph } = await import(`file://${to}/graph.ts`);
  return (options) => new module.Graph(options);
}

for (const mutant of mutants) {
  Deno.test(`graph, broken: ${mutant.about}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const engine = await brokenEngine(mutant, folder);
      let noticed: unknown;
      try {
        properties[mutant.by](engine);
      } catch (error) {
        noticed = error;
      }
      assert(noticed instanceof Error, `${mutant.by} did not notice`);
      assert(!noticed.message.includes("vacuous"), noticed.message);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
