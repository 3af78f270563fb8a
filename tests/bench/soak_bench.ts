/**
 * Routes that come and go: the operator's memory has to come back.
 *
 * @module
 */
import type { Bench, Report } from "./bench.ts";
import { route } from "./support/objects.ts";
import { Stand } from "./support/stand.ts";
import { scene } from "./support/tables.ts";

/** How often all routes are created and deleted; less often by `deno task bench soak=4`. */
const usual = [30];
const routes = 1_000;

const bench: Bench = {
  name: "soak",
  async run(report, sizes) {
    for (const rounds of sizes.length > 0 ? sizes : usual) await measure(rounds, report);
  },
};
export default bench;

async function measure(rounds: number, report: Report): Promise<void> {
  await using stand = await Stand.open({
    addresses: "127.0.60.1",
    objects: scene({ routes: 10, services: 10 }),
  });
  const all = Array.from({ length: routes }, (_, i) => route(1_000 + i, { services: 10 }));
  const resident: number[] = [], rows: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await stand.write(all);
    await stand.quiet();
    await stand.delete(all);
    resident.push((await stand.quiet()).resident);
    rows.push((await stand.metrics()).get("gatehouse_table_rows") ?? 0);
  }
  const middle = Math.floor(rounds / 2);
  const grown = (values: readonly number[]) => 100 * (values.at(-1)! / values[middle - 1]! - 1);
  const what = `${routes} routes created and deleted ${rounds} times`;
  report.value(`${what}: memory against half way`, "%", grown(resident), { most: 10 });
  report.value(`${what}: rows against half way`, "%", grown(rows), { most: 0 });
}
