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
import type { Served } from "./placements.ts";
import type { Place } from "./topology.ts";
import type { World } from "./world.ts";

/** A cluster that the proxies of a Gateway need. Row key: `GATEWAY|CLUSTER`. */
export interface GatewayCluster {
  readonly gateway: GatewayKey;
  readonly cluster: ClusterSpec;
}

/** Joins the needs of routes. */
export function clustersByGateway(
  graph: Graph,
  name: string,
  needs: Table<{ readonly gateway: GatewayKey; readonly clusters: readonly ClusterSpec[] }>,
): Table<GatewayCluster> {
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
  served: Table<Served>,
  clientCertificateOf: (gateway: GatewayKey, read: Read) => string | undefined,
  place?: Place,
): Pick<Ir, "clusters" | "clusterUses" | "endpoints"> & { readonly used: Table<GatewayCluster> } {
  const needs = graph.derive("used clusters", served, ({ gateway, clusters }) => ({ gateway, clusters }));
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
  const specs = graph.derive("clusters", byName, (group): ClusterSpec | undefined => {
    for (const { cluster } of group.values()) return cluster;
  });
  const clusters = graph.derive("ir.clusters", specs, ({ name, protocol, tls }) => ({
    name,
    protocol,
    ...tls && { tls },
  }));
  const slices = graph.index("slices by service", objects.EndpointSlice, serviceOf);
  const endpoints = graph.derive(
    "ir.endpoints",
    specs,
    (cluster, read) =>
      cluster.cut
        ? { cluster: cluster.name, localities: [] }
        : endpointsOf(cluster, read(objects.Service, cluster.service), read(slices, cluster.service), place),
  );
  return { clusters, clusterUses, endpoints, used };
}
