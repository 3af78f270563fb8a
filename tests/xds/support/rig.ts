/**
 * The xDS server as it is run, with a model made by hand at one end and real Envoys at the other.
 *
 * @module
 */
import { systemClock } from "../../../controllers/runtime/clock.ts";
import type { Ir } from "../../../controllers/ir/mod.ts";
import { Graph, type Table } from "../../../controllers/runtime/graph.ts";
import { silentLog } from "../../../controllers/runtime/log.ts";
import { createAuthority, issue, type KeyPair } from "../../../controllers/runtime/pki.ts";
import { bootstrap, type BootstrapOptions } from "../../../xds/bootstrap.ts";
import { deriveXds, type XdsOptions } from "../../../xds/build/mod.ts";
import { XdsCache } from "../../../xds/cache.ts";
import { sdsFiles } from "../../../xds/control_plane.ts";
import { startXdsServer, type XdsServer } from "../../../xds/grpc/server.ts";
import { noMetrics } from "../../../xds/metrics.ts";
import { Ledger, type LedgerOptions } from "../../../xds/ledger/mod.ts";
import type { ProxyEvent, XdsResource } from "../../../xds/types.ts";
import { envoyForTests } from "../../standalone/envoy_for_tests.ts";
import { TextLineStream } from "../../support/lines.ts";
import { until } from "../../support/until.ts";
import { exchange } from "./http.ts";
import { GatewayModel, type IrSources, irSources } from "./ir.ts";
import { type Mini, mini } from "./mini.ts";

const serverName = "xds.gatehouse.test";

interface Waiter {
  readonly holds: () => boolean;
  readonly resolve: () => void;
}

/** What a rig serves. `ledger` has the tables that it writes to. */
interface Wiring {
  readonly ir: Ir;
  readonly ledger?: Pick<LedgerOptions, "proxies" | "verdicts" | "rejections">;
  readonly options?: XdsOptions;
}

/** A rig whose model is edited row by row. */
export async function modelRig(
  options: XdsOptions = {},
): Promise<Rig & { readonly model: GatewayModel; readonly ir: IrSources }> {
  const graph = new Graph(), ir = irSources(graph);
  return Object.assign(await Rig.start(graph, { ir, options }), { ir, model: new GatewayModel(ir) });
}

/** A rig with routes of {@linkcode mini} on one port, and a ledger. */
export async function miniRig(port: number): Promise<Rig & { readonly mini: Mini }> {
  const graph = new Graph(), wired = mini(graph, port);
  return Object.assign(await Rig.start(graph, { ir: wired.ir, ledger: wired }), { mini: wired });
}

export class Rig implements AsyncDisposable {
  readonly graph: Graph;
  readonly resources: Table<XdsResource>;
  readonly cache = new XdsCache();
  readonly ledger: Ledger | undefined;
  readonly events: ProxyEvent[] = [];
  /** Bytes and numbers of responses so far. */
  readonly pushed = { responses: 0, bytes: 0 };
  readonly #stack = new AsyncDisposableStack();
  readonly #waiters = new Set<Waiter>();
  #authority!: KeyPair;
  #server!: XdsServer;

