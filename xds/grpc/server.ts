/**
 * Serves delta ADS over gRPC, on HTTP/2 with TLS.
 *
 * @module
 */
import * as http2 from "node:http2";
import { setImmediate } from "node:timers";
import type { PeerCertificate, TLSSocket } from "node:tls";
import type { GatewayKey } from "../../controllers/ir/mod.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import {
  type ConnectionLimits,
  Connections,
  type Peer as Address,
  type Use,
} from "../../controllers/runtime/connections.ts";
import { destroyLater } from "../../controllers/runtime/destroy_later.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { Repeats } from "../../controllers/runtime/repeats.ts";
import { linkSignals } from "../../controllers/runtime/signals.ts";
import { startListening } from "../../controllers/runtime/start_listening.ts";
import type { XdsCache } from "../cache.ts";
import { RefusedError, serve } from "../delta/serve.ts";
import type { Patience } from "../delta/stream.ts";
import { noMetrics, type XdsMetrics } from "../metrics.ts";
import type { ProxyEvent } from "../types.ts";
import { DeltaDiscoveryRequest } from "../wire/envoy/discovery.ts";
import { decode } from "../wire/mod.ts";
import { frameResponse, type GrpcCode, grpcCodes, GrpcError, readMessages } from "./frames.ts";
import { send } from "./sending.ts";
import { Turns } from "./turns.ts";

/** What the server proves itself with, and whose client certificates it accepts. All PEM. */
export interface ServerTls {
  readonly certificate: string;
  readonly key: string;
  /** Without it, no client certificate is asked for. */
  readonly clientAuthority?: string;
}

/** Who is at the other end of a stream. */
export interface Peer {
  /** IP address and port. */
  readonly address: string;
  /** Of a certificate that the client authority has signed. */
  readonly certificate?: { readonly commonName: string; readonly uris: readonly string[] };
  /** The `authorization` header. */
  readonly authorization?: string;
}

/** Who a peer has proved to be. */
export interface Identity {
  /** The Gateway whose resources it may read. */
  readonly gateway: GatewayKey;
  /** The node id that it has to have; any, if absent. */
  readonly proxy?: string;
  /** Until when the proof is good, in milliseconds since 1970. The stream ends before. */
  readonly expires?: number;
}

/** Why a peer is not served. */
export interface Refusal {
  readonly refused: "UNAUTHENTICATED" | "PERMISSION_DENIED" | "UNAVAILABLE";
  /** For the log, and for the peer. */
  readonly message: string;
}

/** Finds out who a peer is. */
export type Authenticate = (peer: Peer) => Identity | Refusal | Promise<Identity | Refusal>;

export interface XdsServerOptions {
  readonly cache: XdsCache;
  readonly tls: ServerTls;
  readonly authenticate: Authenticate;
  readonly hostname: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly onEvent: (event: ProxyEvent) => void;
  readonly metrics?: XdsMetrics;
  readonly patience?: Patience;
  /** Streams end after this many milliseconds at most, each after another time; 30 minutes by default. */
  readonly lifetime?: number;
  /** Between 0 and 1, for the jitter of the lifetime. */
  readonly random?: () => number;
  /** How long a stream may be without a first request, in milliseconds; 10 seconds by default. */
  readonly introduction?: number;
  /** The largest request, in bytes; 8 MiB by default. */
  readonly requestLimit?: number;
  /** What connections may cost; see {@linkcode defaultLimits}. Streams of proxies that are served are not cut by it. */
  readonly limits?: Partial<ConnectionLimits>;
  /** How often to ask whether a peer is still there, and how long it may take to answer, in milliseconds. */
  readonly ping?: { readonly interval: number; readonly timeout: number };
  /** How long closing waits for streams to end, in milliseconds; 2 seconds by default. */
  readonly grace?: number;
  readonly signal?: AbortSignal;
}

/** A server that listens. Disposing of it ends all streams and returns once its port is free. */
export interface XdsServer extends AsyncDisposable {
  readonly port: number;
  /** Serves new connections with another certificate; those that there are stay. */
  rotate(tls: ServerTls): void;
}

const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/** A connection is for one stream: an Envoy whose stream has ended makes another. */
export const defaultLimits: ConnectionLimits = { connections: 4_096, handshake: 10_000, idle: 30_000 };

/** The largest token that is looked at, in characters. A ServiceAccount's has some 1,300. */
const longestAuthorization = 16 * 1024;

/** How many large responses are on their way at a time, and how many milliseconds one of them counts at most. */
const largeAtOnce = { places: 16, patience: 100 };

