/**
 * A large cluster on one operator: 5,000 routes to 1,000 Services with 10,000 endpoints. What the start takes, what single changes
 * take in the operator's process, and what goes to the proxy for them.
 *
 * @module
 */
import { systemClock } from "../../controllers/runtime/clock.ts";
import type { ApiObject } from "../../crds/kind.ts";
import type { Bench, Report } from "./bench.ts";
import { endpointSlice, gateway, namespace, route, service } from "./support/objects.ts";
import { Stand } from "./support/stand.ts";
import { scene } from "./support/tables.ts";

/** Routes; a fifth as many Services, twice as many endpoints. Others by `deno task bench scale=10000`. */
const usual = [5_000];
/** Single changes are measured in groups, since the kernel counts time in hundredths of a second; each has `pause` ms to itself. */
const warming = 10, groups = 5, groupSize = 10, pause = 60;

const bench: Bench = {
  name: "scale",
  async run(report, sizes) {
    for (const routes of sizes.length > 0 ? sizes : usual) await measure(routes, report);
  },
};
export default bench;

async function measure(routes: number, report: Report): Promise<void> {
  const services = routes / 5, spread = { services, endpoints: 10 };
  await using stand = await Stand.prepare({
    addresses: "127.0.60.1",
    objects: scene({ routes, ...spread }),
  });
  const start = performance.now();
  await stand.start("--concurrency", "1");
  await stand.begun();
  await using watched = probe(stand);
  await stand.ready();
  report.value(`start with ${routes} routes until all are programmed, statuses written`, "s", since(start), {
    most: 6,
  });
  await watched.report(report, "the same, from when everything is listed");
  const rested = await stand.quiet();
  report.value(`time of the operator for that`, "CPU s", rested.cpu);
  report.value(`operator with ${routes} routes, resident`, "MB", rested.resident, { most: 350 });

  const idle = performance.now();
  await systemClock.sleep(10_000);
  const share = 100 * ((await stand.use()).cpu - rested.cpu) / since(idle);
  report.value("operator at rest, share of a core", "%", share, { most: 0.5 });

  const one = async (what: string, change: (i: number) => readonly ApiObject[], most?: number) => {
    let next = 0;
    const several = async (count: number) => {
      for (let i = 0; i < count; i++) {
        await stand.write(change(next++));
        await systemClock.sleep(pause);
      }
    };
    await several(warming);
    let before = await stand.quiet();
    const counted = await stand.metrics(), times: number[] = [];
    for (let group = 0; group < groups; group++) {
      await several(groupSize);
      const after = await stand.quiet();
      // The kernel counts hundredths of a second; what a sum of fractions adds to that is nothing.
      times.push(Math.round(1e5 * (after.cpu - before.cpu) / groupSize) / 100);
      before = after;
    }
    const counts = await stand.metrics(), all = groups * groupSize;
    const each = (metric: string) => ((counts.get(metric) ?? 0) - (counted.get(metric) ?? 0)) / all;
    report.samples(
      `${what}: time of the operator`,
      "CPU ms",
      times,
      most === undefined ? undefined : { most },
    );
    report.value(`${what}: rows computed`, "rows", each("gatehouse_rows_recomputed_total"));
    await using watched = probe(stand); // Afterwards, since answering takes time as well.
    await several(groupSize);
    await watched.report(report, what);
    return each("gatehouse_xds_sent_bytes_total");
  };
  await one(`one of ${routes} routes edited`, (i) => [route(i * 7, { services, edit: i + 1 })], 10);
  const bytes = await one(
    `one of ${10 * services} endpoints moved`,
    (i) => [endpointSlice(i * 7, { count: 10, edit: 100 + i })],
    3,
  );
  report.value(`one of ${10 * services} endpoints moved: sent`, "bytes", bytes, { most: 1_000 });

  const meanwhile = async (what: string, ...steps: readonly (() => Promise<void>)[]) => {
    await using watched = probe(stand);
    for (const step of steps) {
      await step();
      await systemClock.sleep(2_000);
    }
    await watched.report(report, what);
  };
  await meanwhile(
    "the Gateway takes other hostnames, and all again",
    () => stand.write([gateway({ hostname: "*.example.com" })]),
    () => stand.write([gateway()]),
  );
  const more = Array.from({ length: 500 }, (_, i) => route(routes + i, { services }));
  await meanwhile("500 routes come and go", () => stand.write(more), () => stand.delete(more));

  const strangers = Array.from({ length: 500 }, (_, i) => [secret(i), service(services + i)]).flat();
  const changed = strangers.map((object) => ({
    ...object,
    metadata: { ...object.metadata, annotations: { changed: "once" } },
  }));
  const before = await stand.metrics();
  await stand.write(strangers);
  await stand.write(changed);
  await stand.quiet();
  const after = await stand.metrics(),
    difference = (metric: string) => (after.get(metric) ?? 0) - (before.get(metric) ?? 0);
  const responses = difference("gatehouse_xds_pushes_total");
  const unreferenced = "1,000 unreferenced Secrets and Services come and change";
  report.value(`${unreferenced}: responses`, "", responses, { most: 0 });
  report.value(
    `${unreferenced}: rows computed`,
    "rows",
    difference("gatehouse_rows_recomputed_total"),
    { most: 0 },
  );
  report.value("operator in the end, resident", "MB", (await stand.use()).resident);
}

const since = (start: number) => (performance.now() - start) / 1000;

function secret(i: number): ApiObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `secret-${i}`, namespace },
    type: "Opaque",
    data: { key: btoa(`${i}`) },
  } as ApiObject;
}

/**
 * Asks the operator all the time whether it is alive: it can answer only between two things that it does. An answer takes a few
 * turns of the event loop, so none of them blocks for longer than that, less the time in which the thread is ready and all else
 * that is measured here has the cores.
 */
function probe(stand: Stand) {
  const stop = new AbortController(), { signal } = stop;
  const path = `${stand.data}/operator.sock`;
  const client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
  let waited = 0, blocked = 0;
  const running = (async () => {
    while (!signal.aborted) {
      const start = performance.now(), kept = stand.kept();
      await (await fetch("http://operator/healthz", { client })).text();
      const without = stand.kept() - kept, took = performance.now() - start;
      waited = Math.max(waited, took);
      blocked = Math.max(blocked, took - without);
      await systemClock.sleep(10, { signal }).catch(() => {});
    }
  })();
  const end = async () => {
    stop.abort();
    await running;
  };
  return {
    /** Ends it, and says what it has found. */
    async report(report: Report, what: string) {
      await end();
      report.value(`${what}: longest that the event loop is blocked`, "ms", blocked, { most: 50 });
      report.value(`${what}: longest wait of a probe`, "ms", waited);
    },
    async [Symbol.asyncDispose]() {
      await end();
      client.close();
    },
  };
}
