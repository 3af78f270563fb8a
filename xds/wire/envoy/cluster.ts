/**
 * Clusters, their endpoints and how they are spoken to.
 *
 * @module
 */
import {
  anyOf,
  bool,
  Duration,
  enumeration,
  field,
  type Infer,
  map,
  message,
  repeated,
  string,
  uint32,
  UInt32Value,
} from "../mod.ts";
import {
  Address,
  ConfigSource,
  Http1ProtocolOptions,
  Http2ProtocolOptions,
  HttpProtocolOptions,
  Locality,
  Metadata,
  Percent,
  UpstreamHttpProtocolOptions,
} from "./core.ts";
import { HttpFilter } from "./listener.ts";
import { RetryPolicy } from "./route.ts";
import { TransportSocket } from "./tls.ts";

export const Endpoint = message("envoy.config.endpoint.v3.Endpoint", {
  address: field(1, Address),
  hostname: field(3, string),
});
export type Endpoint = Infer<typeof Endpoint>;

export const HealthStatus = enumeration("envoy.config.core.v3.HealthStatus", {
  UNKNOWN: 0,
  HEALTHY: 1,
  UNHEALTHY: 2,
  DRAINING: 3,
  TIMEOUT: 4,
  DEGRADED: 5,
});
export const LbEndpoint = message("envoy.config.endpoint.v3.LbEndpoint", {
  endpoint: field(1, Endpoint),
  health_status: field(2, HealthStatus),
  metadata: field(3, Metadata),
  load_balancing_weight: field(4, UInt32Value),
});
export type LbEndpoint = Infer<typeof LbEndpoint>;

export const LocalityLbEndpoints = message("envoy.config.endpoint.v3.LocalityLbEndpoints", {
  locality: field(1, Locality),
  lb_endpoints: repeated(2, LbEndpoint),
  load_balancing_weight: field(3, UInt32Value),
  priority: field(5, uint32),
}, { memo: true });
export type LocalityLbEndpoints = Infer<typeof LocalityLbEndpoints>;

export const LoadAssignmentPolicy = message("envoy.config.endpoint.v3.ClusterLoadAssignment.Policy", {
  overprovisioning_factor: field(3, UInt32Value),
  endpoint_stale_after: field(4, Duration),
  weighted_priority_health: field(6, bool),
});
export type LoadAssignmentPolicy = Infer<typeof LoadAssignmentPolicy>;

export const ClusterLoadAssignment = message("envoy.config.endpoint.v3.ClusterLoadAssignment", {
  cluster_name: field(1, string),
  endpoints: repeated(2, LocalityLbEndpoints),
  policy: field(4, LoadAssignmentPolicy),
}, { memo: true });
export type ClusterLoadAssignment = Infer<typeof ClusterLoadAssignment>;

export const EdsClusterConfig = message("envoy.config.cluster.v3.Cluster.EdsClusterConfig", {
  eds_config: field(1, ConfigSource),
  service_name: field(2, string),
}, { memo: true });
export type EdsClusterConfig = Infer<typeof EdsClusterConfig>;

export const RoutingPriority = enumeration("envoy.config.core.v3.RoutingPriority", { DEFAULT: 0, HIGH: 1 });
export const Thresholds = message("envoy.config.cluster.v3.CircuitBreakers.Thresholds", {
  priority: field(1, RoutingPriority),
  max_connections: field(2, UInt32Value),
  max_pending_requests: field(3, UInt32Value),
  max_requests: field(4, UInt32Value),
  max_retries: field(5, UInt32Value),
  track_remaining: field(6, bool),
  max_connection_pools: field(7, UInt32Value),
});
export type Thresholds = Infer<typeof Thresholds>;

export const CircuitBreakers = message("envoy.config.cluster.v3.CircuitBreakers", {
  thresholds: repeated(1, Thresholds),
  per_host_thresholds: repeated(2, Thresholds),
}, { memo: true });
export type CircuitBreakers = Infer<typeof CircuitBreakers>;

export const LocalityWeightedLbConfig = message(
  "envoy.config.cluster.v3.Cluster.CommonLbConfig.LocalityWeightedLbConfig",
  {},
);
export type LocalityWeightedLbConfig = Infer<typeof LocalityWeightedLbConfig>;

export const CommonLbConfig = message("envoy.config.cluster.v3.Cluster.CommonLbConfig", {
  healthy_panic_threshold: field(1, Percent),
  locality_weighted_lb_config: field(3, LocalityWeightedLbConfig),
  close_connections_on_host_set_change: field(6, bool),
  ignore_new_hosts_until_first_hc: field(5, bool),
});
export type CommonLbConfig = Infer<typeof CommonLbConfig>;

export const ExplicitHttpConfig = message(
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions.ExplicitHttpConfig",
  {
    http_protocol_options: field(1, Http1ProtocolOptions),
    http2_protocol_options: field(2, Http2ProtocolOptions),
  },
  { oneofs: [["http_protocol_options", "http2_protocol_options"]] },
);
export type ExplicitHttpConfig = Infer<typeof ExplicitHttpConfig>;

export const UseDownstreamHttpConfig = message(
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions.UseDownstreamHttpConfig",
  {
    http_protocol_options: field(1, Http1ProtocolOptions),
    http2_protocol_options: field(2, Http2ProtocolOptions),
  },
);
export type UseDownstreamHttpConfig = Infer<typeof UseDownstreamHttpConfig>;

export const UpstreamHttpOptions = message("envoy.extensions.upstreams.http.v3.HttpProtocolOptions", {
  common_http_protocol_options: field(1, HttpProtocolOptions),
  upstream_http_protocol_options: field(2, UpstreamHttpProtocolOptions),
  explicit_http_config: field(3, ExplicitHttpConfig),
  use_downstream_protocol_config: field(4, UseDownstreamHttpConfig),
  http_filters: repeated(6, HttpFilter),
  retry_policy: field(11, RetryPolicy),
}, { oneofs: [["explicit_http_config", "use_downstream_protocol_config"]], memo: true });
export type UpstreamHttpOptions = Infer<typeof UpstreamHttpOptions>;

export const DiscoveryType = enumeration("envoy.config.cluster.v3.Cluster.DiscoveryType", {
  STATIC: 0,
  STRICT_DNS: 1,
  LOGICAL_DNS: 2,
  EDS: 3,
  ORIGINAL_DST: 4,
});
export const LbPolicy = enumeration("envoy.config.cluster.v3.Cluster.LbPolicy", {
  ROUND_ROBIN: 0,
  LEAST_REQUEST: 1,
  RING_HASH: 2,
  RANDOM: 3,
  MAGLEV: 5,
  CLUSTER_PROVIDED: 6,
  LOAD_BALANCING_POLICY_CONFIG: 7,
});
export const Cluster = message("envoy.config.cluster.v3.Cluster", {
  name: field(1, string),
  type: field(2, DiscoveryType),
  eds_cluster_config: field(3, EdsClusterConfig),
  connect_timeout: field(4, Duration),
  per_connection_buffer_limit_bytes: field(5, UInt32Value),
  lb_policy: field(6, LbPolicy),
  load_assignment: field(33, ClusterLoadAssignment),
  circuit_breakers: field(10, CircuitBreakers),
  typed_extension_protocol_options: map(36, anyOf(UpstreamHttpOptions)),
  common_lb_config: field(27, CommonLbConfig),
  transport_socket: field(24, TransportSocket),
  metadata: field(25, Metadata),
  ignore_health_on_host_removal: field(32, bool),
}, { memo: true });
export type Cluster = Infer<typeof Cluster>;
