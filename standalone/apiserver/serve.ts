/**
 * The API server of `gatehouse standalone`: enough of Kubernetes for kubectl and for the operator, on one machine.
 *
 * @module
 */
import { join } from "node:path";
import { type Core, type CoreOptions, startCore } from "./core.ts";
import { type Certificates, certificates, kubeconfig, writePrivate } from "./data_dir.ts";
import { Database } from "./database.ts";
import { type HttpsLimits, listen } from "./https.ts";

export interface ApiOptions extends CoreOptions {
  /** Made if it is not there. One process at a time may use it. */
  readonly dataDir: string;
  /** 0 for one that is free, which is the default. */
  readonly port?: number;
  /** A loopback address; the default is 127.0.0.1. */
  readonly host?: string;
  readonly limits?: Partial<HttpsLimits>;
}

export interface ApiServer extends Omit<Core, typeof Symbol.asyncDispose>, AsyncDisposable {
  readonly url: string;
  /** Where the kubeconfig of the administrator lies. */
  readonly kubeconfig: string;
  readonly certificates: Certificates;
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
  // Revisions of a directory that was emptied start behind those that it had, so that a watch from back then is told to
  // begin anew instead of being led on with other objects.
  const start = Math.floor(clock.now().getTime() / 1000) * 1000;
  const database = stack.use(Database.open(join(dataDir, "state.db"), start));
  const core = stack.use(await startCore(database, options));
  const pki = await certificates(dataDir, clock);
  const server = await listen({
    host,
    port: options.port ?? 0,
    certificate: pki.server,
    clock,
    log,
    ...(options.limits ? { limits: options.limits } : {}),
    clientAuthority: pki.authority.certificate,
    // Hono passes a request on to the app's handlers, and reads its method and its URL.
    handle: (request, identity) => core.app.fetch(request as Request, identity ? { identity } : {}),
    onError: (error) => log.warn("connection failed", { error }),
  });
  stack.use(server);
  stack.defer(() => core.stop()); // first of all: watches end, so that their answers are complete
  const url = `https://${host.includes(":") ? `[${host}]` : host}:${server.port}`;
  const path = join(dataDir, "kubeconfig");
  await writePrivate(path, kubeconfig(url, pki.authority, pki.admin));
  log.info("API server is ready", { url, kubeconfig: path, revision: core.store.revision });

  const owned = stack.move();
  const { app, store, faults } = core;
  return {
    url,
    kubeconfig: path,
    certificates: pki,
    app,
    store,
    faults,
    stop: () => core.stop(),
    join: () => core.join(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
