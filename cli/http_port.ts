/**
 * The port for probes and metrics of an operator in a cluster.
 *
 * @module
 */
import type { Metrics } from "../controllers/runtime/metrics.ts";
import { probes } from "./admin.ts";

export interface HttpPortOptions {
  readonly hostname: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly metrics: Metrics;
  /** Why the operator is not ready; empty once it is. */
  readonly awaited: () => readonly string[];
}

/** A server that listens. Disposing of it returns once its port is free. */
export interface HttpPort extends AsyncDisposable {
  readonly port: number;
}

export function serveHttp({ hostname, port, metrics, awaited }: HttpPortOptions): HttpPort {
  const app = probes({ metrics, awaited });
  const server = Deno.serve({ hostname, port, onListen: () => {} }, (request) => app.fetch(request));
  return { port: server.addr.port, [Symbol.asyncDispose]: () => server.shutdown() };
}