/** Listens, or rejects if that is not possible. */
export async function startXdsServer(options: XdsServerOptions): Promise<XdsServer> {
  const server = http2.createSecureServer({
    ...secureContext(options.tls),
    allowHTTP1: false,
    ALPNProtocols: ["h2"],
    settings: { maxConcurrentStreams: 16, initialWindowSize: 256 * 1024 },
  });
  const { clock, log } = options, limits = { ...defaultLimits, ...options.limits };
  const connections = new Connections({ server: "xDS server", limits, clock, log });
  const refusals = new Repeats({ clock }), turns = new Turns({ ...largeAtOnce, clock });
  /** With their peers, which are not to be asked for later: a session that has ended throws. */
  const sessions = new Map<http2.Http2Session, { readonly peer: Address; readonly pings: Disposable }>();
  const streams = new Set<Promise<void>>();
  const closing = new AbortController();
  const life = linkSignals(closing.signal, ...(options.signal ? [options.signal] : []));

  // A response is several writes; without this, the later ones wait 40 ms for the peer's kernel to confirm the first.
  server.on("secureConnection", (socket) => {
    socket.setNoDelay(true);
    connections.secured(socket);
  });
  server.on("connection", (socket) => connections.accept(socket));
  server.on("session", (session) => {
    destroyLater(session);
    const { remoteAddress, remotePort } = session.socket;
    const peer = { remoteAddress, remotePort };
    const pings = keepAlive(session, options, () => connections.cut(peer, "no answer to a ping"));
    sessions.set(session, { peer, pings });
    if (closing.signal.aborted) session.close(); // Its handshake has taken that long.
    session.on("close", () => {
      pings[Symbol.dispose]();
      sessions.delete(session);
    });
    session.on("error", (error) => options.log.debug("xDS connection failed", { error }));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", (error) => log.debug("xDS stream failed", { error }));
    const session = stream.session && sessions.get(stream.session);
    if (!session) return;
    const serving = () => connections.use(session.peer, true);
    const run = handle(stream, headers, { ...options, refusals, turns, serving }, life.signal)
      .finally(() => streams.delete(run));
    streams.add(run);
  });
  server.on("tlsClientError", (error) => options.log.debug("xDS client failed its handshake", { error }));
  const port = await startListening(server, {
    ...options,
    failed: (error) => options.log.error("xDS server failed", { error }),
  });

  const close = once(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    closing.abort();
    for (const session of sessions.keys()) session.close();
    using grace = clock.timer(options.grace ?? 2_000, () => connections.destroy());
    void grace;
    await Promise.all([closed, ...streams]);
    // Sessions whose connections were cut may not have heard of it yet.
    for (const { pings } of sessions.values()) pings[Symbol.dispose]();
    life[Symbol.dispose]();
  });
  return {
    port,
    rotate: (tls) => server.setSecureContext(secureContext(tls)),
    [Symbol.asyncDispose]: close,
  };
}

function secureContext({ certificate, key, clientAuthority }: ServerTls) {
  return {
    cert: certificate,
    key,
    ...(clientAuthority ? { ca: clientAuthority, requestCert: true, rejectUnauthorized: true } : {}),
  };
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => running ??= run();
}

/** Asks the peer from time to time whether it is there; a connection that does not answer is cut. */
function keepAlive(
  session: http2.ServerHttp2Session,
  { clock, ping }: XdsServerOptions,
  cut: () => void,
): Disposable {
  const { interval, timeout } = ping ?? { interval: 15_000, timeout: 10_000 };
  let timer: Disposable, over = false;
  const beat = () => {
    if (session.destroyed || session.closed) return;
    timer = clock.timer(timeout, cut);
    session.ping((error) => {
      timer[Symbol.dispose]();
      if (!error && !over) timer = clock.timer(interval, beat);
    });
  };
  timer = clock.timer(interval, beat);
  return {
    [Symbol.dispose]: () => {
      over = true;
      timer[Symbol.dispose]();
    },
  };
}

