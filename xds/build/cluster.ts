/**
 * Clusters and their endpoints.
 *
 * @module
 */
import type { Cluster, Endpoint, Endpoints } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/cluster.ts";
import { isIpAddress } from "../control_plane.ts";
import { defaultRetries } from "./retry.ts";
import { upstreamTls, type UpstreamTlsOptions } from "./tls.ts";

const httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/** Limits that stop a runaway, not traffic: Envoy's own 1024 would answer 503 on a busy day. */
const unlimited = 4_294_967_295;

// What is the same for all clusters is one object each, so that it is encoded once.

const edsConfig: envoy.EdsClusterConfig = { eds_config: { ads: {}, resource_api_version: "V3" } };

const circuitBreakers: envoy.CircuitBreakers = {
  thresholds: [{
    max_connections: unlimited,
    max_pending_requests: unlimited,
    max_requests: unlimited,
    max_retries: 1024,
  }],
};

const protocols = {
  http1: speaking({ http_protocol_options: {} }),
  h2c: speaking({
    http2_protocol_options: {
      initial_stream_window_size: 65_536,
      initial_connection_window_size: 1_048_576,
    },
  }),
} as const satisfies { readonly [P in Cluster["protocol"]]: unknown };

type Options = NonNullable<envoy.Cluster["typed_extension_protocol_options"]>[string];

function speaking(explicit_http_config: envoy.ExplicitHttpConfig) {
  const routes: Options = { "@type": `type.googleapis.com/${httpOptions}`, explicit_http_config };
  // Said here once, and not in each of thousands of virtual hosts: of what Envoy takes for these, it would be a quarter.
  // What a cluster says about retries goes before what a route does.
  return { routes, cluster: { ...routes, retry_policy: defaultRetries } satisfies Options };
}

/**
 * A cluster whose endpoints come by EDS under the same name, unless it has an address. Where TLS is spoken, it may show a
 * certificate.
 */
export function buildCluster(cluster: Cluster, options: UpstreamTlsOptions = {}): envoy.Cluster {
  const { tls, protocol, address, retries = "cluster" } = cluster;
  return {
    name: cluster.name,
    ...(address ? located(cluster.name, address) : { type: "EDS", eds_cluster_config: edsConfig }),
    connect_timeout: "5s",
    per_connection_buffer_limit_bytes: 32_768,
    lb_policy: "LEAST_REQUEST",
    circuit_breakers: circuitBreakers,
    typed_extension_protocol_options: { [httpOptions]: protocols[protocol][retries] },
    ...(tls ? { transport_socket: upstreamTls(tls, protocol, options) } : {}),
    ignore_health_on_host_removal: true,
  };
}

function located(name: string, { host, port }: Required<Cluster>["address"]) {
  const address = { socket_address: { address: host, port_value: port } };
  return {
    type: isIpAddress(host) ? "STATIC" as const : "STRICT_DNS" as const,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}

/**
 * The addresses of a cluster. Draining endpoints come second: Envoy turns to a later priority only when there is
 * nothing healthy in an earlier one.
 */
export function buildEndpoints({ cluster, localities }: Endpoints): envoy.ClusterLoadAssignment {
  const priorities = [false, true].flatMap((draining) => {
    const zones = localities.flatMap(({ zone, endpoints }) => {
      const chosen = endpoints.filter((endpoint) => endpoint.draining === draining);
      return chosen.length > 0 ? [{ zone, endpoints: chosen }] : [];
    });
    return zones.length > 0 ? [zones] : [];
  });
  return {
    cluster_name: cluster,
    endpoints: priorities.flatMap((zones, priority) =>
      zones.map(({ zone, endpoints }) => ({
        ...(zone ? { locality: { zone } } : {}),
        lb_endpoints: endpoints.map(buildEndpoint),
        ...(priority > 0 ? { priority } : {}),
      }))
    ),
  };
}

function buildEndpoint({ address, port }: Endpoint): envoy.LbEndpoint {
  return { endpoint: { address: { socket_address: { address, port_value: port } } } };
}
