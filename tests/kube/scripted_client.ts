/**
 * An API server played by the test: it sees each request and decides what comes back, byte by byte.
 *
 * @module
 */
import type {
  JSONValue,
  KubernetesTunnel,
  RequestOptions,
  RestClient,
} from "@cloudydeno/kubernetes-apis/deps.ts";
import { z } from "zod";
import type { ApiObject, Kind } from "../../crds/kind.ts";
import { KubeError, type Status } from "../../kube/errors.ts";
import { settle } from "../support/fake_clock.ts";

/** A request that waits for its answer. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: { readonly [name: string]: string };
  readonly options: RequestOptions;
  answer(value: unknown): void;
  refuse(status: number, body?: Status): void;
  fail(error: Error): void;
  /** Agrees to a watch; what is written to it is what the client reads. */
  open(): Wire;
}

/** The server's end of a watch. */
export interface Wire {
  /** One event. */
  send(type: string, object: unknown): void;
  bytes(text: string | Uint8Array): void;
  end(): void;
  break(error: Error): void;
  /** Whether the client has gone. */
  readonly cancelled: boolean;
}

/** Hands the requests to the test, one after the other. */
export class ScriptedClient implements RestClient {
  readonly defaultNamespace = "default";
  readonly #asked: Asked[] = [];

  /** The next request, which must have been made by now; nothing but promises may lie before it. */
  async next(): Promise<Asked> {
    for (let turn = 0; turn < 5 && this.#asked.length === 0; turn++) await settle();
    const asked = this.#asked.shift();
    if (!asked) throw new Error("The client has asked nothing");
    return asked;
  }

  /** Requests that nobody has answered. */
  async idle(): Promise<boolean> {
    await settle();
    return this.#asked.length === 0;
  }

  performRequest(opts: RequestOptions & { expectTunnel: string[] }): Promise<KubernetesTunnel>;
  performRequest(
    opts: RequestOptions & { expectStream: true; expectJson: true },
  ): Promise<ReadableStream<JSONValue>>;
  performRequest(opts: RequestOptions & { expectStream: true }): Promise<ReadableStream<Uint8Array>>;
  performRequest(opts: RequestOptions & { expectJson: true }): Promise<JSONValue>;
  performRequest(opts: RequestOptions): Promise<Uint8Array>;
  performRequest(options: RequestOptions): Promise<never> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const signal = options.abortSignal;
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal?.aborted) reject(signal.reason);
    this.#asked.push({
      method: options.method,
      path: options.path,
      query: Object.fromEntries(options.querystring ?? []),
      options: {
        ...options,
        ...(options.querystring ? { querystring: new URLSearchParams(options.querystring) } : {}),
      },
      answer: resolve,
      refuse: (status, body = {}) => reject(new KubeError(`${options.method} ${options.path}`, status, body)),
      fail: reject,
      open: () => {
        const [stream, wire] = openWire();
        resolve(stream);
        return wire;
      },
    });
    return promise as Promise<never>;
  }

  [Symbol.dispose](): void {}
}

/** A stream that ignores the signal of its request, as a connection to a dead peer does. */
function openWire(): [ReadableStream<Uint8Array>, Wire] {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start: (c) => {
      controller = c;
    },
    cancel: () => {
      cancelled = true;
    },
  });
  const bytes = (text: string | Uint8Array) =>
    controller?.enqueue(typeof text === "string" ? encoder.encode(text) : text);
  return [stream, {
    send: (type, object) => bytes(JSON.stringify({ type, object }) + "\n"),
    bytes,
    end: () => controller?.close(),
    break: (error) => controller?.error(error),
    get cancelled() {
      return cancelled;
    },
  }];
}

/** A kind to try things on. */
export const widgets: Kind = {
  group: "example.com",
  kind: "Widget",
  listKind: "WidgetList",
  plural: "widgets",
  singular: "widget",
  shortNames: [],
  categories: [],
  namespaced: true,
  hasStatus: true,
  versions: [{ name: "v1", channel: "standard", storage: true, schema: z.any(), columns: [] }],
};

/** A widget as the server sends it. */
export function widget(name: string, resourceVersion: string | number, more: object = {}): ApiObject {
  return {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: String(resourceVersion) },
    ...more,
  };
}

/** A page of a list. */
export function page(
  resourceVersion: string | number,
  items: readonly unknown[],
  next?: string,
): Record<string, unknown> {
  return {
    kind: "WidgetList",
    apiVersion: "example.com/v1",
    metadata: { resourceVersion: String(resourceVersion), ...(next ? { continue: next } : {}) },
    items,
  };
}
