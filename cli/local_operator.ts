/**
 * An operator whose data plane is this machine: what `standalone` and `local` have in common.
 *
 * @module
 */
import { systemClock } from "../controllers/runtime/clock.ts";
import type { Proxy } from "../controllers/ir/mod.ts";
import type { RootLog } from "../controllers/runtime/log.ts";
import { createMetrics } from "../controllers/runtime/metrics.ts";
import { createAuthority } from "../controllers/runtime/pki.ts";
import { Scope } from "../controllers/runtime/scope.ts";
import { type Addresses, type Config, defaultConfig } from "../controllers/translate/mod.ts";
import type { Kube } from "../kube/types.ts";
import { type AddressWant, choosePool, wantOf } from "../standalone/addresses.ts";
import type { Pool } from "../standalone/addresses/pool.ts";
import { DataPlane, type EnvoyFiles, type EnvoyInput } from "../standalone/data_plane.ts";
import { systemAuthorities } from "../standalone/envoy/authorities.ts";
import { cacheDirectory, type EnvoyBinary, findEnvoy } from "../standalone/envoy/find.ts";
import { bootstrap } from "../xds/bootstrap.ts";
import { sdsFiles } from "../xds/control_plane.ts";
import { serveAdmin } from "./admin.ts";
import { type Io, UsageError } from "./io.ts";
import { operate, type Operator } from "./operate.ts";
import { reportOf } from "./report.ts";
import { identityOf, serveXds, xdsServerName } from "./serve_xds.ts";
import { version } from "./version.ts";

/** What has to be there before anything is started. */
export interface Parts {
  readonly binary: EnvoyBinary;
  readonly pool: Pool;
}

/** Finds Envoy, fetching it if need be, and the addresses that Gateways can have. */
export async function findParts(
  options: { readonly envoy?: string; readonly addresses?: string },
  data: string,
  io: Io,
): Promise<Parts> {
  const pool = await choosePool(options.addresses);
  if ("problem" in pool) throw new UsageError(pool.problem);
  const found = await findEnvoy({
    flag: options.envoy,
    variable: io.env.ENVOY,
    path: io.env.PATH,
    cache: cacheDirectory((name) => io.env[name], data),
    platform: io.platform,
    clock: systemClock,
    progress: (line) => io.err(line),
    signal: io.signal,
  });
  if ("problem" in found) throw new UsageError(found.problem, { status: 1 });
  return { binary: found.envoy, pool: pool.pool };
}

export interface LocalOptions extends Parts {
  /** The directory of everything that lasts; absolute. */
  readonly data: string;
  readonly concurrency?: number;
  readonly config?: Partial<Config>;
  readonly kube: Kube;
  readonly log: RootLog;
  /** Aborted once nobody wants to wait for requests to finish. */
  readonly hurry?: AbortSignal;
  /** Told after each settle. */
  readonly settled?: (operator: Operator) => void;
}

/** An operator with its Envoys. Disposing of it drains them first. */
export interface Local extends AsyncDisposable {
  readonly operator: Operator;
  readonly dataPlane: DataPlane;
  readonly scope: Scope;
}

