/**
 * Messages that others are made of.
 *
 * @module
 */
import {
  bool,
  bytes,
  double,
  Duration,
  enumeration,
  field,
  type Infer,
  map,
  message,
  repeated,
  string,
  Struct,
  uint32,
  UInt32Value,
} from "../mod.ts";

export const Locality = message("envoy.config.core.v3.Locality", {
  region: field(1, string),
  zone: field(2, string),
  sub_zone: field(3, string),
});
export type Locality = Infer<typeof Locality>;

export const SemanticVersion = message("envoy.type.v3.SemanticVersion", {
  major_number: field(1, uint32),
  minor_number: field(2, uint32),
  patch: field(3, uint32),
});
export type SemanticVersion = Infer<typeof SemanticVersion>;

export const BuildVersion = message("envoy.config.core.v3.BuildVersion", {
  version: field(1, SemanticVersion),
});
export type BuildVersion = Infer<typeof BuildVersion>;

export const Node = message("envoy.config.core.v3.Node", {
  id: field(1, string),
  cluster: field(2, string),
  metadata: field(3, Struct),
  locality: field(4, Locality),
  user_agent_name: field(6, string),
  user_agent_build_version: field(8, BuildVersion),
  client_features: repeated(10, string),
});
export type Node = Infer<typeof Node>;

export const Pipe = message("envoy.config.core.v3.Pipe", {
  path: field(1, string),
  mode: field(2, uint32),
});
export type Pipe = Infer<typeof Pipe>;

export const Protocol = enumeration("envoy.config.core.v3.SocketAddress.Protocol", { TCP: 0, UDP: 1 });
export const SocketAddress = message("envoy.config.core.v3.SocketAddress", {
  protocol: field(1, Protocol),
  address: field(2, string),
  port_value: field(3, uint32),
  ipv4_compat: field(6, bool),
});
export type SocketAddress = Infer<typeof SocketAddress>;

export const Address = message("envoy.config.core.v3.Address", {
  socket_address: field(1, SocketAddress),
  pipe: field(2, Pipe),
}, { oneofs: [["socket_address", "pipe"]] });
export type Address = Infer<typeof Address>;

export const AggregatedConfigSource = message("envoy.config.core.v3.AggregatedConfigSource", {});
export type AggregatedConfigSource = Infer<typeof AggregatedConfigSource>;

export const WatchedDirectory = message("envoy.config.core.v3.WatchedDirectory", {
  path: field(1, string),
});
export type WatchedDirectory = Infer<typeof WatchedDirectory>;

export const PathConfigSource = message("envoy.config.core.v3.PathConfigSource", {
  path: field(1, string),
  watched_directory: field(2, WatchedDirectory),
});
export type PathConfigSource = Infer<typeof PathConfigSource>;

export const ApiVersion = enumeration("envoy.config.core.v3.ApiVersion", { AUTO: 0, V2: 1, V3: 2 });
export const ConfigSource = message("envoy.config.core.v3.ConfigSource", {
  ads: field(3, AggregatedConfigSource),
  path_config_source: field(8, PathConfigSource),
  initial_fetch_timeout: field(4, Duration),
  resource_api_version: field(6, ApiVersion),
}, { oneofs: [["ads", "path_config_source"]] });
export type ConfigSource = Infer<typeof ConfigSource>;

export const DataSource = message("envoy.config.core.v3.DataSource", {
  filename: field(1, string),
  inline_bytes: field(2, bytes),
  inline_string: field(3, string),
  watched_directory: field(5, WatchedDirectory),
}, { oneofs: [["filename", "inline_bytes", "inline_string"]] });
export type DataSource = Infer<typeof DataSource>;

export const Metadata = message("envoy.config.core.v3.Metadata", {
  filter_metadata: map(1, Struct),
});
export type Metadata = Infer<typeof Metadata>;

export const HeaderValue = message("envoy.config.core.v3.HeaderValue", {
  key: field(1, string),
  value: field(2, string),
});
export type HeaderValue = Infer<typeof HeaderValue>;

export const HeaderAppendAction = enumeration("envoy.config.core.v3.HeaderValueOption.HeaderAppendAction", {
  APPEND_IF_EXISTS_OR_ADD: 0,
  ADD_IF_ABSENT: 1,
  OVERWRITE_IF_EXISTS_OR_ADD: 2,
  OVERWRITE_IF_EXISTS: 3,
});
export const HeaderValueOption = message("envoy.config.core.v3.HeaderValueOption", {
  header: field(1, HeaderValue),
  append_action: field(3, HeaderAppendAction),
  keep_empty_value: field(4, bool),
});
export type HeaderValueOption = Infer<typeof HeaderValueOption>;

