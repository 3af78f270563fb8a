/**
 * Many proxies on one operator: the real xDS server in a process of its own, with stand-ins for Envoys that take whatever comes
 * and acknowledge it.
 *
 * @module
 */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { systemClock } from "../../controllers/runtime/clock.ts";
import type { KeyPair } from "../../controllers/runtime/pki.ts";
import { readMessages } from "../../xds/grpc/frames.ts";
import { typeUrls } from "../../xds/types.ts";
import { DeltaDiscoveryResponse } from "../../xds/wire/envoy/discovery.ts";
import { decode } from "../../xds/wire/mod.ts";
import { entrypoint, environment } from "../cluster/support/images.ts";
import { TextLineStream } from "../support/lines.ts";
import { type Call, Client } from "../xds/support/grpc_client.ts";
import type { Bench, Report } from "./bench.ts";
import { useOf } from "./support/process.ts";

/** Proxies; others by `deno task bench fleet=1000`. */
const usual = [200];
const sceneries = [1_000, 5_000], edits = 5;

/** Connections in all, to the smallest of them, and how many of them warm the server up. */
const connections = 5_000, first = 100;

const bench: Bench = {
  name: "fleet",
  async run(report, sizes) {
    for (const proxies of sizes.length > 0 ? sizes : usual) {
      for (const routes of sceneries) await measure(proxies, routes, report);
    }
  },
};
export default bench;

interface Access {
  readonly port: number;
  readonly authority: string;
  readonly client: KeyPair;
}

async function measure(proxies: number, routes: number, report: Report): Promise<void> {
  const script = new URL("support/fleet_server.ts", import.meta.url).pathname;
  // Memory and time depend on what the image sets for V8 and malloc.
  const flags = (await entrypoint()).filter((word) => word.startsWith("--v8-flags="));
  const malloc = (await environment()).filter((word) => word.startsWith("MALLOC_"));
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--allow-all",
      ...flags,
      script,
      ...[`${routes}`, `${proxies}`],
    ],
    env: Object.fromEntries(malloc.map((word) => word.split("="))),
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = child.stdin.getWriter(), fleet: StandIn[] = [];
  try {
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    const { value: line = "" } = await lines.getReader().read();
    const access = JSON.parse(line) as Access;
    const use = () => useOf(child.pid);

    const before = await use();
    for (let i = 0; i < proxies; i++) {
      fleet.push(new StandIn(access, `proxy-${i}`));
      if (i % 20 === 19) await Promise.all(fleet.map((one) => one.configured(1)));
    }
    await Promise.all(fleet.map((one) => one.configured(1)));
    const connected = await use();
    report.value(`${proxies} proxies take ${routes} routes`, "CPU s", connected.cpu - before.cpu);

    const times: number[] = [];
    for (let edit = 1; edit <= edits; edit++) {
      const start = await use();
      await input.write(new TextEncoder().encode("edit\n"));
      await Promise.all(fleet.map((one) => one.configured(1 + edit)));
      await systemClock.sleep(200);
      times.push((await use()).cpu - start.cpu);
    }
    const targets = { most: 0.4 };
    report.samples(`one of ${routes} routes to ${proxies} proxies`, "CPU s", times, targets);
    const what = `server with ${proxies} proxies and ${routes} routes, resident`;
    report.value(what, "MB", (await use()).resident, { most: 400 });
    if (routes > Math.min(...sceneries)) return;

    for (const one of fleet.splice(0)) one[Symbol.dispose]();
    const memory: number[] = [];
    for (let i = 1; i <= connections; i++) {
      using one = new StandIn(access, `guest-${i % 10}`);
      await one.configured(1);
      if (i !== first && i !== connections) continue;
      await systemClock.sleep(500);
      memory.push((await use()).resident);
    }
    const grown = 100 * (memory[1]! / memory[0]! - 1);
    report.value(`memory after ${connections} connections, against ${first}`, "%", grown, { most: 10 });
  } finally {
    for (const one of fleet) one[Symbol.dispose]();
    await input.close().catch(() => {});
    await child.status;
  }
}

/** Takes and acknowledges what comes, without looking at what it says. */
class StandIn implements Disposable {
  readonly #client: Client;
  readonly #call: Call;
  #tables = 0;
  #wake = Promise.withResolvers<void>();

  constructor({ port, authority, client }: Access, proxy: string) {
    this.#client = new Client(port, { authority, serverName: "xds.bench", certificate: client });
    this.#call = this.#client.call();
    const node = { id: proxy, cluster: "default/web" };
    this.#call.send({ type_url: typeUrls.cluster, node });
    this.#call.send({ type_url: typeUrls.listener });
    this.#call.send({ type_url: typeUrls.routes, resource_names_subscribe: ["default/web/80"] });
    void this.#take();
  }

  /** Resolves once a route table has arrived so many times. */
  async configured(times: number): Promise<void> {
    while (this.#tables < times) await this.#wake.promise;
  }

  async #take(): Promise<void> {
    try {
      for await (const message of readMessages(this.#call.stream, 1 << 30)) {
        const type_url = typeOf(message);
        const response: DeltaDiscoveryResponse = type_url === typeUrls.routes
          ? withoutResources(message)
          : decode(DeltaDiscoveryResponse, message);
        const { nonce = "", resources = [] } = response;
        this.#call.send({ type_url, response_nonce: nonce });
        if (type_url === typeUrls.cluster && resources.length > 0) {
          const resource_names_subscribe = resources.map(({ name = "" }) => name);
          this.#call.send({ type_url: typeUrls.endpoints, resource_names_subscribe });
        }
        if (type_url !== typeUrls.routes) continue;
        this.#tables++;
        this.#wake.resolve();
        this.#wake = Promise.withResolvers();
      }
    } catch {
      // The connection is closed.
    }
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }
}

/** What comes first in a response of Gatehouse. */
function typeOf(message: Uint8Array): string {
  const reader = new BinaryReader(message);
  reader.tag();
  return reader.string();
}

/** A response of which nobody wants to know what is in it: this process is to be quick. */
function withoutResources(message: Uint8Array): DeltaDiscoveryResponse {
  const reader = new BinaryReader(message);
  for (;;) {
    const [number, wire] = reader.tag();
    if (number === 5) return { nonce: reader.string() };
    reader.skip(wire, number);
  }
}
