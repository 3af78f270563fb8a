/**
 * The API server of `gatehouse standalone`: enough of Kubernetes for kubectl and for the operator, on one machine.
 *
 * @module
 */
import { join } from "node:path";
import type { Hono } from "hono";
import type { Channel } from "../../crds/kind.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { Scope } from "../../controllers/runtime/scope.ts";
import { createApp, type Env } from "./app.ts";
import { type Certificates, certificates, kubeconfig, writePrivate } from "./data_dir.ts";
import { Database } from "./database.ts";
import { expireEvents } from "./expiry.ts";
import { type Fault, Faults } from "./faults.ts";
import { collectGarbage } from "./garbage.ts";
import { listen } from "./https.ts";
import { emptyNamespaces } from "./namespaces.ts";
import { type Model, Resources } from "./resources.ts";
import { seed } from "./seed.ts";
import { Store, type StoreOptions } from "./store.ts";

export interface ApiOptions {
  /** Made if it is not there. One process at a time may use it. */
  readonly dataDir: string;
  /** 0 for one that is free. */
  readonly port?: number;
  /** A loopback address; the default is 127.0.0.1. */
  readonly host?: string;
  readonly channel?: Channel;
  readonly model: Model;
  readonly clock: Clock;
  readonly log: Log;
  /** Faults that are on from the start. */
  readonly faults?: readonly Fault[];
  readonly history?: StoreOptions;
  /** Stops the server, too. */
  readonly signal?: AbortSignal;
}

export interface ApiServer extends AsyncDisposable {
  readonly url: string;
  /** Where the kubeconfig of the administrator lies. */
  readonly kubeconfig: string;
  readonly certificates: Certificates;
  readonly faults: Faults;
  /** The same server without a socket. */
  readonly app: Hono<Env>;
  readonly store: Store;
  /** Resolves once the server has stopped; rejects if something broke. */
  join(): Promise<void>;
}

const loopback = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

/**
 * Starts the server; it answers once the promise is resolved.
 *
 * @throws {DataError} if the data directory cannot be used: the message says what to do
 * @throws {TypeError} for a host that is not a loopback address
 */
export async function serveApi(options: ApiOptions): Promise<ApiServer> {
  const { dataDir, host = "127.0.0.1", clock, log } = options;
  if (!loopback.test(host)) {
    throw new TypeError(
      `Cannot serve on "${host}": the API server of standalone serves loopback addresses only`,
    );
  }
  await using stack = new AsyncDisposableStack();
  await Deno.mkdir(dataDir, { recursive: true, mode: 0o700 });
  const database = stack.use(Database.open(join(dataDir, "state.db")));
  const store = stack.use(new Store(database, options.history));
  const resources = new Resources(options.model, options.channel ?? "experimental");
  await seed({ store, resources, clock });

  const faults = new Faults(options.faults);
  const scope = stack.use(new Scope(options.signal));
  const app = createApp({ store, resources, clock, log, faults, signal: scope.signal });
  const pki = await certificates(dataDir, clock);
  const server = await listen({
    host,
    port: options.port ?? 0,
    certificate: pki.server,
    clientAuthority: pki.authority.certificate,
    handle: (request, identity) => app.fetch(request, identity ? { identity } : {}),
    onError: (error) => log.warn("connection failed", { error }),
  });
  stack.use(server);
  stack.defer(() => scope.stop()); // first of all: watches end, so that their answers are complete
  const url = `https://${host.includes(":") ? `[${host}]` : host}:${server.port}`;
  const path = join(dataDir, "kubeconfig");
  await writePrivate(path, kubeconfig(url, pki.authority, pki.admin));

  scope.spawn("garbage collector", (signal) => collectGarbage({ store, resources, clock }, signal));
  scope.spawn("namespaces", (signal) => emptyNamespaces({ store, resources, clock }, signal));
  scope.spawn("expiry of events", (signal) => expireEvents({ store, clock }, signal));
  log.info("API server is ready", { url, kubeconfig: path, revision: store.revision });

  const owned = stack.move();
  return {
    url,
    kubeconfig: path,
    certificates: pki,
    faults,
    app,
    store,
    join: () => scope.join(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
