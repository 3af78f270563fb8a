/**
 * The operator of a cluster: one of several replicas that all serve xDS, and of which one writes.
 *
 * @module
 */
import { row as authorityRow } from "../controllers/authority.ts";
import { tokenAudience } from "../controllers/infrastructure/names.ts";
import { OwnCertificate } from "../controllers/own_certificate.ts";
import { authorityTimes } from "../controllers/runtime/authorities.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import { createMetrics } from "../controllers/runtime/metrics.ts";
import { createAuthority } from "../controllers/runtime/pki.ts";
import { Scope } from "../controllers/runtime/scope.ts";
import { linkSignals } from "../controllers/runtime/signals.ts";
import { type Config, defaultConfig, gatewayFinalizer } from "../controllers/translate/mod.ts";
import type { Fence } from "../kube/fence.ts";
import { Tokens } from "../kube/tokens.ts";
import type { Kube } from "../kube/types.ts";
import type { EveryAddress } from "../xds/build/listener.ts";
import { startXdsServer } from "../xds/grpc/server.ts";
import { type ClusterPlatform, clusterPlatform } from "./cluster_platform.ts";
import { serveHttp } from "./http_port.ts";
import { abortable } from "./abortable.ts";
import { type ReportAddress, ReportClient } from "./report_client.ts";
import { type ReportServer, serveReports } from "./report_server.ts";
import { LeaseHolder, standForElection } from "./leadership.ts";
import { operate, type Operator } from "./operate.ts";
import { byToken } from "./proxy_tokens.ts";
import { version } from "./version.ts";

/** Which replica this is, and of what. */
export interface Replica {
  readonly namespace: string;
  readonly pod: string;
  /** The pod's IP addresses. Others reach it at the first; which families there are is what its cluster has. */
  readonly ips: readonly [string, ...string[]];
  /** The Service that proxies find the replicas by. */
  readonly service: string;
}

export interface ClusterOperatorOptions {
  readonly replica: Replica;
  readonly kube: Kube;
  /** Sends nothing unless `fence` lets it. */
  readonly writer: Kube;
  readonly fence: Fence;
  readonly config?: Partial<Config>;
  /** Serves nothing but Gateways and routes of these namespaces; all by default. */
  readonly namespaces?: readonly string[];
  /** The GatewayClasses that are ours where they may not be read, as with Roles alone. */
  readonly classes?: readonly string[];
  /** The image of Envoy. */
  readonly image: string;
  /** Names of what is the installation's own. */
  readonly lease: string;
  readonly authority: string;
  /** How long a certificate of this replica is good, in milliseconds. */
  readonly certificateLifetime: number;
  /** 0 for any that is free. */
  readonly ports: { readonly xds: number; readonly reports: number; readonly http: number };
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted once nobody wants to wait for proxies to move elsewhere. */
  readonly hurry?: AbortSignal;
  /** Something random, so that this process is not taken for another one in the same pod. */
  readonly nonce: string;
}

/** An operator that runs. Disposing of it stops it in the order in which nobody loses anything. */
export interface ClusterOperator extends AsyncDisposable {
  readonly operator: Operator<ClusterPlatform>;
  readonly scope: Scope;
  readonly http: number;
}

