/**
 * Where other replicas tell the one that leads about their proxies.
 *
 * @module
 */
import type { Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import type { Credentials } from "../controllers/own_certificate.ts";
import { Connections } from "../controllers/runtime/connections.ts";
import { startListening } from "../controllers/runtime/start_listening.ts";
import { exchangeReports, type ReportStreamOptions } from "./report_stream.ts";

export interface ReportServerOptions extends Omit<ReportStreamOptions, "addressee" | "signal"> {
  readonly hostname: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Whether this replica leads; if not, nobody has anything to tell it. */
  readonly leads: () => boolean;
}

/** A server that listens. Disposing of it cuts all connections. */
export interface ReportServer extends AsyncDisposable {
  readonly port: number;
  /** Accepts whoever has a certificate of these authorities, which only replicas have, and shows this one. */
  use(credentials: Credentials): void;
  /** Cuts all connections: this replica does not lead any more. */
  hangUp(): void;
}

/** More than an operator has replicas. */
const limits = { connections: 64, handshake: 5_000, idle: 30_000 };

/** The protocol of {@linkcode exchangeReports}; another one would have another name. */
export const reportProtocol = "gatehouse-reports/1";

export async function serveReports(options: ReportServerOptions): Promise<ReportServer> {
  const { hostname, port, leads, clock, log } = options;
  const connections = new Connections({ server: "report server", limits, clock, log });
  const stop = new AbortController(), talks = new Set<Promise<void>>(), sockets = new Set<TLSSocket>();
  const state = { count: 0, usable: false };
  const server = createServer({
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.3",
    ALPNProtocols: [reportProtocol],
  });
  server.on("connection", (socket: Socket) => connections.accept(socket));
  server.on("tlsClientError", (error) => log.debug("Another replica failed its handshake", { error }));
  server.on("secureConnection", (socket: TLSSocket) => {
    if (!state.usable || !socket.authorized || !leads()) return void socket.destroy();
    connections.secured(socket);
    const use = connections.use(socket, true);
    sockets.add(socket);
    const to = `${socket.remoteAddress ?? ""} ${++state.count}`;
    const talk = exchangeReports(socket, { ...options, addressee: { to, leads: false }, signal: stop.signal })
      .finally(() => {
        use[Symbol.dispose]();
        sockets.delete(socket);
        talks.delete(talk);
      });
    talks.add(talk);
  });
  const bound = await startListening(server, {
    hostname,
    port,
    failed: (error) => log.error("Report server failed", { error }),
  });
  return {
    port: bound,
    use({ certificate, key, authorities }) {
      server.setSecureContext({ cert: certificate, key, ca: authorities });
      state.usable = true;
    },
    hangUp() {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      stop.abort();
      connections.destroy();
      await Promise.all([closed, ...talks]);
    },
  };
}