export const KeepaliveSettings = message("envoy.config.core.v3.KeepaliveSettings", {
  interval: field(1, Duration),
  timeout: field(2, Duration),
});
export type KeepaliveSettings = Infer<typeof KeepaliveSettings>;

export const HeadersWithUnderscoresAction = enumeration(
  "envoy.config.core.v3.HttpProtocolOptions.HeadersWithUnderscoresAction",
  { ALLOW: 0, REJECT_REQUEST: 1, DROP_HEADER: 2 },
);
export const HttpProtocolOptions = message("envoy.config.core.v3.HttpProtocolOptions", {
  idle_timeout: field(1, Duration),
  max_connection_duration: field(3, Duration),
  max_headers_count: field(2, UInt32Value),
  max_stream_duration: field(4, Duration),
  headers_with_underscores_action: field(5, HeadersWithUnderscoresAction),
  max_requests_per_connection: field(6, UInt32Value),
});
export type HttpProtocolOptions = Infer<typeof HttpProtocolOptions>;

export const Http1ProtocolOptions = message("envoy.config.core.v3.Http1ProtocolOptions", {
  accept_http_10: field(2, bool),
  default_host_for_http_10: field(3, string),
  enable_trailers: field(5, bool),
  allow_chunked_length: field(6, bool),
});
export type Http1ProtocolOptions = Infer<typeof Http1ProtocolOptions>;

export const Http2ProtocolOptions = message("envoy.config.core.v3.Http2ProtocolOptions", {
  max_concurrent_streams: field(2, UInt32Value),
  initial_stream_window_size: field(3, UInt32Value),
  initial_connection_window_size: field(4, UInt32Value),
  allow_connect: field(5, bool),
  connection_keepalive: field(15, KeepaliveSettings),
});
export type Http2ProtocolOptions = Infer<typeof Http2ProtocolOptions>;

export const UpstreamHttpProtocolOptions = message("envoy.config.core.v3.UpstreamHttpProtocolOptions", {
  auto_sni: field(1, bool),
  auto_san_validation: field(2, bool),
  override_auto_sni_header: field(3, string),
});
export type UpstreamHttpProtocolOptions = Infer<typeof UpstreamHttpProtocolOptions>;

export const DenominatorType = enumeration("envoy.type.v3.FractionalPercent.DenominatorType", {
  HUNDRED: 0,
  TEN_THOUSAND: 1,
  MILLION: 2,
});
export const FractionalPercent = message("envoy.type.v3.FractionalPercent", {
  numerator: field(1, uint32),
  denominator: field(2, DenominatorType),
});
export type FractionalPercent = Infer<typeof FractionalPercent>;

export const Percent = message("envoy.type.v3.Percent", {
  value: field(1, double),
});
export type Percent = Infer<typeof Percent>;

export const RuntimeFractionalPercent = message("envoy.config.core.v3.RuntimeFractionalPercent", {
  default_value: field(1, FractionalPercent),
  runtime_key: field(2, string),
});
export type RuntimeFractionalPercent = Infer<typeof RuntimeFractionalPercent>;

export const SubstitutionFormatString = message("envoy.config.core.v3.SubstitutionFormatString", {
  text_format_source: field(5, DataSource),
  json_format: field(2, Struct),
  omit_empty_values: field(3, bool),
  content_type: field(4, string),
}, { oneofs: [["text_format_source", "json_format"]] });
export type SubstitutionFormatString = Infer<typeof SubstitutionFormatString>;

export const BackoffStrategy = message("envoy.config.core.v3.BackoffStrategy", {
  base_interval: field(1, Duration),
  max_interval: field(2, Duration),
});
export type BackoffStrategy = Infer<typeof BackoffStrategy>;

export const CoreRetryPolicy = message("envoy.config.core.v3.RetryPolicy", {
  retry_back_off: field(1, BackoffStrategy),
  num_retries: field(2, UInt32Value),
});
export type CoreRetryPolicy = Infer<typeof CoreRetryPolicy>;

export const EnvoyGrpc = message("envoy.config.core.v3.GrpcService.EnvoyGrpc", {
  cluster_name: field(1, string),
  authority: field(2, string),
  retry_policy: field(3, CoreRetryPolicy),
});
export type EnvoyGrpc = Infer<typeof EnvoyGrpc>;

export const GrpcService = message("envoy.config.core.v3.GrpcService", {
  envoy_grpc: field(1, EnvoyGrpc),
  initial_metadata: repeated(5, HeaderValue),
});
export type GrpcService = Infer<typeof GrpcService>;
