/**
 * Clients that speak TLS, for tests with a real Envoy.
 *
 * @module
 */
import * as http2 from "node:http2";
import * as tls from "node:tls";
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";

export interface Secure {
  /** Whom to ask; 127.0.0.1 if absent. */
  readonly address?: string;
  /** The name asked for (SNI); none if empty. */
  readonly servername?: string;
  /** The `Host` header, or `:authority`; the name asked for if absent. */
  readonly host?: string;
  readonly http2?: boolean;
  readonly headers?: { readonly [name: string]: string };
  readonly certificate?: { readonly certificate: string; readonly key: string };
  readonly maxVersion?: "TLSv1.2" | "TLSv1.3";
}

export interface SecureAnswer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  /** The common name of the certificate that was shown. */
  readonly shown: string;
  readonly protocol: string;
}

function connect(port: number, options: Secure, alpn: readonly string[]): Promise<tls.TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<tls.TLSSocket>();
  const { address = "127.0.0.1", servername = "www.example.com", certificate, maxVersion } = options;
  const socket = tls.connect({
    host: address,
    port,
    servername,
    rejectUnauthorized: false, // Which certificate is shown is for the tests to look at.
    ALPNProtocols: [...alpn],
    ...certificate && { cert: certificate.certificate, key: certificate.key },
    ...maxVersion && { maxVersion, minVersion: maxVersion },
  }, () => resolve(socket));
  socket.setTimeout(10_000, () => socket.destroy(new Error("No answer within 10 seconds")));
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("The connection was closed")));
  return promise;
}

function shownBy(socket: tls.TLSSocket): string {
  const { raw } = socket.getPeerCertificate(false) as { readonly raw?: Uint8Array };
  return raw ? new X509Certificate(Buffer.from(raw)).subject.replace(/^CN=/, "") : "";
}

/** Makes a connection, sends a request and reads the answer. Rejects where the handshake fails. */
export async function askSecurely(port: number, path: string, options: Secure = {}): Promise<SecureAnswer> {
  const [answer] = await askOnOne(port, [{ path, host: options.host ?? options.servername }], options);
  return answer!;
}

/** Sends several requests on one connection, one after the other. */
export async function askOnOne(
  port: number,
  requests: readonly {
    readonly path: string;
    readonly host?: string | undefined;
    /** What happens before it is sent, on the connection that is open already. */
    readonly before?: () => Promise<void>;
  }[],
  options: Secure = {},
): Promise<readonly SecureAnswer[]> {
  const socket = await connect(port, options, options.http2 ? ["h2"] : ["http/1.1"]);
  try {
    const shown = shownBy(socket), protocol = String(socket.alpnProtocol);
    const answers: SecureAnswer[] = [];
    if (!options.http2) {
      for (const [i, { path, host = "www.example.com", before }] of requests.entries()) {
        await before?.();
        const last = i === requests.length - 1;
        const answer = await overHttp1(socket, path, { host, ...options.headers }, last);
        answers.push({ ...answer, shown, protocol });
      }
      return answers;
    }
    const session = http2.connect(`https://127.0.0.1:${port}`, { createConnection: () => socket });
    try {
      for (const { path, host = "www.example.com", before } of requests) {
        await before?.();
        const answer = await overHttp2(session, { ":path": path, ":authority": host, ...options.headers });
        answers.push({ ...answer, shown, protocol });
      }
    } finally {
      session.destroy();
    }
    return answers;
  } finally {
    socket.destroy();
  }
}

type Plain = Pick<SecureAnswer, "status" | "headers" | "body">;

/** Good for answers with a length. */
function overHttp1(
  socket: tls.TLSSocket,
  path: string,
  headers: { readonly [name: string]: string },
  last: boolean,
): Promise<Plain> {
  const { promise, resolve, reject } = Promise.withResolvers<Plain>();
  let text = "";
  const data = (chunk: Uint8Array) => {
    text += new TextDecoder().decode(chunk);
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const [first = "", ...lines] = text.slice(0, end).split("\r\n");
    const fields = Object.fromEntries(lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const body = text.slice(end + 4);
    if (body.length < Number(fields["content-length"] ?? 0)) return;
    socket.off("data", data);
    resolve({ status: Number(first.split(" ")[1]), headers: fields, body });
  };
  socket.on("data", data);
  socket.once("error", reject);
  socket.once("close", () => reject(new Error(`The connection was closed: ${text}`)));
  const fields = Object.entries({ ...headers, ...last && { connection: "close" } });
  socket.write(`GET ${path} HTTP/1.1\r\n${fields.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n`);
  return promise;
}

function overHttp2(
  session: http2.ClientHttp2Session,
  headers: { readonly [name: string]: string },
): Promise<Plain> {
  const { promise, resolve, reject } = Promise.withResolvers<Plain>();
  const stream = session.request({ ":method": "GET", ":scheme": "https", ...headers });
  let body = "", answered: { readonly [name: string]: string } = {};
  stream.setEncoding("utf8");
  stream.on("response", (fields: object) => answered = fields as typeof answered);
  stream.on("data", (chunk: string) => body += chunk);
  stream.on("end", () => resolve({ status: Number(answered[":status"]), headers: answered, body }));
  stream.on("error", reject);
  session.on("error", reject);
  stream.end();
  return promise;
}

/** What a {@linkcode secureBackend} tells about a request. */
export interface SecureEcho {
  readonly backend: string;
  readonly path: string;
  readonly host: string;
  /** The name asked for (SNI). */
  readonly servername: string;
  /** The common name of the client's certificate, if it showed one. */
  readonly client: string;
  readonly protocol: string;
}

/** A server that speaks TLS, HTTP/2 too, and answers with what it was asked. It asks for a certificate and takes any. */
export async function secureBackend(
  name: string,
  pair: { readonly certificate: string; readonly key: string },
  authority: string,
): Promise<AsyncDisposable & { readonly port: number }> {
  const sessions = new Set<http2.Http2Session>(), sockets = new Set<{ destroy(): unknown }>();
  const server = http2.createSecureServer({
    cert: pair.certificate,
    key: pair.key,
    ca: authority,
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
  }, (request, response) => {
    const socket = (request.stream?.session?.socket ?? request.socket) as tls.TLSSocket;
    const echo: SecureEcho = {
      backend: name,
      path: request.url,
      host: String(request.headers[":authority"] ?? request.headers.host),
      servername: String((socket as unknown as { servername?: string }).servername ?? ""),
      client: shownBy(socket),
      protocol: request.httpVersion,
    };
    response.end(JSON.stringify(echo));
  });
  server.on("session", (session) => sessions.add(session));
  // Those too whose handshake never ends.
  server.on("connection", (socket: tls.TLSSocket) => sockets.add(socket));
  server.on("secureConnection", (socket: tls.TLSSocket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // Clients that leave are none of its business.
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    port: (server.address() as { readonly port: number }).port,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}