/** Starts a replica: probes, the watches and the xDS server; once it has its first complete configuration it stands for election. */
export async function startClusterOperator(options: ClusterOperatorOptions): Promise<ClusterOperator> {
  const { replica, kube, writer, fence, lease, authority, ports, clock, log, hurry } = options;
  const { namespace, ips } = replica, hostname = everyAddressFor(ips.slice(0, 1));
  const everyAddress = everyAddressFor(ips);
  await using stack = new AsyncDisposableStack();
  const metrics = createMetrics({ clock, version });
  const started: { operator?: Operator<ClusterPlatform>; reports?: ReportServer } = {},
    state = { complete: false, leading: false, stopping: false };
  const ready = Promise.withResolvers<void>();
  const certificate = new OwnCertificate({
    leaf: {
      commonName: "gatehouse",
      dnsNames: [xdsServerName(replica)],
      usages: ["server", "client"],
    },
    life: options.certificateLifetime,
    times: authorityTimes,
    clock,
    log,
    changed(credentials) {
      started.operator?.xds.rotate(credentials);
      started.reports?.use(credentials);
      // There is none before the first complete configuration.
      ready.resolve();
    },
  });
  const http = stack.use(
    await serveHttp({
      log,
      hostname,
      port: ports.http,
      metrics,
      clock,
      ready: ready.promise,
      awaited() {
        if (state.stopping) return ["the end: this replica is stopping"];
        if (!started.operator) return ["the xDS server"];
        const { loop } = started.operator;
        return [
          ...loop.awaited.map((name) => `the list of ${name}`),
          ...state.complete ? [] : ["the first configuration"],
          ...certificate.credentials ? [] : ["the authority of the xDS servers"],
        ];
      },
    }),
  );

  const scope = stack.use(new Scope());
  const { controllerName = defaultConfig.controllerName } = options.config ?? {};
  const config: Config = {
    ...defaultConfig,
    accessLog: true,
    finalizer: gatewayFinalizer(controllerName),
    ...options.config,
  };
  const tokens = new Tokens({ kube, audience: tokenAudience, clock, log });
  const operator = started.operator = await operate<ClusterPlatform>({
    kube,
    writer,
    config,
    clock,
    log,
    metrics,
    scope,
    ...options.namespaces && { namespaces: options.namespaces },
    ...options.classes && { classes: options.classes },
    reporter: { controller: config.controllerName, instance: replica.pod },
    xds: { everyAddress },
    platform: (graph, sources) =>
      clusterPlatform(graph, sources, {
        controllerName: config.controllerName,
        image: options.image,
        everyAddress,
        xds: {
          host: `${xdsServerName(replica)}.${config.clusterDomain}`,
          serverName: xdsServerName(replica),
          port: ports.xds,
        },
        authority: { namespace, name: authority },
        writer,
        clock,
        log,
        metrics,
        changed: () => started.operator?.loop.changed(),
      }),
    serveXds: async (parts, { accounts }) =>
      await startXdsServer({
        ...parts,
        // Nobody trusts it; proxies come once there is one that they do.
        tls: await createAuthority({
          commonName: "nobody",
          notBefore: clock.now(),
          notAfter: new Date(clock.now().getTime() + minute),
        }),
        authenticate: byToken({ tokens, accounts }),
        hostname,
        port: ports.xds,
      }),
    settled({ platform: { authority } }) {
      state.complete = true;
      const row = authority.authorities.get(authorityRow);
      if (row) certificate.use(row.authorities);
    },
  });
  stack.use(operator.xds);
  const { ledger } = operator;
  const reports = started.reports = stack.use(
    await serveReports({ ledger, hostname, port: ports.reports, leads: () => state.leading, clock, log }),
  );
  const client = new ReportClient({
    ledger,
    credentials: () => certificate.credentials,
    serverName: xdsServerName(replica),
    clock,
    log,
  });
  scope.spawn("reports", (signal) => client.run(signal));
  scope.spawn("certificate", (signal) => certificate.run(signal));
  scope.spawn("keys of tokens", (signal) => tokens.run(signal));

  const identity = identityOf(replica, reports.port, options.nonce);
  const holder = new LeaseHolder({
    kube,
    namespace,
    lease,
    // To the end, that the next leader knows of proxies that this replica still serves.
    changed: (holder) => client.follow(holder === identity ? undefined : addressIn(holder)),
    clock,
    log,
  });
  scope.spawn("watch of the lease", (signal) => holder.watch(signal));
  const resign = new AbortController(), resigned = Promise.withResolvers<void>();
  scope.spawn("leadership", async (signal) => {
    using linked = linkSignals(signal, resign.signal);
    try {
      await abortable(operator.loop.ready, linked.signal);
      await standForElection({
        kube,
        namespace,
        lease,
        identity,
        clock,
        log,
        metrics,
        signal: linked.signal,
        holder,
        async lead(leadership) {
          using _ = fence.open(leadership);
          state.leading = true;
          try {
            await operator.lead(leadership.signal);
          } finally {
            state.leading = false;
            reports.hangUp();
          }
        },
      });
    } catch (error) {
      if (!linked.signal.aborted) throw error;
    } finally {
      resigned.resolve();
    }
  });
  scope.signal.addEventListener("abort", () => resigned.resolve(), { once: true });
  const owned = stack.move();
  return {
    operator,
    scope,
    http: http.port,
    async [Symbol.asyncDispose]() {
      state.stopping = true;
      // Another replica can lead from now on; this one still serves, until no new proxies are sent to it.
      const moved = linger(clock, AbortSignal.any([scope.signal, ...hurry ? [hurry] : []]));
      resign.abort(new DOMException("This replica is stopping", "AbortError"));
      await resigned.promise;
      await moved;
      await owned.disposeAsync();
    },
  };
}

/** How long it takes until a Service sends nobody to a pod any more that is about to end, in milliseconds. */
const farewell = 3_000;

/** Waits, unless nobody wants to. */
async function linger(clock: Clock, signal: AbortSignal): Promise<void> {
  await clock.sleep(farewell, { signal }).catch((error) => {
    if (!signal.aborted) throw error;
  });
}

const minute = 60_000;

/** What stands for every address in a cluster where pods have such ones. */
function everyAddressFor(ips: readonly string[]): EveryAddress {
  return ips.some((ip) => ip.includes(":")) ? "::" : "0.0.0.0";
}

/** Names a process, for the Lease: which pod it is in, and where others reach it. */
function identityOf({ pod, ips: [ip] }: Replica, port: number, nonce: string): string {
  return [pod, `${ip.includes(":") ? `[${ip}]` : ip}:${port}`, nonce].join("_");
}

/** Where the holder of the Lease is reached. */
function addressIn(identity: string): ReportAddress | undefined {
  const [, host, port] = /_\[?([^_\]]+)\]?:(\d+)_/.exec(identity) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}

/** The DNS name by which proxies find the xDS servers, and which is in their certificates. */
export function xdsServerName({ service, namespace }: Pick<Replica, "service" | "namespace">): string {
  return `${service}.${namespace}.svc`;
}
