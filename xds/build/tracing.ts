/**
 * Spans for OpenTelemetry.
 *
 * @module
 */
import type { Tracing } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/trace.ts";

export function buildTracing(tracing: Tracing): envoy.Tracing {
  const { cluster, service, sampling, attributes, headers } = tracing;
  return {
    provider: {
      name: "envoy.tracers.opentelemetry",
      typed_config: {
        "@type": "type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig",
        // By default the authority is the name of the cluster, which is no valid one.
        grpc_service: { envoy_grpc: { cluster_name: cluster, authority: tracing.authority } },
        service_name: service,
      },
    },
    random_sampling: { value: sampling.numerator / sampling.denominator * 100 },
    custom_tags: [
      ...sorted(attributes).map(([tag, value]) => ({ tag, literal: { value } })),
      ...sorted(headers).map(([tag, name]) => ({ tag, request_header: { name } })),
    ],
    // One span for what the client sees, and one for each request to a backend.
    spawn_upstream_span: true,
  };
}

function sorted(entries: { readonly [name: string]: string }): readonly (readonly [string, string])[] {
  return Object.entries(entries).sort(([a], [b]) => a < b ? -1 : 1);
}
