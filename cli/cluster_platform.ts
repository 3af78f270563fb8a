/**
 * Gateways in a cluster: their proxies are pods, and what these need is made by the replica that leads.
 *
 * @module
 */
import { authorityController, type AuthorityTables, deriveAuthority } from "../controllers/authority.ts";
import { infrastructureController } from "../controllers/infra.ts";
import { deriveAccounts, type ProxyAccount } from "../controllers/infrastructure/accounts.ts";
import {
  clusterKinds,
  createClusterWorld,
  deriveAddresses,
  deriveInfrastructure,
  deriveProxies,
  type ProxyInput,
  type ProxyStart,
} from "../controllers/infrastructure/mod.ts";
import { fieldManager, labels } from "../controllers/infrastructure/names.ts";
import { authorityTimes } from "../controllers/runtime/authorities.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Graph, Source, Table } from "../controllers/runtime/graph.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import type { Sources } from "../controllers/translate/mod.ts";
import { type ApiObject, type Secret, secret as secretKind } from "../crds/mod.ts";
import type { Kube } from "../kube/types.ts";
import type { EveryAddress } from "../xds/build/listener.ts";
import { podFiles } from "../xds/pod.ts";
import { effectOf } from "./effect.ts";
import type { Platform } from "./operate.ts";
import type { Watched } from "./watches.ts";

/** Where proxies find the xDS servers. */
export interface XdsService {
  /** A name to look up. */
  readonly host: string;
  /** The DNS name in their certificates. */
  readonly serverName: string;
  readonly port: number;
}

export interface ClusterPlatformOptions {
  readonly controllerName: string;
  /** The image of Envoy where no EnvoyFleet names one. */
  readonly image: string;
  readonly xds: XdsService;
  /** Where proxies listen. */
  readonly everyAddress: EveryAddress;
  /** The Secret with the authority that signs the replicas' certificates. */
  readonly authority: { readonly namespace: string; readonly name: string };
  readonly writer: Kube;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Called when a source has changed: a settle is due. */
  readonly changed: () => void;
}

export interface ClusterPlatform extends Platform {
  /** Which ServiceAccount is which Gateway's. */
  readonly accounts: Table<ProxyAccount>;
  readonly authority: AuthorityTables;
}

/** How many objects of Gateways are written at once. */
const infrastructureWorkers = 8;

export function clusterPlatform(
  graph: Graph,
  sources: Sources,
  options: ClusterPlatformOptions,
): ClusterPlatform {
  const { controllerName, image, xds, everyAddress, writer, clock, log, metrics, changed } = options;
  const cluster = createClusterWorld(graph);
  const { proxies, draining, shortages } = deriveProxies(graph, sources, cluster);
  const own = graph.source<Secret>("own secret");
  const authority = deriveAuthority(graph, { secrets: own, time: sources.time }, {
    ...options.authority,
    times: authorityTimes,
  });
  const tables = cluster as unknown as { readonly [kind: string]: Source<ApiObject> };
  const watched: readonly Watched[] = [
    ...clusterKinds.map(({ name, kind, labelSelector }) => ({ kind, source: tables[name]!, labelSelector })),
    {
      kind: secretKind,
      source: own as unknown as Source<ApiObject>,
      object: options.authority,
    },
  ];
  return {
    proxies,
    draining,
    shortages,
    addresses: deriveAddresses(graph, sources),
    accounts: deriveAccounts(graph, sources, cluster),
    authority,
    watched,
    effects(translation) {
      const { due } = deriveInfrastructure(graph, sources, cluster, translation, {
        controllerName,
        image,
        start: (input) => startOf(input, xds, everyAddress),
        authorities: authority.bundle,
      });
      const infrastructure = infrastructureController({
        due,
        kube: writer,
        log,
        refused(row, refusal) {
          if (refusal) sources.refusals.set(row, refusal);
          else sources.refusals.delete(row);
          changed();
        },
      });
      const own = authorityController({
        ...options.authority,
        tables: authority,
        times: authorityTimes,
        kube: writer,
        labels: { [labels.managedBy]: fieldManager },
        clock,
        log,
      });
      return [
        effectOf(infrastructure, { concurrency: infrastructureWorkers, clock, log, metrics }),
        effectOf(own, { concurrency: 1, clock, log, metrics }),
      ];
    },
  };
}

/** What Envoy is started with in a pod. */
function startOf(input: ProxyInput, xds: XdsService, address: EveryAddress): ProxyStart {
  const { gateway, fleet, configuration, token, run, node, readiness, metrics, concurrency, memory } = input;
  return podFiles({
    gateway,
    configuration,
    token,
    node,
    adminSocket: `${run}/admin.sock`,
    readiness: { address, port: readiness },
    metrics: { address, port: metrics },
    xds,
    drain: fleet.drain.seconds,
    logLevel: fleet.logLevel,
    stats: fleet.stats,
    ...concurrency !== undefined && { concurrency },
    ...memory !== undefined && { maxHeap: memory },
  });
}
