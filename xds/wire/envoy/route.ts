/**
 * Route configurations: what happens to an HTTP request.
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
  int64,
  map,
  message,
  repeated,
  string,
  uint32,
  UInt32Value,
  UInt64Value,
} from "../mod.ts";
import { DataSource, HeaderValueOption, Metadata, RuntimeFractionalPercent } from "./core.ts";
import { FilterConfigs } from "./filters.ts";
import { RegexMatchAndSubstitute, RouteMatch } from "./matcher.ts";

export const ClusterWeight = message("envoy.config.route.v3.WeightedCluster.ClusterWeight", {
  name: field(1, string),
  weight: field(2, UInt32Value),
  metadata_match: field(3, Metadata),
  request_headers_to_add: repeated(4, HeaderValueOption),
  request_headers_to_remove: repeated(9, string),
  response_headers_to_add: repeated(5, HeaderValueOption),
  response_headers_to_remove: repeated(6, string),
  host_rewrite_literal: field(11, string),
  typed_per_filter_config: map(10, FilterConfigs),
});
export type ClusterWeight = Infer<typeof ClusterWeight>;

export const WeightedCluster = message("envoy.config.route.v3.WeightedCluster", {
  clusters: repeated(1, ClusterWeight),
});
export type WeightedCluster = Infer<typeof WeightedCluster>;

export const RetryBackOff = message("envoy.config.route.v3.RetryPolicy.RetryBackOff", {
  base_interval: field(1, Duration),
  max_interval: field(2, Duration),
});
export type RetryBackOff = Infer<typeof RetryBackOff>;

export const PreviousHostsPredicate = message(
  "envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate",
  {},
);
export type PreviousHostsPredicate = Infer<typeof PreviousHostsPredicate>;

export const RetryHostPredicate = message("envoy.config.route.v3.RetryPolicy.RetryHostPredicate", {
  name: field(1, string),
  typed_config: field(3, anyOf(PreviousHostsPredicate)),
});
export type RetryHostPredicate = Infer<typeof RetryHostPredicate>;

export const RetryPolicy = message("envoy.config.route.v3.RetryPolicy", {
  retry_on: field(1, string),
  num_retries: field(2, UInt32Value),
  per_try_timeout: field(3, Duration),
  per_try_idle_timeout: field(13, Duration),
  retry_host_predicate: repeated(5, RetryHostPredicate),
  host_selection_retry_max_attempts: field(6, int64),
  retriable_status_codes: repeated(7, uint32),
  retry_back_off: field(8, RetryBackOff),
});
export type RetryPolicy = Infer<typeof RetryPolicy>;

export const RequestMirrorPolicy = message("envoy.config.route.v3.RouteAction.RequestMirrorPolicy", {
  cluster: field(1, string),
  runtime_fraction: field(3, RuntimeFractionalPercent),
  trace_sampled: field(4, BoolValue),
  disable_shadow_host_suffix_append: field(6, bool),
});
export type RequestMirrorPolicy = Infer<typeof RequestMirrorPolicy>;

export const UpgradeConfig = message("envoy.config.route.v3.RouteAction.UpgradeConfig", {
  upgrade_type: field(1, string),
  enabled: field(2, BoolValue),
});
export type UpgradeConfig = Infer<typeof UpgradeConfig>;

export const MaxStreamDuration = message("envoy.config.route.v3.RouteAction.MaxStreamDuration", {
  max_stream_duration: field(1, Duration),
});
export type MaxStreamDuration = Infer<typeof MaxStreamDuration>;

export const ClusterNotFoundResponseCode = enumeration(
  "envoy.config.route.v3.RouteAction.ClusterNotFoundResponseCode",
  { SERVICE_UNAVAILABLE: 0, NOT_FOUND: 1, INTERNAL_SERVER_ERROR: 2 },
);
export const RouteAction = message("envoy.config.route.v3.RouteAction", {
  cluster: field(1, string),
  cluster_header: field(2, string),
  weighted_clusters: field(3, WeightedCluster),
  cluster_not_found_response_code: field(20, ClusterNotFoundResponseCode),
  metadata_match: field(4, Metadata),
  prefix_rewrite: field(5, string),
  regex_rewrite: field(32, RegexMatchAndSubstitute),
  host_rewrite_literal: field(6, string),
  auto_host_rewrite: field(7, BoolValue),
  host_rewrite_header: field(29, string),
  append_x_forwarded_host: field(38, bool),
  timeout: field(8, Duration),
  idle_timeout: field(24, Duration),
  retry_policy: field(9, RetryPolicy),
  request_mirror_policies: repeated(30, RequestMirrorPolicy),
  upgrade_configs: repeated(25, UpgradeConfig),
  max_stream_duration: field(36, MaxStreamDuration),
}, {
  oneofs: [["cluster", "cluster_header", "weighted_clusters"], [
    "host_rewrite_literal",
    "auto_host_rewrite",
    "host_rewrite_header",
  ]],
});
export type RouteAction = Infer<typeof RouteAction>;

export const RedirectResponseCode = enumeration("envoy.config.route.v3.RedirectAction.RedirectResponseCode", {
  MOVED_PERMANENTLY: 0,
  FOUND: 1,
  SEE_OTHER: 2,
  TEMPORARY_REDIRECT: 3,
  PERMANENT_REDIRECT: 4,
});
export const RedirectAction = message("envoy.config.route.v3.RedirectAction", {
  https_redirect: field(4, bool),
  scheme_redirect: field(7, string),
  host_redirect: field(1, string),
  port_redirect: field(8, uint32),
  path_redirect: field(2, string),
  prefix_rewrite: field(5, string),
  regex_rewrite: field(9, RegexMatchAndSubstitute),
  response_code: field(3, RedirectResponseCode),
  strip_query: field(6, bool),
}, { oneofs: [["https_redirect", "scheme_redirect"], ["path_redirect", "prefix_rewrite", "regex_rewrite"]] });
export type RedirectAction = Infer<typeof RedirectAction>;

export const DirectResponseAction = message("envoy.config.route.v3.DirectResponseAction", {
  status: field(1, uint32),
  body: field(2, DataSource),
});
export type DirectResponseAction = Infer<typeof DirectResponseAction>;

export const Route = message("envoy.config.route.v3.Route", {
  name: field(14, string),
  match: field(1, RouteMatch),
  route: field(2, RouteAction),
  redirect: field(3, RedirectAction),
  direct_response: field(7, DirectResponseAction),
  metadata: field(4, Metadata),
  typed_per_filter_config: map(13, FilterConfigs),
  request_headers_to_add: repeated(9, HeaderValueOption),
  request_headers_to_remove: repeated(12, string),
  response_headers_to_add: repeated(10, HeaderValueOption),
  response_headers_to_remove: repeated(11, string),
  stat_prefix: field(19, string),
  request_body_buffer_limit: field(20, UInt64Value),
}, { oneofs: [["route", "redirect", "direct_response"]] });
export type Route = Infer<typeof Route>;

export const VirtualHost = message("envoy.config.route.v3.VirtualHost", {
  name: field(1, string),
  domains: repeated(2, string),
  routes: repeated(3, Route),
  request_headers_to_add: repeated(7, HeaderValueOption),
  request_headers_to_remove: repeated(13, string),
  response_headers_to_add: repeated(10, HeaderValueOption),
  response_headers_to_remove: repeated(11, string),
  typed_per_filter_config: map(15, FilterConfigs),
  include_request_attempt_count: field(14, bool),
  retry_policy: field(16, RetryPolicy),
}, { memo: true });
export type VirtualHost = Infer<typeof VirtualHost>;

export const RouteConfiguration = message("envoy.config.route.v3.RouteConfiguration", {
  name: field(1, string),
  virtual_hosts: repeated(2, VirtualHost),
  response_headers_to_add: repeated(4, HeaderValueOption),
  response_headers_to_remove: repeated(5, string),
  request_headers_to_add: repeated(6, HeaderValueOption),
  request_headers_to_remove: repeated(8, string),
  most_specific_header_mutations_wins: field(10, bool),
  validate_clusters: field(7, BoolValue),
  ignore_port_in_host_matching: field(14, bool),
  typed_per_filter_config: map(16, FilterConfigs),
}, { memo: true });
export type RouteConfiguration = Infer<typeof RouteConfiguration>;
