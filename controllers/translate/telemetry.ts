/**
 * What the proxies of a Gateway tell of requests: its access log, and spans for a collector.
 *
 * @module
 */
import type { AccessLog, Cluster, GatewayKey, Tracing } from "../ir/mod.ts";
import type { Fleet, FleetTracing } from "./fleet.ts";
import { namespaceOf } from "./keys.ts";

export interface Telemetry {
  readonly accessLog?: AccessLog;
  readonly tracing?: Tracing;
  /** The cluster of the collector, if there is tracing. */
  readonly collector?: CollectorCluster;
}

/** A cluster that is no Service. */
export interface CollectorCluster extends Required<Pick<Cluster, "name" | "protocol" | "address">> {
  readonly tls?: never;
  readonly retries?: never;
}

export function telemetryOf(gateway: GatewayKey, { accessLog, tracing }: Fleet): Telemetry {
  return {
    ...accessLog && { accessLog },
    ...tracing && tracingOf(gateway, tracing),
  };
}

function tracingOf(gateway: GatewayKey, tracing: FleetTracing): Telemetry {
  const { collector: address, sampling, attributes, headers } = tracing;
  const { host, port } = address;
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const name = gateway.slice(gateway.indexOf("/") + 1);
  // No name of a Service can have this form.
  const cluster = `tracing:${authority}`;
  return {
    tracing: {
      cluster,
      authority,
      service: tracing.serviceName ?? `${name}.${namespaceOf(gateway)}`,
      sampling,
      attributes,
      headers,
    },
    collector: { name: cluster, protocol: "h2c", address },
  };
}
