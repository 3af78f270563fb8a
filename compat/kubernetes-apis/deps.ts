/**
 * The contract between the API classes and the client that sends their requests.
 *
 * @module
 */
export { WatchEventTransformer } from "./watch_events.ts";

export type HttpMethods = "GET" | "POST" | "DELETE" | "PUT" | "PATCH" | "OPTIONS" | "HEAD";

/** One request to an API server, and what kind of answer is wanted. */
export interface RequestOptions {
  method: HttpMethods;
  /** Absolute, without query. */
  path: string;
  querystring?: URLSearchParams;
  abortSignal?: AbortSignal;

  contentType?: string;
  /** At most one of the three bodies. */
  bodyRaw?: Uint8Array;
  bodyJson?: JSONValue;
  bodyStream?: ReadableStream<Uint8Array>;

  accept?: string;
  /** Subprotocols of a tunnel. */
  expectTunnel?: string[];
  /** The answer as it comes: bytes, or values one a line with `expectJson`. */
  expectStream?: boolean;
  expectJson?: boolean;
}

/** Several streams over one connection, as for `kubectl exec` and port forwarding. */
export interface KubernetesTunnel extends Disposable {
  readonly transportProtocol: "SPDY" | "WebSocket" | "Opaque";
  readonly subProtocol: string;
  getReadableStream(ids: {
    index?: number;
    spdyHeaders?: Record<string, string | number>;
  }): ReadableStream<Uint8Array>;
  getWritableStream(ids: {
    index?: number;
    spdyHeaders?: Record<string, string | number>;
  }): WritableStream<Uint8Array>;
  /** To be called once the first channels are made. */
  whenReady(): Promise<void>;
  close(): Promise<void>;
}

/** What sends the requests of the API classes. */
export interface RestClient extends Disposable {
  performRequest(opts: RequestOptions & { expectTunnel: string[] }): Promise<KubernetesTunnel>;
  performRequest(
    opts: RequestOptions & { expectStream: true; expectJson: true },
  ): Promise<ReadableStream<JSONValue>>;
  performRequest(opts: RequestOptions & { expectStream: true }): Promise<ReadableStream<Uint8Array>>;
  performRequest(opts: RequestOptions & { expectJson: true }): Promise<JSONValue>;
  performRequest(opts: RequestOptions): Promise<Uint8Array>;
  defaultNamespace?: string;
  close?(): void;
}

export type JSONPrimitive = string | number | boolean | null | undefined;
export type JSONValue = JSONPrimitive | JSONObject | JSONArray;
export type JSONObject = { [key: string]: JSONValue };
export type JSONArray = JSONValue[];

/** The fields that an object from the server surely has. */
export type ApiKind = {
  apiVersion: string;
  kind: string;
};

/** One line of a watch: `T` is an object, `U` an error. */
export type WatchEvent<T, U> = WatchEventObject<T> | WatchEventError<U> | WatchEventBookmark;
export type WatchEventObject<T> = {
  "type": "ADDED" | "MODIFIED" | "DELETED";
  "object": T;
};
export type WatchEventError<U> = {
  "type": "ERROR";
  "object": U;
};
export type WatchEventBookmark = {
  "type": "BOOKMARK";
  "object": { metadata: { resourceVersion: string } };
};
