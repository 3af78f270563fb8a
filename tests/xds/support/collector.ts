/**
 * A collector of spans: OTLP over gRPC, as far as a test needs it.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { readMessages } from "../../../xds/grpc/frames.ts";
import { bytes, decode, field, message, repeated, string } from "../../../xds/wire/mod.ts";
import { frame } from "./grpc_client.ts";

const proto = "opentelemetry.proto";
const AnyValue = message(`${proto}.common.v1.AnyValue`, { string_value: field(1, string) });
const KeyValue = message(`${proto}.common.v1.KeyValue`, { key: field(1, string), value: field(2, AnyValue) });
const Resource = message(`${proto}.resource.v1.Resource`, { attributes: repeated(1, KeyValue) });
const SpanMessage = message(`${proto}.trace.v1.Span`, {
  trace_id: field(1, bytes),
  span_id: field(2, bytes),
  parent_span_id: field(4, bytes),
  name: field(5, string),
  attributes: repeated(9, KeyValue),
});
const ScopeSpans = message(`${proto}.trace.v1.ScopeSpans`, { spans: repeated(2, SpanMessage) });
const ResourceSpans = message(`${proto}.trace.v1.ResourceSpans`, {
  resource: field(1, Resource),
  scope_spans: repeated(2, ScopeSpans),
});
const Export = message(`${proto}.collector.trace.v1.ExportTraceServiceRequest`, {
  resource_spans: repeated(1, ResourceSpans),
});

/** One span, with the attributes that are texts. */
export interface Span {
  /** In hexadecimal digits. */
  readonly trace: string;
  readonly id: string;
  /** Empty if there is none. */
  readonly parent: string;
  readonly service: string | undefined;
  readonly attributes: { readonly [name: string]: string | undefined };
}

type Pairs = readonly { readonly key?: string; readonly value?: { readonly string_value?: string } }[];

const texts = (pairs: Pairs = []): Span["attributes"] =>
  Object.fromEntries(pairs.map(({ key = "", value }) => [key, value?.string_value]));

const hex = (data: Uint8Array = new Uint8Array()): string =>
  [...data].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function spansIn(request: Uint8Array): readonly Span[] {
  return (decode(Export, request).resource_spans ?? []).flatMap(({ resource, scope_spans = [] }) =>
    scope_spans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        trace: hex(span.trace_id),
        id: hex(span.span_id),
        parent: hex(span.parent_span_id),
        service: texts(resource?.attributes)["service.name"],
        attributes: texts(span.attributes),
      }))
    )
  );
}

/** A collector on a port of its own. */
export class Collector implements AsyncDisposable {
  readonly spans: Span[] = [];
  readonly #server = http2.createServer();
  readonly #sessions = new Set<http2.ServerHttp2Session>();
  #arrived = Promise.withResolvers<void>();

  static async start(): Promise<Collector> {
    const collector = new Collector(), { promise, resolve } = Promise.withResolvers<void>();
    collector.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    return collector;
  }

  private constructor() {
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
    });
    this.#server.on("stream", (stream: http2.ServerHttp2Stream) => {
      this.#take(stream).catch((error) => this.#arrived.reject(error));
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async #take(stream: http2.ServerHttp2Stream): Promise<void> {
    for await (const request of readMessages(stream, 1 << 24)) this.spans.push(...spansIn(request));
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.from(frame(new Uint8Array())));
    this.#arrived.resolve();
  }

  /** The first span that `is` the one, which may take some seconds to come. */
  async span(is: (span: Span) => boolean): Promise<Span> {
    const late = setTimeout(() => this.#arrived.reject(new Error("No such span within 20 seconds")), 20_000);
    try {
      for (;;) {
        const found = this.spans.find(is);
        if (found) return found;
        await this.#arrived.promise;
        this.#arrived = Promise.withResolvers();
      }
    } finally {
      clearTimeout(late);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }
}
