/**
 * From the data-plane model to serialized Envoy resources: pure, and incremental by the graph.
 *
 * @module
 */
import type {
  Cluster,
  ClusterUse,
  Endpoints,
  Ir,
  Listener,
  ResourceId,
  Secret,
} from "../../controllers/ir/mod.ts";
import type { Graph, Group, Read, Table } from "../../controllers/runtime/graph.ts";
import { type Needs, resourceKey, type ResourceType, type XdsResource } from "../types.ts";
import * as envoyCluster from "../wire/envoy/cluster.ts";
import * as envoyTls from "../wire/envoy/tls.ts";
import { encode, type Type } from "../wire/mod.ts";
import { blockOf, blocksOf, makeBlock } from "./block.ts";
import { buildCluster, buildEndpoints } from "./cluster.ts";
import { hashOf } from "./hash.ts";
import { encodeChain, encodeListener, type ListenerOptions } from "./listener.ts";
import { packResource } from "./pack.ts";
import { buildSecret } from "./secret.ts";
import { ResourceTable } from "./table.ts";
import type { UpstreamTlsOptions } from "./tls.ts";
import { encodeRoutes, encodeVirtualHost } from "./virtual_host.ts";

export type XdsOptions = ListenerOptions & Pick<UpstreamTlsOptions, "systemAuthorities">;

/** A resource before it is known which Gateways want it. */
type Shared = Omit<XdsResource, "gateway">;

/**
 * Derives every resource of every Gateway. Row key: `GATEWAY|RESOURCEID`.
 *
 * A changed route re-encodes its virtual host and concatenates its route configuration anew; a cluster and its endpoints are
 * encoded once, however many Gateways use them.
 */