/** Starts the operator and the data plane. */
export async function startLocal(options: LocalOptions): Promise<Local> {
  const { data, binary, pool, concurrency, kube, log, hurry } = options;
  const clock = systemClock, now = clock.now().getTime();
  await using stack = new AsyncDisposableStack();
  stack.use(await lock(data));
  const scope = stack.use(new Scope());
  const metrics = createMetrics({ clock, version });
  const authority = await createAuthority({
    commonName: "gatehouse xDS",
    notBefore: new Date(now - 60_000),
    notAfter: new Date(now + tenYears),
  });
  // Settles come before there is a data plane, which needs the port of the xDS server first.
  const started: { dataPlane?: DataPlane } = {};
  const listeners = new Set<() => void>();
  const operator = await operate({
    kube,
    config: { ...defaultConfig, infrastructure: false, ...options.config },
    clock,
    log,
    metrics,
    scope,
    platform: (graph) => ({
      proxies: graph.source<readonly Proxy[]>("proxies"),
      addresses: graph.source<Addresses>("addresses"),
    }),
    reporter: {
      controller: options.config?.controllerName ?? defaultConfig.controllerName,
      instance: "local",
    },
    serveXds: (parts) => serveXds({ hostname: "127.0.0.1", port: 0, authority }, parts),
    // Envoys of one user could otherwise share a port and not notice.
    xds: { reusePort: false, systemAuthorities: await systemAuthorities() },
    settled: (operator) => {
      if (operator.translation.gateways.changed.size > 0) started.dataPlane?.sync(wantsOf(operator));
      options.settled?.(operator);
      for (const listener of [...listeners]) listener();
    },
  });
  stack.use(operator.xds);
  const { loop, platform } = operator;
  scope.spawn("writers", (signal) => operator.lead(signal));
  const dataPlane = started.dataPlane = stack.adopt(
    await DataPlane.open({
      directory: data,
      binary,
      pool,
      ...concurrency !== undefined && { concurrency },
      authority,
      identityOf,
      envoy: (input) => envoyFiles(input, operator.xds.port),
      clock,
      log,
      onAddresses: (gateway, addresses) => {
        if (addresses) platform.addresses.set(gateway, addresses);
        else platform.addresses.delete(gateway);
        loop.changed();
      },
      onProxies: (gateway, proxies) => {
        if (proxies.length > 0) platform.proxies.set(gateway, proxies);
        else platform.proxies.delete(gateway);
        loop.changed();
      },
    }),
    (plane) => plane.stop(hurry ? { signal: hurry } : {}),
  );
  dataPlane.sync(wantsOf(operator));
  stack.use(
    await serveAdmin(`${data}/operator.sock`, {
      metrics,
      awaited: () => loop.awaited,
      report: () => reportOf(operator, dataPlane.statuses()),
      watch: (listener) => {
        const envoys = dataPlane.onChange(listener);
        listeners.add(listener);
        return {
          [Symbol.dispose]() {
            listeners.delete(listener);
            envoys[Symbol.dispose]();
          },
        };
      },
      clock,
      log,
    }),
  );
  const owned = stack.move();
  return { operator, dataPlane, scope, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/**
 * Keeps other operators out of a directory, whose Envoys they would end. The system lets go of the lock when the process ends,
 * however it ends.
 */
async function lock(data: string): Promise<Disposable> {
  const file = await Deno.open(`${data}/operator.lock`, { create: true, write: true, mode: 0o600 });
  if (await file.tryLock(true)) return file;
  file.close();
  throw new UsageError(
    `Cannot use "${data}": another gatehouse is running with it; stop that one or choose another --data`,
    { status: 1 },
  );
}

const tenYears = 10 * 365 * 24 * 3600 * 1000;

/** What the Gateways that can be served ask for. */
function wantsOf({ world, translation }: Operator): readonly AddressWant[] {
  const wants: AddressWant[] = [];
  for (const [key, { terminating, refused, ports }] of translation.gateways.entries()) {
    const gateway = world.objects.Gateway.get(key);
    if (gateway && !terminating && refused === undefined) wants.push({ ...wantOf(gateway), ports });
  }
  return wants;
}

function envoyFiles(
  { gateway, proxy, adminSocket, directory, certificates }: EnvoyInput,
  port: number,
): EnvoyFiles {
  const options = {
    proxy,
    gateway,
    adminSocket,
    sdsDirectory: directory,
    xds: { host: "127.0.0.1", port, serverName: xdsServerName },
  };
  const material = { authority: certificates, certificate: certificates };
  return { bootstrap: JSON.stringify(bootstrap(options)), files: sdsFiles(material, options) };
}
