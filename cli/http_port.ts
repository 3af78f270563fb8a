/**
 * The port for probes and metrics of an operator in a cluster.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import { probes } from "./admin.ts";

export interface HttpPortOptions {
  readonly hostname: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly metrics: Metrics;
  /** Why the operator is not ready; empty once it is. */
  readonly awaited: () => readonly string[];
  /** Resolves once it is ready for the first time. */
  readonly ready: Promise<void>;
  readonly clock: Clock;
}

/** A server that listens. Disposing of it returns once its port is free. */
export interface HttpPort extends AsyncDisposable {
  readonly port: number;
}

export function serveHttp({ hostname, port, ...options }: HttpPortOptions): HttpPort {
  const app = probes(options);
  const server = Deno.serve({ hostname, port, onListen: () => {} }, (request) => app.fetch(request));
  return { port: server.addr.port, [Symbol.asyncDispose]: () => server.shutdown() };
}
