/**
 * Listeners, their filter chains, and the network filters in them.
 *
 * @module
 */
import {
  anyOf,
  bool,
  BoolValue,
  Duration,
  enumeration,
  field,
  type Infer,
  message,
  repeated,
  string,
  uint32,
  UInt32Value,
} from "../mod.ts";
import {
  Address,
  ConfigSource,
  HeaderValueOption,
  Http1ProtocolOptions,
  Http2ProtocolOptions,
  HttpProtocolOptions,
  Metadata,
  SubstitutionFormatString,
} from "./core.ts";
import { HttpFilters } from "./filters.ts";
import { RouteConfiguration } from "./route.ts";
import { Matcher } from "./matcher.ts";
import { TransportSocket } from "./tls.ts";
import { Tracing } from "./trace.ts";

export const StdoutAccessLog = message("envoy.extensions.access_loggers.stream.v3.StdoutAccessLog", {
  log_format: field(1, SubstitutionFormatString),
});
export type StdoutAccessLog = Infer<typeof StdoutAccessLog>;

export const AccessLog = message("envoy.config.accesslog.v3.AccessLog", {
  name: field(1, string),
  typed_config: field(4, anyOf(StdoutAccessLog)),
});
export type AccessLog = Infer<typeof AccessLog>;

export const HttpFilter = message("envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter", {
  name: field(1, string),
  typed_config: field(4, HttpFilters),
  is_optional: field(6, bool),
  disabled: field(7, bool),
});
export type HttpFilter = Infer<typeof HttpFilter>;

export const Rds = message("envoy.extensions.filters.network.http_connection_manager.v3.Rds", {
  config_source: field(1, ConfigSource),
  route_config_name: field(2, string),
});
export type Rds = Infer<typeof Rds>;

export const HcmUpgradeConfig = message(
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.UpgradeConfig",
  {
    upgrade_type: field(1, string),
    enabled: field(3, BoolValue),
  },
);
export type HcmUpgradeConfig = Infer<typeof HcmUpgradeConfig>;

export const CodecType = enumeration(
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.CodecType",
  { AUTO: 0, HTTP1: 1, HTTP2: 2, HTTP3: 3 },
);
export const ServerHeaderTransformation = enumeration(
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.ServerHeaderTransformation",
  { OVERWRITE: 0, APPEND_IF_ABSENT: 1, PASS_THROUGH: 2 },
);
export const PathWithEscapedSlashesAction = enumeration(
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.PathWithEscapedSlashesAction",
  {
    IMPLEMENTATION_SPECIFIC_DEFAULT: 0,
    KEEP_UNCHANGED: 1,
    REJECT_REQUEST: 2,
    UNESCAPE_AND_REDIRECT: 3,
    UNESCAPE_AND_FORWARD: 4,
  },
);
export const HeaderMutationRule = message("envoy.config.common.mutation_rules.v3.HeaderMutation", {
  remove: field(1, string),
  append: field(2, HeaderValueOption),
}, { oneofs: [["remove", "append"]] });
export type HeaderMutationRule = Infer<typeof HeaderMutationRule>;

export const EarlyHeaderMutation = message(
  "envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
  { mutations: repeated(1, HeaderMutationRule) },
);
export type EarlyHeaderMutation = Infer<typeof EarlyHeaderMutation>;

export const EarlyHeaderMutationExtension = message("envoy.config.core.v3.TypedExtensionConfig", {
  name: field(1, string),
  typed_config: field(2, anyOf(EarlyHeaderMutation)),
});
export type EarlyHeaderMutationExtension = Infer<typeof EarlyHeaderMutationExtension>;

export const HttpConnectionManager = message(
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
  {
    codec_type: field(1, CodecType),
    stat_prefix: field(2, string),
    rds: field(3, Rds),
    route_config: field(4, RouteConfiguration),
    http_filters: repeated(5, HttpFilter),
    common_http_protocol_options: field(35, HttpProtocolOptions),
    http_protocol_options: field(8, Http1ProtocolOptions),
    http2_protocol_options: field(9, Http2ProtocolOptions),
    server_name: field(10, string),
    server_header_transformation: field(34, ServerHeaderTransformation),
    stream_idle_timeout: field(24, Duration),
    request_timeout: field(28, Duration),
    request_headers_timeout: field(41, Duration),
    drain_timeout: field(12, Duration),
    access_log: repeated(13, AccessLog),
    tracing: field(7, Tracing),
    use_remote_address: field(14, BoolValue),
    xff_num_trusted_hops: field(19, uint32),
    generate_request_id: field(15, BoolValue),
    preserve_external_request_id: field(32, bool),
    upgrade_configs: repeated(23, HcmUpgradeConfig),
    normalize_path: field(30, BoolValue),
    merge_slashes: field(33, bool),
    path_with_escaped_slashes_action: field(45, PathWithEscapedSlashesAction),
    strip_any_host_port: field(42, bool),
    early_header_mutation_extensions: repeated(52, EarlyHeaderMutationExtension),
  },
  { oneofs: [["rds", "route_config"]] },
);
export type HttpConnectionManager = Infer<typeof HttpConnectionManager>;

