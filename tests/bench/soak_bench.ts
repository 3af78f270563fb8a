/**
 * Routes that come and go: the operator's memory has to come back.
 *
 * @module
 */
import { systemClock } from "../../controllers/runtime/clock.ts";
import type { Bench, Report } from "./bench.ts";
import { route } from "./support/objects.ts";
import { Stand } from "./support/stand.ts";
import { scene } from "./support/tables.ts";

/** How often all routes are created and deleted; less often by `deno task bench soak=4`. */
const usual = [30];
const routes = 1_000;
/** After so many rounds everything has been needed once, and memory is where it is to be later. */
const warming = 3;

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
  const comeAndGo = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await stand.write(all);
      await stand.quiet();
      await stand.delete(all);
      await stand.quiet();
    }
    return await rest(stand);
  };
  const fresh = await stand.quiet(),
    before = await comeAndGo(warming),
    after = await comeAndGo(rounds - warming);
  const what = `${routes} routes created and deleted ${rounds} times`;
  const grown = (of: "resident" | "rows") => 100 * (after[of] / before[of] - 1);
  report.value(`${what}: memory at rest against ${warming} times`, "%", grown("resident"), { most: 10 });
  report.value(`${what}: memory at rest`, "MB", after.resident);
  report.value("memory before the first of them", "MB", fresh.resident);
  report.value(`${what}: rows at rest against ${warming} times`, "%", grown("rows"), { most: 0 });
}

/** Resolves once the operator has had the time to give back what it does not need any more. */
async function rest(stand: Stand): Promise<{ readonly resident: number; readonly rows: number }> {
  await systemClock.sleep(30_000);
  const { resident } = await stand.quiet();
  return { resident, rows: (await stand.metrics()).get("gatehouse_table_rows") ?? 0 };
}