async function handle(
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  options: XdsServerOptions & {
    readonly refusals: Repeats;
    readonly turns: Turns;
    readonly serving: () => Use;
  },
  signal: AbortSignal,
): Promise<void> {
  const { log, metrics = noMetrics, refusals, turns, serving } = options;
  const gone = new AbortController();
  stream.on("close", () => gone.abort());
  using stopped = linkSignals(signal, gone.signal);
  try {
    const identity = await admit(stream, headers, options);
    if (gone.signal.aborted || stream.closed || stream.destroyed) return;
    using use = serving();
    void use;
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    // A stream has to be answered by trailers, whether it ends well or not.
    const responses = serve(requestsOf(stream, options), options.cache, {
      clock: options.clock,
      allows: ({ gateway, proxy }) =>
        gateway === identity.gateway && (identity.proxy === undefined || proxy === identity.proxy),
      onEvent: options.onEvent,
      ...(options.patience ? { patience: options.patience } : {}),
      ...(options.introduction === undefined ? {} : { introduction: options.introduction }),
      lifetime: lifetimeOf(identity, options),
      signal: stopped.signal,
    });
    metrics.stream(1);
    try {
      for await (const response of responses) {
        const size = await send(stream, frameResponse(response), turns, gone.signal);
        metrics.pushed(response.type, response.resources.length, response.removed.length, size);
      }
    } finally {
      metrics.stream(-1);
    }
    finish(stream, "OK", "");
  } catch (error) {
    // A proxy that leaves without a word, as when it stops, may be noticed here first.
    if (gone.signal.aborted || stream.closed || stream.destroyed) return;
    const { code, message } = statusOf(error);
    if (code === "INTERNAL") log.error("xDS stream failed", { error });
    else {
      const peer = stream.session?.socket?.remoteAddress, said = refusals.say(`${peer} ${code} ${message}`);
      if (said) log.warn("Refused an xDS stream", { code, message, peer, ...said });
    }
    finish(stream, code, message);
  }
}

/** Rejects calls of other methods and peers that nobody knows. */
async function admit(
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  options: XdsServerOptions,
): Promise<Identity> {
  if (headers[":method"] !== "POST" || headers[":path"] !== path) {
    throw new GrpcError("UNIMPLEMENTED", `Only ${path} is served here`);
  }
  const peer = peerOf(stream, headers);
  if (peer.authorization && peer.authorization.length > longestAuthorization) {
    throw new GrpcError("UNAUTHENTICATED", "The token is too long to be one of a ServiceAccount");
  }
  const identity = await options.authenticate(peer);
  if ("refused" in identity) throw new GrpcError(identity.refused, identity.message);
  return identity;
}

/** How long a stream may go on, in milliseconds: not all of them equally long, and none longer than the proof is good. */
function lifetimeOf(
  { expires }: Identity,
  { lifetime = 30 * 60_000, random = Math.random, clock }: XdsServerOptions,
): number {
  const life = lifetime * (1 - random() / 2);
  if (expires === undefined) return life;
  const left = Math.max(0, expires - clock.now().getTime());
  return Math.min(life, left - Math.min(left / 10, 10_000));
}

function peerOf(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): Peer {
  const socket = stream.session?.socket as TLSSocket | undefined;
  const certificate = certificateOf(socket?.getPeerCertificate?.());
  const { authorization } = headers;
  return {
    address: `${socket?.remoteAddress ?? ""}:${socket?.remotePort ?? ""}`,
    ...(certificate ? { certificate } : {}),
    ...(authorization ? { authorization } : {}),
  };
}

function certificateOf(certificate: PeerCertificate | undefined): Peer["certificate"] {
  if (!certificate?.subject) return undefined;
  const names = (certificate.subjectaltname ?? "").split(", ");
  return {
    commonName: certificate.subject.CN ?? "",
    uris: names.filter((name) => name.startsWith("URI:")).map((name) => name.slice("URI:".length)),
  };
}

async function* requestsOf(
  stream: http2.ServerHttp2Stream,
  { requestLimit = 8 * 1024 * 1024 }: XdsServerOptions,
): AsyncGenerator<DeltaDiscoveryRequest, void> {
  // Left early, the stream is still to be answered.
  const chunks = stream.iterator({ destroyOnReturn: false });
  for await (const message of readMessages(chunks, requestLimit)) {
    let request: DeltaDiscoveryRequest;
    try {
      request = decode(DeltaDiscoveryRequest, message);
    } catch (cause) {
      throw new GrpcError("INVALID_ARGUMENT", "Cannot read the request", { cause });
    }
    yield request;
  }
}

function statusOf(error: unknown): { readonly code: GrpcCode; readonly message: string } {
  if (error instanceof GrpcError || error instanceof RefusedError) {
    return { code: error.code, message: error.message };
  }
  return { code: "INTERNAL", message: "Internal error" };
}

function finish(stream: http2.ServerHttp2Stream, code: GrpcCode, message: string): void {
  if (stream.destroyed || stream.closed) return;
  const trailers = {
    "grpc-status": String(grpcCodes[code]),
    ...(message ? { "grpc-message": encodeURIComponent(message) } : {}),
  };
  if (!stream.headersSent) {
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...trailers }, { endStream: true });
    return;
  }
  stream.on("wantTrailers", () => {
    stream.sendTrailers(trailers);
    // The peer may go on sending for ever. Closing at once would overtake the trailers.
    setImmediate(() => stream.close(http2.constants.NGHTTP2_NO_ERROR));
  });
  stream.end();
}
