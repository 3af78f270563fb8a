/**
 * Tracing, as an HTTP connection manager has it.
 *
 * @module
 */
import { anyOf, BoolValue, field, type Infer, message, repeated, string } from "../mod.ts";
import { GrpcService, Percent } from "./core.ts";

export const OpenTelemetryConfig = message("envoy.config.trace.v3.OpenTelemetryConfig", {
  grpc_service: field(1, GrpcService),
  service_name: field(2, string),
});
export type OpenTelemetryConfig = Infer<typeof OpenTelemetryConfig>;

export const TracingProvider = message("envoy.config.trace.v3.Tracing.Http", {
  name: field(1, string),
  typed_config: field(3, anyOf(OpenTelemetryConfig)),
});
export type TracingProvider = Infer<typeof TracingProvider>;

export const LiteralTag = message("envoy.type.tracing.v3.CustomTag.Literal", { value: field(1, string) });
export type LiteralTag = Infer<typeof LiteralTag>;

export const HeaderTag = message("envoy.type.tracing.v3.CustomTag.Header", {
  name: field(1, string),
  default_value: field(2, string),
});
export type HeaderTag = Infer<typeof HeaderTag>;

export const CustomTag = message("envoy.type.tracing.v3.CustomTag", {
  tag: field(1, string),
  literal: field(2, LiteralTag),
  request_header: field(4, HeaderTag),
}, { oneofs: [["literal", "request_header"]] });
export type CustomTag = Infer<typeof CustomTag>;

export const Tracing = message(
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.Tracing",
  {
    random_sampling: field(4, Percent),
    custom_tags: repeated(8, CustomTag),
    provider: field(9, TracingProvider),
    spawn_upstream_span: field(10, BoolValue),
  },
);
export type Tracing = Infer<typeof Tracing>;
