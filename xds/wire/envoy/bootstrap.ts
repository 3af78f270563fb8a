/**
 * The configuration that an Envoy starts with.
 *
 * @module
 */
import {
  anyOf,
  bool,
  double,
  enumeration,
  field,
  type Infer,
  int64,
  message,
  repeated,
  string,
  Struct,
  uint64,
} from "../mod.ts";
import { Cluster } from "./cluster.ts";
import { Address, ApiVersion, ConfigSource, GrpcService, Node } from "./core.ts";
import { Listener } from "./listener.ts";
import { StringMatcher } from "./matcher.ts";

export const StaticResources = message("envoy.config.bootstrap.v3.Bootstrap.StaticResources", {
  listeners: repeated(1, Listener),
  clusters: repeated(2, Cluster),
});
export type StaticResources = Infer<typeof StaticResources>;

export const ApiType = enumeration("envoy.config.core.v3.ApiConfigSource.ApiType", {
  GRPC: 2,
  DELTA_GRPC: 3,
});
export const ApiConfigSource = message("envoy.config.core.v3.ApiConfigSource", {
  api_type: field(1, ApiType),
  transport_api_version: field(8, ApiVersion),
  grpc_services: repeated(4, GrpcService),
  set_node_on_first_message_only: field(7, bool),
});
export type ApiConfigSource = Infer<typeof ApiConfigSource>;

export const DynamicResources = message("envoy.config.bootstrap.v3.Bootstrap.DynamicResources", {
  lds_config: field(1, ConfigSource),
  cds_config: field(2, ConfigSource),
  ads_config: field(3, ApiConfigSource),
});
export type DynamicResources = Infer<typeof DynamicResources>;

export const Admin = message("envoy.config.bootstrap.v3.Admin", {
  address: field(3, Address),
  ignore_global_conn_limit: field(6, bool),
});
export type Admin = Infer<typeof Admin>;

export const ListStringMatcher = message("envoy.type.matcher.v3.ListStringMatcher", {
  patterns: repeated(1, StringMatcher),
});
export type ListStringMatcher = Infer<typeof ListStringMatcher>;

export const StatsMatcher = message("envoy.config.metrics.v3.StatsMatcher", {
  exclusion_list: field(2, ListStringMatcher),
  inclusion_list: field(3, ListStringMatcher),
}, { oneofs: [["exclusion_list", "inclusion_list"]] });
export type StatsMatcher = Infer<typeof StatsMatcher>;

export const StatsConfig = message("envoy.config.metrics.v3.StatsConfig", {
  stats_matcher: field(3, StatsMatcher),
});
export type StatsConfig = Infer<typeof StatsConfig>;

export const AdminLayer = message("envoy.config.bootstrap.v3.RuntimeLayer.AdminLayer", {});
export type AdminLayer = Infer<typeof AdminLayer>;

export const RuntimeLayer = message("envoy.config.bootstrap.v3.RuntimeLayer", {
  name: field(1, string),
  static_layer: field(2, Struct),
  admin_layer: field(4, AdminLayer),
}, { oneofs: [["static_layer", "admin_layer"]] });
export type RuntimeLayer = Infer<typeof RuntimeLayer>;

export const LayeredRuntime = message("envoy.config.bootstrap.v3.LayeredRuntime", {
  layers: repeated(1, RuntimeLayer),
});
export type LayeredRuntime = Infer<typeof LayeredRuntime>;

export const DownstreamConnectionsConfig = message(
  "envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
  { max_active_downstream_connections: field(1, int64) },
);
export type DownstreamConnectionsConfig = Infer<typeof DownstreamConnectionsConfig>;

export const FixedHeapConfig = message("envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig", {
  max_heap_size_bytes: field(1, uint64),
});
export type FixedHeapConfig = Infer<typeof FixedHeapConfig>;

export const ResourceMonitor = message("envoy.config.overload.v3.ResourceMonitor", {
  name: field(1, string),
  typed_config: field(3, anyOf(DownstreamConnectionsConfig, FixedHeapConfig)),
});
export type ResourceMonitor = Infer<typeof ResourceMonitor>;

export const ThresholdTrigger = message("envoy.config.overload.v3.ThresholdTrigger", {
  value: field(1, double),
});
export type ThresholdTrigger = Infer<typeof ThresholdTrigger>;

export const Trigger = message("envoy.config.overload.v3.Trigger", {
  name: field(1, string),
  threshold: field(2, ThresholdTrigger),
});
export type Trigger = Infer<typeof Trigger>;

export const OverloadAction = message("envoy.config.overload.v3.OverloadAction", {
  name: field(1, string),
  triggers: repeated(2, Trigger),
});
export type OverloadAction = Infer<typeof OverloadAction>;

export const OverloadManager = message("envoy.config.overload.v3.OverloadManager", {
  resource_monitors: repeated(2, ResourceMonitor),
  actions: repeated(3, OverloadAction),
});
export type OverloadManager = Infer<typeof OverloadManager>;

export const DeferredStatOptions = message("envoy.config.bootstrap.v3.Bootstrap.DeferredStatOptions", {
  enable_deferred_creation_stats: field(1, bool),
});
export type DeferredStatOptions = Infer<typeof DeferredStatOptions>;

export const Bootstrap = message("envoy.config.bootstrap.v3.Bootstrap", {
  node: field(1, Node),
  static_resources: field(2, StaticResources),
  dynamic_resources: field(3, DynamicResources),
  stats_config: field(13, StatsConfig),
  deferred_stat_options: field(39, DeferredStatOptions),
  layered_runtime: field(17, LayeredRuntime),
  admin: field(12, Admin),
  overload_manager: field(15, OverloadManager),
});
export type Bootstrap = Infer<typeof Bootstrap>;
