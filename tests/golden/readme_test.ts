/**
 * The README says which golden is for which matter: what it names exists, and what is said of a matter is not lost.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";

const folder = new URL(".", import.meta.url);
const root = new URL("../../", folder);

function exists(url: URL): boolean {
  try {
    return Deno.statSync(url) !== null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test("golden: what the README names exists, and each matter has something", () => {
  const text = Deno.readTextFileSync(new URL("README.md", folder));
  const rows = text.split("\n").filter((line) => /^\| [^-]/.test(line)).map((line) =>
    line.split("|").slice(1, -1)
  );
  const matters = rows.filter(([matter]) => matter!.trim() !== "Matter");
  assert(matters.length > 0, "there are tables");
  const named = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
  const missing: string[] = [];
  for (const [matter, goldens, tests] of matters) {
    const files = [...named(goldens!).map((name) => `tests/golden/${name}/in.yaml`), ...named(tests!)];
    if (files.length === 0) missing.push(`${matter!.trim()}: nothing`);
    missing.push(...files.filter((file) => !exists(new URL(file, root))));
  }
  assertEquals(missing, []);
});