export function deriveXds(graph: Graph, ir: Ir, options: XdsOptions = {}): Table<XdsResource> {
  const { systemAuthorities } = options;
  const clusters = graph.derive(
    "xds/cluster",
    ir.clusters,
    (cluster: Cluster) =>
      share("cluster", cluster.name, envoyCluster.Cluster, buildCluster(cluster, { systemAuthorities })),
    { same },
  );
  // A cluster that has changed waits to hear of its endpoints again. Should the stream break just then, the version
  // tells the next server that the proxy has not heard: it is that of the cluster, too.
  const endpoints = graph.derive("xds/endpoints", ir.endpoints, (row: Endpoints, read) => {
    const { version = "" } = read(clusters, row.cluster) ?? {};
    const assignment = buildEndpoints(row);
    return share("endpoints", row.cluster, envoyCluster.ClusterLoadAssignment, assignment, version);
  }, { same });
  const uses = (
    type: "cluster" | "endpoints",
    table: Table<Shared>,
    ownOf: (use: ClusterUse, read: Read) => Shared | undefined = () => undefined,
  ): Table<XdsResource> => {
    const byResource = graph.index(`xds/use of ${type}`, ir.clusterUses, (use) => [
      resourceKey(use.gateway, `${type}:${use.cluster}`),
    ]);
    return graph.derive(`xds/used ${type}`, byResource, (group, read) => {
      const use = only(group);
      const shared = ownOf(use, read) ?? read(table, use.cluster);
      return shared && { gateway: use.gateway, ...shared };
    }, { same });
  };
  // A Gateway that shows a certificate to backends has clusters of its own.
  const withCertificate = ({ cluster: name, clientCertificate }: ClusterUse, read: Read) => {
    const cluster = clientCertificate === undefined ? undefined : read(ir.clusters, name);
    return cluster &&
      share(
        "cluster",
        name,
        envoyCluster.Cluster,
        buildCluster(cluster, { clientCertificate, systemAuthorities }),
      );
  };

  const secrets = graph.derive(
    "xds/secret",
    ir.secrets,
    (secret: Secret) => share("secret", secret.name, envoyTls.Secret, buildSecret(secret)),
    { same },
  );
  const secretsById = graph.index("xds/use of secret", ir.secretUses, (use) => [
    resourceKey(use.gateway, `secret:${use.secret}`),
  ]);
  const usedSecrets = graph.derive("xds/used secret", secretsById, (group, read): XdsResource | undefined => {
    const { gateway, secret } = only(group);
    const shared = read(secrets, secret);
    return shared && { gateway, ...shared };
  }, { same });

  const listenersById = graph.index("xds/listener by id", ir.listeners, (listener) => [
    resourceKey(listener.gateway, `listener:${listener.name}`),
  ]);
  const chains = graph.derive("xds/chain", ir.chains, (chain, read) => {
    const listener = read(ir.listeners, chain.listener);
    return listener && encodeChain(listener, chain);
  }, { same: sameContent });
  const chainsByListener = graph.index("xds/chains by listener", chains, ({ listener }) => [listener]);
  const listeners = graph.derive("xds/listener", listenersById, (group, read): XdsResource => {
    const listener = only<Listener>(group), { gateway, name } = listener;
    const chains = read(chainsByListener, name)?.values() ?? [];
    const { version, body } = encodeListener(listener, [...chains], options);
    const needs = [new Set<ResourceId>([`routes:${listener.routes}`])];
    return { gateway, ...packed("listener", name, version, body, needs) };
  }, { same });

  // By their names, so that other changes of a chain do not touch its virtual hosts.
  const reached = graph.derive(
    "xds/reached",
    graph.index("xds/chains by name", ir.chains, ({ listener, hostname }) => [`${listener}/${hostname}`]),
    () => true,
  );
  const virtualHosts = graph.derive(
    "xds/virtual host",
    ir.virtualHosts,
    (virtualHost, read) =>
      encodeVirtualHost(virtualHost, {
        scheme: virtualHost.chain === undefined ? "http" : "https",
        port: () => read(ir.listeners, virtualHost.routes)?.port,
        reached: read(reached, `${virtualHost.routes}/${virtualHost.chain}`) ?? false,
      }),
    { same: sameContent },
  );
  const leaves = graph.derive(
    "xds/leaf",
    graph.index("xds/virtual hosts by leaf", virtualHosts, ({ leaf }) => [leaf]),
    makeBlock,
    { same: sameContent },
  );
  const blocks = graph.derive(
    "xds/block",
    graph.index("xds/leaves by block", leaves, (_, leaf) => [blockOf(leaf)]),
    makeBlock,
    { same: sameContent },
  );
  const tablesById = graph.index("xds/routes by id", ir.routeTables, (table) => [
    resourceKey(table.gateway, `routes:${table.name}`),
  ]);
  const routes = graph.derive("xds/routes", tablesById, (group, read): XdsResource => {
    const table = only(group);
    const made = blocksOf(table.name).flatMap((key) => read(blocks, key) ?? []);
    const { version, body, needs } = encodeRoutes(table, made);
    return { gateway: table.gateway, ...packed("routes", table.name, version, body, needs) };
  }, { same });

  return new ResourceTable({
    cluster: uses("cluster", clusters, withCertificate),
    endpoints: uses("endpoints", endpoints, (use, read) => {
      const cluster = withCertificate(use, read), row = cluster && read(ir.endpoints, use.cluster);
      if (!row) return undefined;
      const assignment = buildEndpoints(row);
      return share("endpoints", row.cluster, envoyCluster.ClusterLoadAssignment, assignment, cluster.version);
    }),
    secret: usedSecrets,
    listener: listeners,
    routes,
  });
}

/** Encodes a resource. Its version is that of its content and of what it is `basedOn`. */
function share<T>(type: ResourceType, name: string, as: Type<T>, value: T, basedOn = ""): Shared {
  const body = encode(as, value);
  return packed(type, name, hashOf(body, basedOn), [body]);
}

/** A resource of what is encoded. */
function packed(
  type: ResourceType,
  name: string,
  version: string,
  body: readonly Uint8Array[],
  needs: Needs = [],
): Shared {
  return {
    id: `${type}:${name}`,
    type,
    name,
    version,
    bytes: packResource(type, name, version, body),
    needs,
  };
}

/** Resources of one name are the same if their versions are: no bytes need to be compared. */
function same(before: { readonly version: string }, after: { readonly version: string }): boolean {
  return before.version === after.version;
}

/** The same of parts of resources, which have a hash each. */
function sameContent(before: { readonly hash: string }, after: { readonly hash: string }): boolean {
  return before.hash === after.hash;
}

/** The member of a group that is made by a key which belongs to one row. */
function only<V>(group: Group<V>): V {
  for (const value of group.values()) return value;
  throw new Error("A group of an index is never empty");
}
