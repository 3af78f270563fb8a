/**
 * From when a new route is sent to the API server until the gateway serves it, next to what Envoy itself needs for it: the same
 * configuration, pushed to another Envoy in the same run, in turns. Who asks has begun before.
 *
 * @module
 */
import { type Bench, quantile, type Report } from "./bench.ts";
import { Asking } from "./support/asking.ts";
import { Floor } from "./support/floor.ts";
import { endpointSlice, gateway, hostOf, route, service } from "./support/objects.ts";
import { Stand } from "./support/stand.ts";

const ours = "127.0.60.1", theirs = "127.0.60.2", backend = "127.0.60.3";

/** Routes that are there already; others by `deno task bench new-route=500`. */
const usual = [100, 1_000, 3_000, 10_000];
const samples = 40, unmeasured = 5;

const bench: Bench = {
  name: "new-route",
  async run(report, sizes) {
    for (const present of sizes.length > 0 ? sizes : usual) await measure(present, report);
  },
};
export default bench;

async function measure(present: number, report: Report): Promise<void> {
  const answer = () => new Response("ok\n");
  await using server = Deno.serve({ hostname: backend, port: 0, onListen: () => {} }, answer);
  const { port } = server.addr;
  const objects = [
    gateway(),
    service(0),
    endpointSlice(0, { address: backend, port }),
    ...Array.from({ length: present }, (_, i) => route(i)),
  ];
  await using floor = await Floor.start(theirs, objects);
  await using stand = await Stand.open({ addresses: ours, objects });
  using atFloor = new Asking(theirs);
  using atGatehouse = new Asking(ours);
  const needed = { floor: [] as number[], gatehouse: [] as number[] };
  for (let i = present; i < present + unmeasured + samples; i++) {
    const next = route(i);
    await floor.prepare(next);
    const [low] = await Promise.all([atFloor.until200(hostOf(i)), floor.push()]);
    const [high] = await Promise.all([atGatehouse.until200(hostOf(i)), stand.write([next])]);
    if (i < present + unmeasured) continue;
    needed.floor.push(low);
    needed.gatehouse.push(high);
  }
  const what = `new route to first 200, ${present} routes`;
  report.samples(`${what}: floor`, "ms", needed.floor);
  report.samples(what, "ms", needed.gatehouse);
  report.ratio(`${what}: p50 of 1.5 × floor + 15 ms`, quantile(needed.gatehouse, 0.5), {
    most: 1.5 * quantile(needed.floor, 0.5) + 15,
  });
  report.value(`${what}: wrong answers`, "", atGatehouse.wrong, { most: 0 });
}