  private constructor(graph: Graph, { ir, ledger, options }: Wiring) {
    this.graph = graph;
    this.resources = deriveXds(graph, ir, { reusePort: false, ...options });
    if (!ledger) return;
    this.ledger = this.#stack.use(
      new Ledger({
        ...ledger,
        contributions: ir.contributions,
        resources: this.resources,
        settling: () => this.graph.settling,
        clock: systemClock,
        wake: () => queueMicrotask(() => this.settle()),
      }),
    );
  }

  static async start(graph: Graph, wiring: Wiring): Promise<Rig> {
    const rig = new Rig(graph, wiring);
    const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
    rig.#authority = await createAuthority({ commonName: "test authority", ...validity });
    await rig.listen(0);
    return rig;
  }

  get port(): number {
    return this.#server.port;
  }

  async listen(port: number): Promise<void> {
    const leaf = await this.issue("server", { dnsNames: [serverName], usages: ["server"] });
    this.#server = await startXdsServer({
      cache: this.cache,
      tls: { ...leaf, clientAuthority: this.#authority.certificate },
      authenticate: ({ certificate }) =>
        certificate
          ? { gateway: certificate.uris[0]!.replace("gatehouse:", "") }
          : { refused: "UNAUTHENTICATED", message: "no certificate" },
      hostname: "127.0.0.1",
      port,
      clock: systemClock,
      log: silentLog,
      onEvent: (event) => {
        this.events.push(event);
        this.ledger?.observe(event);
        this.#check();
      },
      metrics: {
        ...noMetrics,
        pushed: (_type, _resources, _removed, bytes) => {
          this.pushed.responses++;
          this.pushed.bytes += bytes;
        },
      },
    });
    const server = this.#server;
    this.#stack.defer(() => server[Symbol.asyncDispose]());
  }

  /** Stops the server and starts another on the same port. */
  async restartServer(): Promise<void> {
    const { port } = this;
    await this.#server[Symbol.asyncDispose]();
    await this.listen(port);
  }

  /** Takes the place of another rig, which its proxies will not notice but for the broken streams. */
  async succeed(other: Rig): Promise<void> {
    const { port } = other;
    await Promise.all([other.#server[Symbol.asyncDispose](), this.#server[Symbol.asyncDispose]()]);
    this.#authority = other.#authority;
    await this.listen(port);
  }

  issue(
    commonName: string,
    leaf: {
      readonly dnsNames?: readonly string[];
      readonly uris?: readonly string[];
      readonly usages: readonly ("server" | "client")[];
    },
  ): Promise<KeyPair> {
    const now = Date.now();
    return issue(this.#authority, {
      commonName,
      notBefore: new Date(now - 60_000),
      notAfter: new Date(now + 3_600_000),
      ...leaf,
    });
  }

  get authority(): KeyPair {
    return this.#authority;
  }

  /** Makes another authority, for certificates from now on. */
  async replaceAuthority(): Promise<void> {
    const now = Date.now();
    this.#authority = await createAuthority({
      commonName: "another authority",
      notBefore: new Date(now - 60_000),
      notAfter: new Date(now + 3_600_000),
    });
  }

  /** Brings the resources up to date and tells the streams. */
  settle(): void {
    do {
      this.graph.settle();
      this.cache.update(this.resources);
      Array.from(this.ledger?.settled() ?? []);
    } while (this.graph.pending);
    this.#check();
  }

  /** Resolves once `holds`, which is looked at after each event; rejects after 20 seconds. */
  async until(what: string, holds: () => boolean): Promise<void> {
    if (holds()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { holds, resolve };
    this.#waiters.add(waiter);
    const timer = setTimeout(() => {
      const last = this.events.slice(-10).map((event) => JSON.stringify(event)).join("\n");
      reject(new Error(`Not within 20 seconds: ${what}. Last events:\n${last}`));
    }, 20_000);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }

  /** Resolves once a proxy has acknowledged the current versions of everything that its Gateway has. */
  async synced(proxy = "proxy", gateway = "default/gw"): Promise<void> {
    await this.until(`${proxy} is in sync`, () => {
      const held = new Map<string, string | undefined>();
      for (const event of this.events) {
        if (event.type === "acked" && event.proxy === proxy) held.set(event.id, event.version);
      }
      const wanted = this.cache.resources(gateway);
      return [...wanted].every(([id, { version }]) => held.get(id) === version) &&
        [...held].every(([id, version]) =>
          version === undefined || wanted.has(id as never) || !/^(cluster|listener)/.test(id)
        );
    });
  }

  /** Starts an Envoy and resolves once it has connected. */
  async envoy(
    proxy = "proxy",
    gateway = "default/gw",
    more: Partial<BootstrapOptions> = {},
    args?: readonly string[],
  ): Promise<Envoy> {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-xds-" });
    this.#stack.defer(() => Deno.remove(folder, { recursive: true }));
    const leaf = await this.issue(proxy, { uris: [`gatehouse:${gateway}`], usages: ["client"] });
    await Deno.writeTextFile(`${folder}/tls.crt`, leaf.certificate);
    await Deno.writeTextFile(`${folder}/tls.key`, leaf.key);
    await Deno.writeTextFile(`${folder}/ca.crt`, this.#authority.certificate);
    const options: BootstrapOptions = {
      proxy,
      gateway,
      xds: { host: "127.0.0.1", port: this.port, serverName },
      sdsDirectory: folder,
      adminSocket: `${folder}/admin.sock`,
      ...more,
    };
    for (
      const [name, content] of Object.entries(sdsFiles({ authority: folder, certificate: folder }, options))
    ) {
      await Deno.writeTextFile(`${folder}/${name}`, content);
    }
    await Deno.writeTextFile(`${folder}/envoy.json`, JSON.stringify(bootstrap(options)));
    const envoy = new Envoy(await envoyForTests(), folder, args);
    this.#stack.use(envoy);
    await this.until(
      `${proxy} connects`,
      () => this.events.some((event) => event.type === "connected" && event.proxy === proxy),
    ).catch(async (cause) => {
      throw new Error(`Envoy does not connect:\n${await envoy.log()}`, { cause });
    });
    return envoy;
  }

  #check(): void {
    for (const waiter of this.#waiters) if (waiter.holds()) waiter.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

export class Envoy implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #folder: string;
  readonly #lines: ReadableStreamDefaultReader<string>;

  constructor(path: string, folder: string, args: readonly string[] = ["--drain-time-s", "1"]) {
    this.#folder = folder;
    this.#child = new Deno.Command(path, {
      args: [
        ...["--config-path", `${folder}/envoy.json`],
        ...["--file-flush-interval-msec", "20"],
        ...["--disable-hot-restart", "--concurrency", "1", ...args],
        ...["--log-level", Deno.env.get("ENVOY_LOG_LEVEL") ?? "warning", "--log-path", `${folder}/envoy.log`],
        ...["--reject-unknown-dynamic-fields"],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
      .getReader();
  }

  /** The next line of its standard output, which is its access log. */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.read();
    if (done) throw new Error("Envoy has ended");
    return value;
  }

  replaceCertificate({ certificate, key }: KeyPair): Promise<void> {
    return this.#replace({ "tls.crt": certificate, "tls.key": key });
  }

  replaceAuthority({ certificate }: KeyPair): Promise<void> {
    return this.#replace({ "ca.crt": certificate });
  }

  /** Replaces files by renaming others over them, and waits until Envoy has read those. */
  async #replace(files: { readonly [name: string]: string }): Promise<void> {
    const before = await this.admin("/certs");
    for (const [name, content] of Object.entries(files)) {
      await Deno.writeTextFile(`${this.#folder}/${name}.new`, content);
      await Deno.rename(`${this.#folder}/${name}.new`, `${this.#folder}/${name}`);
    }
    for (let tries = 0; await this.admin("/certs") === before; tries++) {
      if (tries === 100) {
        throw new Error(`Envoy does not notice that its certificates are replaced: ${before}`);
      }
      await systemClock.sleep(20);
    }
  }

  /** What Envoy wrote. */
  log(): Promise<string> {
    return Deno.readTextFile(`${this.#folder}/envoy.log`);
  }

  /** Resolves once all listeners are in place: one that is acknowledged may still wait for what it names. */
  async warm(): Promise<void> {
    const path = "/stats?filter=^listener_manager.total_listeners_warming$";
    await until("no listener is warming", async () => (await this.admin(path)).endsWith(": 0\n"));
  }

  /** Asks the admin interface. */
  async admin(path: string): Promise<string> {
    const { status, body } = await exchange({ socketPath: `${this.#folder}/admin.sock`, path });
    if (status !== 200) throw new Error(`${path} answers ${status}: ${body}`);
    return body;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // It has ended already.
    }
    await this.#lines.cancel();
    await this.#child.status;
  }
}
