/**
 * A fetch-style handler behind `node:https`, which, unlike `Deno.serve`, asks clients for their certificates.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { STATUS_CODE } from "@std/http/status";
import type { Clock } from "../../controllers/runtime/clock.ts";
import { type ConnectionLimits, Connections, type Use } from "../../controllers/runtime/connections.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import type { KeyPair } from "../../controllers/runtime/pki.ts";
import { startListening } from "../../controllers/runtime/start_listening.ts";
import type { Identity } from "./access.ts";
import type { ServedRequest } from "./served_request.ts";

/** Times are in milliseconds. */
export interface HttpsLimits extends ConnectionLimits {
  /** From a request's header to the end of its body; of a client that has no certificate, to the end of its answer. */
  readonly request: number;
}

/** client-go keeps idle connections for 90 seconds, and is to be the one who closes them. */
export const defaultLimits: HttpsLimits = {
  connections: 1_024,
  handshake: 10_000,
  idle: 120_000,
  request: 300_000,
};

export interface HttpsOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: KeyPair;
  /** Whose client certificates count; PEM. */
  readonly clientAuthority: string;
  readonly clock: Clock;
  readonly log: Log;
  /** What connections may cost; see {@linkcode defaultLimits}. Answers to clients with a certificate, such as watches, are not cut. */
  readonly limits?: Partial<HttpsLimits>;
  readonly handle: (request: ServedRequest, identity: Identity | undefined) => Response | Promise<Response>;
  readonly onError: (error: unknown) => void;
}

/** How long requests that are under way may take to end once the server stops, in milliseconds. */
const patience = 2000;

export interface HttpsServer extends AsyncDisposable {
  readonly port: number;
}

/** Listens. Disposing of the server cuts what is left of its connections. */
export async function listen(options: HttpsOptions): Promise<HttpsServer> {
  const { host, certificate, clock, log } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const running = new Set<Promise<void>>();
  const server = createServer({
    cert: certificate.certificate,
    key: certificate.key,
    ca: options.clientAuthority,
    requestCert: true,
    rejectUnauthorized: false, // who has none gets 401, not a broken handshake
    ALPNProtocols: ["http/1.1"],
    minVersion: "TLSv1.2",
  }, (incoming, outgoing) => {
    const socket = incoming.socket as TLSSocket, identity = identities.get(socket);
    limit(connections.use(socket, identity !== undefined), incoming, outgoing, {
      clock,
      ms: limits.request,
      whole: identity === undefined,
    });
    const run = serve(options, identity, incoming, outgoing).finally(() => running.delete(run));
    running.add(run);
  });
  // Kept by ourselves: `closeAllConnections` overlooks one on which an answer has only just ended, which then stays for as
  // long as the client likes.
  const connections = new Connections({ server: "API server", limits, clock, log });
  server.on("connection", (socket: Socket) => connections.accept(socket));
  // A certificate is read once, however many requests come by its connection.
  const identities = new WeakMap<TLSSocket, Identity | undefined>();
  server.on("secureConnection", (socket: TLSSocket) => {
    identities.set(socket, identityOf(socket));
    connections.secured(socket);
  });
  server.keepAliveTimeout = 90_000; // longer than client-go keeps idle connections, so that it is who closes them
  const port = await startListening(server, { hostname: host, port: options.port, failed: options.onError });
  return {
    port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await atMost(options.clock, patience, Promise.all(running));
      server.closeAllConnections();
      connections.destroy();
      await Promise.all(running);
      await closed;
    },
  };
}

async function atMost(clock: Clock, ms: number, done: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  using _timer = clock.timer(ms, () => late.resolve());
  await Promise.race([done, late.promise]);
}

/** Who the client is by its certificate, if that is one of ours. */
export function identityOf(socket: TLSSocket): Identity | undefined {
  if (!socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate() as unknown as {
    readonly subject?: { readonly CN?: string | readonly string[]; readonly O?: string | readonly string[] };
  };
  const [user] = [subject?.CN ?? []].flat();
  return user ? { user, groups: [subject?.O ?? []].flat() } : undefined;
}

/** Cuts the connection of a request that does not come to its end in time. */
function limit(
  use: Use,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { clock, ms, whole }: { readonly clock: Clock; readonly ms: number; readonly whole: boolean },
): void {
  const timer = clock.timer(ms, () => {
    if (whole || !incoming.complete) incoming.socket.destroy();
  });
  const end = () => {
    timer[Symbol.dispose]();
    use[Symbol.dispose]();
  };
  outgoing.once("finish", end);
  outgoing.once("close", end);
}

async function serve(
  options: HttpsOptions,
  identity: Identity | undefined,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const closed = new AbortController();
  outgoing.on("close", () => outgoing.writableFinished || closed.abort());
  try {
    const request = toRequest(incoming, closed.signal);
    if (!request) {
      outgoing.writeHead(STATUS_CODE.BadRequest).end();
      return;
    }
    const response = await options.handle(request, identity);
    skip(incoming);
    await send(response, outgoing, closed.signal);
  } catch (error) {
    if (!closed.signal.aborted) options.onError(error);
    outgoing.destroy();
  }
}

/** What is not a request that can be handled, such as TRACE or a path that is no URL, is nothing. */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): ServedRequest | undefined {
  const { method = "GET", url = "/" } = incoming;
  const target = URL.parse(url, "https://localhost");
  if (!target || unservable.has(method)) return undefined;
  const headers = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i]!, incoming.rawHeaders[i + 1]!);
  }
  // Destroyed, it would leave the rest of the body to be taken for the next request.
  const body = method === "GET" || method === "HEAD" ? null : incoming.iterator({ destroyOnReturn: false });
  return { method, url: target.href, headers, body, signal };
}

/** How much of a body that nobody wants may follow its answer, in bytes. */
const mostSkipped = 64 * 1024 * 1024;

/**
 * Reads what is left of a body. The client may be sending it still, and what it sends next on the same connection comes
 * after it.
 */
function skip(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  let left = mostSkipped;
  incoming.on("data", (chunk: Uint8Array) => {
    left -= chunk.length;
    if (left < 0) incoming.socket.destroy();
  });
  incoming.on("error", () => {}); // it has been answered
}

/** Methods that the Fetch standard has no requests for. */
const unservable: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

async function send(response: Response, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body) {
    outgoing.end();
    return;
  }
  // A stream may have nothing to tell for a long time. The head of a whole answer goes together with it.
  if (!response.headers.has("content-length")) outgoing.flushHeaders();
  const reader = response.body.getReader();
  const stop = () => void reader.cancel().catch(() => {}); // an errored stream has nothing left to cancel
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done || signal.aborted) break;
      if (!outgoing.write(value)) await drained(outgoing, signal);
    }
    outgoing.end();
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function drained(outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  if (signal.aborted || !outgoing.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    outgoing.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
