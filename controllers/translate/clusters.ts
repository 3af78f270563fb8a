/**
 * Clusters: from what each route needs to what the proxies of a Gateway, and all of them together, need.
 *
 * @module
 */
import type { GatewayKey, Ir } from "../ir/mod.ts";
import type { Graph, Read, Table } from "../runtime/graph.ts";
import type { ClusterSpec } from "./backends.ts";
import { endpointsOf, serviceOf } from "./endpoints.ts";
import { split, within } from "./keys.ts";
import type { GatewayState } from "./gateway_state.ts";
import type { Served } from "./placements.ts";
import type { CollectorCluster } from "./telemetry.ts";
import type { Place } from "./topology.ts";
import type { World } from "./world.ts";

/** A cluster that the proxies of a Gateway need. Row key: `GATEWAY|CLUSTER`. */
export interface GatewayCluster<C extends AnyCluster = ClusterSpec> {
  readonly gateway: GatewayKey;
  readonly cluster: C;
}

/** A cluster of whichever sort. */
export type AnyCluster = ClusterSpec | CollectorCluster;

/** The clusters that something of a Gateway needs. */
interface Needs<C extends AnyCluster = ClusterSpec> {
  readonly gateway: GatewayKey;
  readonly clusters: readonly C[];
}

/** Joins the needs of routes, and of whatever else. */
export function clustersByGateway<C extends AnyCluster = ClusterSpec>(
  graph: Graph,
  name: string,
  needs: Table<Needs<C>>,
): Table<GatewayCluster<C>> {
  const groups = graph.index(
    `${name} clusters by gateway`,
    needs,
    ({ gateway, clusters }) => [...new Set(clusters.map((cluster) => within(gateway, cluster.name)))],
  );
  return graph.derive(`${name} clusters of gateways`, groups, (group, _, key) => {
    const [gateway, name] = split(key);
    // Whoever needs it describes it the same way.
    for (const { clusters } of group.values()) {
      const cluster = clusters.find((cluster) => cluster.name === name);
      return cluster && { gateway, cluster };
    }
  });
}

/** Derives clusters, who uses them, and their endpoints. */
export function deriveClusters(
  graph: Graph,
  { objects }: World,
  { served, states }: { readonly served: Table<Served>; readonly states: Table<GatewayState> },
  clientCertificateOf: (gateway: GatewayKey, read: Read) => string | undefined,
  place?: Place,
): Pick<Ir, "clusters" | "clusterUses" | "endpoints"> & { readonly used: Table<GatewayCluster<AnyCluster>> } {
  const needs = graph.union<Needs<AnyCluster>>("used clusters", [
    [
      "routes ",
      graph.derive("clusters of routes", served, ({ gateway, clusters }) => ({ gateway, clusters })),
    ],
    [
      "collectors ",
      graph.derive(
        "clusters of collectors",
        states,
        ({ gateway, telemetry: { collector } }) => collector && { gateway, clusters: [collector] },
      ),
    ],
  ]);
  const used = clustersByGateway(graph, "used", needs);
  const clusterUses = graph.derive("ir.clusterUses", used, ({ gateway, cluster }, read) => {
    const clientCertificate = cluster.tls && clientCertificateOf(gateway, read);
    return {
      gateway,
      cluster: cluster.name,
      ...clientCertificate !== undefined && { clientCertificate },
    };
  });
  const byName = graph.index("uses by cluster", used, ({ cluster }) => [cluster.name]);
  const specs = graph.derive("clusters", byName, (group): AnyCluster | undefined => {
    for (const { cluster } of group.values()) return cluster;
  });
  const clusters = graph.derive("ir.clusters", specs, ({ name, protocol, address, tls, retries }) => ({
    name,
    protocol,
    ...address && { address },
    ...tls && { tls },
    ...retries && { retries },
  }));
  const slices = graph.index("slices by service", objects.EndpointSlice, serviceOf);
  const endpoints = graph.derive(
    "ir.endpoints",
    specs,
    (cluster, read) =>
      cluster.address
        ? undefined
        : cluster.cut
        ? { cluster: cluster.name, localities: [] }
        : endpointsOf(cluster, read(objects.Service, cluster.service), read(slices, cluster.service), place),
  );
  return { clusters, clusterUses, endpoints, used };
}
