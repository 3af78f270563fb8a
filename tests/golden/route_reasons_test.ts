/**
 * Every reason that Gateway API names for conditions of routes is one that some golden comes to.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";
import { hasGo, moduleFolder } from "../crds/upstream.ts";

interface Status {
  readonly parents?: readonly { readonly conditions: readonly { readonly reason: string }[] }[];
}

/** The reasons in the statuses of routes of all goldens. */
function reached(): ReadonlySet<string> {
  const folder = new URL(".", import.meta.url);
  const goldens = [...Deno.readDirSync(folder)].filter(({ isDirectory }) => isDirectory);
  const statuses = goldens.flatMap(({ name }) =>
    Object.values<Status>(parse(Deno.readTextFileSync(new URL(`${name}/status.yaml`, folder))) ?? {})
  );
  return new Set(
    statuses.flatMap(({ parents = [] }) => parents.flatMap(({ conditions }) => conditions.map(({ reason }) => reason))),
  );
}

Deno.test({
  name: "golden: each reason for conditions of routes is reached",
  ignore: !hasGo(),
  async fn() {
    const path = `${await moduleFolder("v1.7.0")}/apis/v1/shared_types.go`;
    const named = [...(await Deno.readTextFile(path)).matchAll(/RouteConditionReason = "(\w+)"/g)].map(([, r]) => r!);
    assert(named.length > 10 && named.includes("IncompatibleFilters"), named.join());
    const found = reached();
    assertEquals(named.filter((reason) => !found.has(reason)), []);
  },
});
