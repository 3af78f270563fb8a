/**
 * A gRPC client of a few lines that can do wrong.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import * as http2 from "node:http2";
import { destroyLater } from "../../../controllers/runtime/destroy_later.ts";
import type { KeyPair } from "../../../controllers/runtime/pki.ts";
import { readMessages } from "../../../xds/grpc/frames.ts";
import { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from "../../../xds/wire/envoy/discovery.ts";
import { decode, encode } from "../../../xds/wire/mod.ts";

const method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

export interface ClientTls {
  readonly authority: string;
  readonly serverName: string;
  /** This machine if absent. */
  readonly host?: string;
  readonly certificate?: KeyPair | undefined;
}

/** A connection. */
export class Client implements Disposable {
  readonly session: http2.ClientHttp2Session;
  /** What went wrong with it, if anything did. */
  error: Error | undefined;

  constructor(port: number, { authority, serverName, host = "127.0.0.1", certificate }: ClientTls) {
    this.session = http2.connect(`https://${host}:${port}`, {
      ca: authority,
      servername: serverName,
      ...(certificate ? { cert: certificate.certificate, key: certificate.key } : {}),
    });
    destroyLater(this.session);
    this.session.on("error", (error) => this.error = error);
  }

  call(path = method, headers: http2.OutgoingHttpHeaders = {}): Call {
    return new Call(this.session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    }));
  }

  [Symbol.dispose](): void {
    this.session.destroy();
  }
}

/** One call. */
export class Call {
  readonly stream: http2.ClientHttp2Stream;
  readonly responses: AsyncGenerator<DeltaDiscoveryResponse, void>;
  /** The call's status and message, once it has ended. */
  readonly status: Promise<{ readonly code: string | undefined; readonly message: string | undefined }>;

  constructor(stream: http2.ClientHttp2Stream) {
    this.stream = stream;
    this.responses = responsesOf(stream);
    const { promise, resolve } = Promise.withResolvers<
      { code: string | undefined; message: string | undefined }
    >();
    this.status = promise;
    let found: http2.IncomingHttpHeaders = {};
    const take = (headers: http2.IncomingHttpHeaders) => found = { ...found, ...headers };
    stream.on("response", take);
    stream.on("trailers", take);
    stream.on("error", () => {});
    stream.on("close", () => {
      const text = (name: string) =>
        found[name] === undefined ? undefined : decodeURIComponent(String(found[name]));
      resolve({ code: text("grpc-status"), message: text("grpc-message") });
    });
  }

  send(request: DeltaDiscoveryRequest): void {
    this.sendRaw(frame(encode(DeltaDiscoveryRequest, request)));
  }

  sendRaw(bytes: Uint8Array): void {
    this.stream.write(Buffer.from(bytes));
  }

  async next(): Promise<DeltaDiscoveryResponse | undefined> {
    const { value } = await this.responses.next();
    return value ?? undefined;
  }

  /** Reads and throws away whatever comes, so that the call can end. */
  drain(): void {
    this.stream.resume();
  }
}

export function frame(message: Uint8Array, compressed = 0): Uint8Array {
  const framed = new Uint8Array(5 + message.length);
  framed[0] = compressed;
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, 5);
  return framed;
}

async function* responsesOf(stream: http2.ClientHttp2Stream): AsyncGenerator<DeltaDiscoveryResponse, void> {
  for await (const message of readMessages(stream, 1 << 30)) yield decode(DeltaDiscoveryResponse, message);
}
