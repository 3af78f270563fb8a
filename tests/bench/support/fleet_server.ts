/**
 * The xDS server, the ledger and the tables of an operator, in a process of its own: what many proxies cost is not to be
 * mixed with what their stand-ins cost. Prints how to connect, then does what each line of its input says.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- talks to the process that has started it
import { systemClock } from "../../../controllers/runtime/clock.ts";
import { silentLog } from "../../../controllers/runtime/log.ts";
import { createAuthority, issue } from "../../../controllers/runtime/pki.ts";
import { XdsCache } from "../../../xds/cache.ts";
import { startXdsServer } from "../../../xds/grpc/server.ts";
import { Ledger } from "../../../xds/ledger/mod.ts";
import { TextLineStream } from "../../support/lines.ts";
import { route } from "./objects.ts";
import { scene, Tables } from "./tables.ts";

const [routes = 0, proxies = 0] = Deno.args.map(Number), services = Math.ceil(routes / 5);
const now = Date.now();
const validity = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 3_600_000) };
const authority = await createAuthority({ commonName: "bench", ...validity });
const server = await issue(authority, {
  commonName: "s",
  dnsNames: ["xds.bench"],
  usages: ["server"],
  ...validity,
});
const client = await issue(authority, { commonName: "c", usages: ["client"], ...validity });

const tables = new Tables("127.0.60.2", scene({ routes, services, endpoints: 10 }));
tables.world.proxies.set("default/web", Array.from({ length: proxies }, (_, i) => ({ id: `proxy-${i}` })));
const cache = new XdsCache();
const ledger = new Ledger({
  ...{ contributions: tables.ir.contributions, resources: tables.resources },
  ...{ proxies: tables.world.proxies, verdicts: tables.world.verdicts, rejections: tables.world.rejections },
  settling: () => tables.graph.settling,
  clock: systemClock,
  wake: () => queueMicrotask(settle),
});
handOver(); // What the tables began with.
settle();
await using xds = await startXdsServer({
  cache,
  tls: { ...server, clientAuthority: authority.certificate },
  authenticate: () => ({ gateway: "default/web" }),
  hostname: "127.0.0.1",
  port: 0,
  clock: systemClock,
  log: silentLog,
  onEvent: (event) => ledger.observe(event),
});
console.log(JSON.stringify({ port: xds.port, authority: authority.certificate, client }));

let edits = 0;
for await (
  const line of Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
) {
  if (line !== "edit") continue;
  tables.set(route((++edits * 7) % routes, { services, edit: edits }));
  settle();
}

function settle(): void {
  do {
    tables.settle();
    handOver();
  } while (tables.graph.pending);
}

function handOver(): void {
  cache.update(tables.resources);
  Array.from(ledger.settled());
}
