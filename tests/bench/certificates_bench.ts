/**
 * One certificate of a thousand is renewed: how soon clients see it, and what is sent for it.
 *
 * @module
 */
import { connect } from "node:tls";
import type { KeyPair } from "../../controllers/runtime/pki.ts";
import type { Bench, Report } from "./bench.ts";
import { certificates, domainOf, gateway, listenerSet, tlsSecret } from "./support/objects.ts";
import { Stand } from "./support/stand.ts";

/** Certificates, each of a listener of its own; others by `deno task bench certificates=100`. */
const usual = [1_000];
const samples = 40, unmeasured = 5, address = "127.0.60.1";

const bench: Bench = {
  name: "certificates",
  async run(report, sizes) {
    for (const count of sizes.length > 0 ? sizes : usual) await measure(count, report);
  },
};
export default bench;

async function measure(count: number, report: Report): Promise<void> {
  const issue = await certificates();
  const nameOf = (i: number) => `www.${domainOf(i)}`;
  const secret = (i: number, pair: KeyPair) => tlsSecret(`tls${i}`, pair);
  const all = await Promise.all(Array.from({ length: count }, async (_, i) => [
    secret(i, await issue(nameOf(i))),
    listenerSet(i, { secret: `tls${i}` }),
  ]));
  await using stand = await Stand.open({
    addresses: address,
    objects: [gateway({ shared: true }), ...all.flat()],
  });
  const times: number[] = [];
  let before = await stand.metrics();
  for (let edit = 0; edit < unmeasured + samples; edit++) {
    if (edit === unmeasured) before = await stand.metrics();
    const i = edit * 7 % count, name = nameOf(i), old = await shown(name);
    await stand.write([secret(i, await issue(name))]);
    const start = performance.now();
    while (await shown(name) === old) {
      if (performance.now() - start > 30_000) throw new Error(`${name} still has its old certificate`);
    }
    if (edit >= unmeasured) times.push(performance.now() - start);
  }
  await stand.quiet();
  const after = await stand.metrics();
  const each = (metric: string) => ((after.get(metric) ?? 0) - (before.get(metric) ?? 0)) / samples;
  const what = `one of ${count} certificates renewed`;
  report.samples(`${what} to first handshake with it`, "ms", times, { most: 50 });
  report.value(`${what}: resources sent`, "", each("gatehouse_xds_pushes_total"), { most: 1 });
  report.value(`${what}: sent`, "bytes", each("gatehouse_xds_sent_bytes_total"));
  report.value(`${what}: rows computed`, "rows", each("gatehouse_rows_recomputed_total"));
}

/** The fingerprint of the certificate that a client of some name is shown. */
function shown(servername: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: address, port: 443, servername, rejectUnauthorized: false }, () => {
    resolve(socket.getPeerCertificate().fingerprint256);
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}