export const TcpClusterWeight = message(
  "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster.ClusterWeight",
  {
    name: field(1, string),
    weight: field(2, uint32),
  },
);
export type TcpClusterWeight = Infer<typeof TcpClusterWeight>;

export const TcpWeightedCluster = message(
  "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster",
  {
    clusters: repeated(1, TcpClusterWeight),
  },
);
export type TcpWeightedCluster = Infer<typeof TcpWeightedCluster>;

export const TcpProxy = message("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", {
  stat_prefix: field(1, string),
  cluster: field(2, string),
  weighted_clusters: field(10, TcpWeightedCluster),
  idle_timeout: field(8, Duration),
  max_connect_attempts: field(7, UInt32Value),
  access_log: repeated(5, AccessLog),
}, { oneofs: [["cluster", "weighted_clusters"]] });
export type TcpProxy = Infer<typeof TcpProxy>;

export const UdpProxyConfig = message("envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig", {
  stat_prefix: field(1, string),
  matcher: field(9, Matcher),
  idle_timeout: field(3, Duration),
  use_per_packet_load_balancing: field(7, bool),
});
export type UdpProxyConfig = Infer<typeof UdpProxyConfig>;

export const TlsInspector = message("envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector", {});
export type TlsInspector = Infer<typeof TlsInspector>;

export const Filter = message("envoy.config.listener.v3.Filter", {
  name: field(1, string),
  typed_config: field(4, anyOf(HttpConnectionManager, TcpProxy)),
});
export type Filter = Infer<typeof Filter>;

export const FilterChainMatch = message("envoy.config.listener.v3.FilterChainMatch", {
  destination_port: field(8, UInt32Value),
  server_names: repeated(11, string),
  transport_protocol: field(9, string),
  application_protocols: repeated(10, string),
});
export type FilterChainMatch = Infer<typeof FilterChainMatch>;

export const FilterChain = message("envoy.config.listener.v3.FilterChain", {
  filter_chain_match: field(1, FilterChainMatch),
  filters: repeated(3, Filter),
  transport_socket: field(6, TransportSocket),
  transport_socket_connect_timeout: field(9, Duration),
  name: field(7, string),
});
export type FilterChain = Infer<typeof FilterChain>;

export const ListenerFilter = message("envoy.config.listener.v3.ListenerFilter", {
  name: field(1, string),
  typed_config: field(3, anyOf(TlsInspector, UdpProxyConfig)),
});
export type ListenerFilter = Infer<typeof ListenerFilter>;

export const TrafficDirection = enumeration("envoy.config.core.v3.TrafficDirection", {
  UNSPECIFIED: 0,
  INBOUND: 1,
  OUTBOUND: 2,
});
export const AdditionalAddress = message("envoy.config.listener.v3.AdditionalAddress", {
  address: field(1, Address),
});
export type AdditionalAddress = Infer<typeof AdditionalAddress>;

export const Listener = message("envoy.config.listener.v3.Listener", {
  name: field(1, string),
  address: field(2, Address),
  additional_addresses: repeated(33, AdditionalAddress),
  stat_prefix: field(28, string),
  filter_chains: repeated(3, FilterChain),
  default_filter_chain: field(25, FilterChain),
  per_connection_buffer_limit_bytes: field(5, UInt32Value),
  metadata: field(6, Metadata),
  listener_filters: repeated(9, ListenerFilter),
  listener_filters_timeout: field(15, Duration),
  traffic_direction: field(16, TrafficDirection),
  enable_reuse_port: field(29, BoolValue),
  ignore_global_conn_limit: field(31, bool),
  access_log: repeated(22, AccessLog),
}, { memo: true });
export type Listener = Infer<typeof Listener>;
