/**
 * A backend that answers with what it was asked, to see what a gateway makes of a request.
 *
 * It speaks HTTP/1.1, HTTP/2 without TLS (by prior knowledge, as a gateway does) and WebSocket, whose messages it sends
 * back.
 *
 * @module
 */

export interface EchoOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  /** The address to listen on. */
  readonly host?: string;
  /** What it calls itself: a Service's name. */
  readonly name: string;
}

/** A server that runs until disposed of. */
export interface EchoServer extends AsyncDisposable {
  readonly port: number;
}

/** What a request gets back, in JSON. */
export interface Echo {
  /** The name of the backend. */
  readonly service: string;
  /** Tells several servers of one name apart. */
  readonly pod: string;
  readonly protocol: "HTTP/1.1" | "HTTP/2";
  readonly method: string;
  /** The host that the client asked for, with the port if it named one. */
  readonly host: string;
  /** As it was sent: nothing is decoded or normalized. */
  readonly path: string;
  /** The values of each query parameter, in order. */
  readonly query: { readonly [name: string]: readonly string[] };
  /** By lower-case name; several values are joined by a comma. */
  readonly headers: { readonly [name: string]: string };
  /** Who connected. */
  readonly from: string;
  /** Absent if there was none; cut after 64 KiB. */
  readonly body?: string;
}

/** How long responses may take to be sent when the server stops, in milliseconds. */
const patience = 100;
/** How much of a body is sent back. */
const bodyLimit = 65_536;

/**
 * Starts to listen. Rejects if the port cannot be bound.
 *
 * @example
 * ```ts ignore
 * await using server = await serveEcho({ port: 0, name: "web" });
 * const echo: Echo = await (await fetch(`http://127.0.0.1:${server.port}/a?b=1`)).json();
 * ```
 */
export function serveEcho(options: EchoOptions): Promise<EchoServer> {
  const sockets = new Set<WebSocket>();
  const stopping = new AbortController(), closing = new AbortController();
  const server = Deno.serve({
    hostname: options.host ?? "127.0.0.1",
    port: options.port,
    signal: closing.signal,
    onListen: () => {},
  }, async (request, { remoteAddr }) => {
    if (request.headers.get("upgrade")?.toLowerCase() === "websocket") return echoSocket(request, sockets);
    let body: string | undefined;
    try {
      body = await readBody(request, stopping.signal);
    } catch {
      // Either the client is gone, or we are about to be.
      return new Response(null, { status: 503, headers: { connection: "close" } });
    }
    const from = `${remoteAddr.hostname}:${remoteAddr.port}`;
    const echo = describe(request, `${options.name}-${server.addr.port}`, options.name, from, body);
    return new Response(`${JSON.stringify(echo, null, 2)}\n`, {
      headers: { "content-type": "application/json", "x-echo-pod": echo.pod },
    });
  });
  return Promise.resolve({
    port: server.addr.port,
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error("The server stops"));
      for (const socket of sockets) socket.close(1001, "The server stops");
      // Responses on their way get a moment. Waiting for their connections to end would be waiting for clients that
      // never finish their requests, too.
      await new Promise((resolve) => setTimeout(resolve, patience));
      closing.abort();
      await server.finished;
    },
  });
}

function describe(
  request: Request,
  pod: string,
  service: string,
  from: string,
  body: string | undefined,
): Echo {
  // Not parsed as a URL, which would resolve dot segments.
  const [, host = "", path = "/", search = ""] = /^\w+:\/\/([^/?]*)([^?]*)(?:\?(.*))?$/s.exec(request.url) ??
    [];
  const query: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(search)) (query[name] ??= []).push(value);
  return {
    service,
    pod,
    // HTTP/2 says in `:authority` what HTTP/1.1 says in a header (RFC 9113, section 8.3.1).
    protocol: request.headers.has("host") ? "HTTP/1.1" : "HTTP/2",
    method: request.method,
    host: request.headers.get("host") ?? host,
    path,
    query,
    headers: Object.fromEntries(request.headers),
    from,
    ...(body === undefined ? {} : { body }),
  };
}

/** Reads a body to its end, so that the connection can be used again, and keeps the beginning. */
async function readBody(request: Request, signal: AbortSignal): Promise<string | undefined> {
  if (!request.body) return undefined;
  const decoder = new TextDecoder();
  let text = "", left = bodyLimit;
  await request.body.pipeTo(
    new WritableStream({
      write(chunk: Uint8Array) {
        text += decoder.decode(chunk.subarray(0, left), { stream: true });
        left = Math.max(0, left - chunk.length);
      },
    }),
    { signal },
  );
  return text + decoder.decode();
}

function echoSocket(request: Request, sockets: Set<WebSocket>): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onopen = () => sockets.add(socket);
  socket.onclose = () => sockets.delete(socket);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}
