/**
 * The port for probes and metrics of an operator in a cluster.
 *
 * Whoever reaches the pod may ask, so what connections cost is bounded: on `Deno.serve` they would stay for as long as the peer likes.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { STATUS_CODE } from "@std/http/status";
import type { Clock } from "../controllers/runtime/clock.ts";
import { type ConnectionLimits, Connections } from "../controllers/runtime/connections.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import { startListening } from "../controllers/runtime/start_listening.ts";
import { probes } from "./admin.ts";

/** Times are in milliseconds. */
export interface HttpPortLimits extends Omit<ConnectionLimits, "handshake"> {
  /** From a request's header to the end of its answer. */
  readonly request: number;
}

/** Kubelets and Prometheus have a connection each, and make another one where theirs has gone. */
const defaultLimits: HttpPortLimits = { connections: 256, idle: 60_000, request: 20_000 };

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
  readonly log: Log;
  readonly limits?: Partial<HttpPortLimits>;
}

/** A server that listens. Disposing of it cuts what is left of its connections and returns once its port is free. */
export interface HttpPort extends AsyncDisposable {
  readonly port: number;
}

export async function serveHttp({ hostname, port, ...options }: HttpPortOptions): Promise<HttpPort> {
  const { clock, log } = options, limits = { ...defaultLimits, ...options.limits };
  const app = probes(options);
  const connections = new Connections({
    server: "port for probes and metrics",
    limits: { ...limits, handshake: limits.idle },
    clock,
    log,
  });
  const server = createServer((incoming, outgoing) => {
    const { socket } = incoming, use = connections.use(socket, false);
    const timer = clock.timer(limits.request, () => socket.destroy());
    outgoing.once("close", () => {
      timer[Symbol.dispose]();
      use[Symbol.dispose]();
    });
    answer((request) => app.fetch(request), incoming, outgoing).catch((error) => {
      log.debug("Cannot answer on the port for probes and metrics", { error });
      outgoing.destroy();
    });
  });
  server.on("connection", (socket: Socket) => connections.accept(socket));
  const bound = await startListening(server, {
    hostname,
    port,
    failed: (error) => log.error("The port for probes and metrics failed", { error }),
  });
  return {
    port: bound,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.destroy();
      await closed;
    },
  };
}

async function answer(
  handle: (request: Request) => Response | Promise<Response>,
  { method, url = "/" }: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const target = URL.parse(url, "http://operator");
  if (!target || method !== "GET" && method !== "HEAD") {
    outgoing.writeHead(STATUS_CODE.MethodNotAllowed, { allow: "GET, HEAD" }).end();
    return;
  }
  const response = await handle(new Request(target, { method }));
  const body = new Uint8Array(await response.arrayBuffer());
  outgoing.writeHead(response.status, {
    ...Object.fromEntries(response.headers),
    "content-length": body.length,
  });
  outgoing.end(body);
}
