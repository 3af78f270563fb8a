/**
 * The requests that every kind of object has in common.
 *
 * @module
 */
import { getPatchContentType, type JsonPatch, type PatchType, type WatchEventStream } from "./common.ts";
import {
  type ApiKind,
  type JSONObject,
  type JSONValue,
  type RestClient,
  WatchEventTransformer,
} from "./deps.ts";
import { isStatusKind, type KindCodec, type Status, toStatus } from "./meta.ts";
import * as operations from "./operations.ts";

function until(opts: operations.NoOpts): { abortSignal?: AbortSignal } {
  return opts.abortSignal ? { abortSignal: opts.abortSignal } : {};
}

/** All objects of one kind, in one namespace or everywhere. */
export class Resource<T, L> {
  readonly #client: RestClient;
  readonly #path: string;
  readonly #codec: KindCodec<T>;
  readonly #toList: (input: JSONValue) => L & ApiKind;

  constructor(
    client: RestClient,
    path: string,
    codec: KindCodec<T>,
    toList: (input: JSONValue) => L & ApiKind,
  ) {
    this.#client = client;
    this.#path = path;
    this.#codec = codec;
    this.#toList = toList;
  }

  async list(opts: operations.GetListOpts = {}): Promise<L> {
    return this.#toList(
      await this.#client.performRequest({
        method: "GET",
        path: this.#path,
        expectJson: true,
        querystring: operations.formatGetListOpts(opts),
        ...until(opts),
      }),
    );
  }

  async watch(opts: operations.WatchListOpts = {}): Promise<WatchEventStream<T>> {
    const lines = await this.#client.performRequest({
      method: "GET",
      path: this.#path,
      expectJson: true,
      expectStream: true,
      querystring: operations.formatWatchListOpts(opts),
      ...until(opts),
    }) as ReadableStream<JSONObject>;
    return lines.pipeThrough(new WatchEventTransformer(this.#codec.to, toStatus));
  }

  async create(body: T, opts: operations.PutOpts = {}): Promise<T> {
    return this.#codec.to(
      await this.#client.performRequest({
        method: "POST",
        path: this.#path,
        expectJson: true,
        querystring: operations.formatPutOpts(opts),
        bodyJson: this.#codec.from(body),
        ...until(opts),
      }),
    );
  }

  async deleteList(opts: operations.DeleteListOpts = {}): Promise<L> {
    return this.#toList(
      await this.#client.performRequest({
        method: "DELETE",
        path: this.#path,
        expectJson: true,
        querystring: operations.formatDeleteListOpts(opts),
        ...until(opts),
      }),
    );
  }

  async get(name: string, opts: operations.NoOpts = {}): Promise<T> {
    return this.#codec.to(
      await this.#client.performRequest({
        method: "GET",
        path: `${this.#path}/${name}`,
        expectJson: true,
        ...until(opts),
      }),
    );
  }

  async delete(name: string, opts: operations.DeleteOpts = {}): Promise<T | Status> {
    const answer = await this.#client.performRequest({
      method: "DELETE",
      path: `${this.#path}/${name}`,
      expectJson: true,
      querystring: operations.formatDeleteOpts(opts),
      ...until(opts),
    });
    return isStatusKind(answer) ? toStatus(answer) : this.#codec.to(answer);
  }

  async replace(name: string, body: T, opts: operations.PutOpts = {}): Promise<T> {
    return this.#codec.to(
      await this.#client.performRequest({
        method: "PUT",
        path: `${this.#path}/${name}`,
        expectJson: true,
        querystring: operations.formatPutOpts(opts),
        bodyJson: this.#codec.from(body),
        ...until(opts),
      }),
    );
  }

  async patch(
    name: string,
    type: PatchType,
    body: T | JsonPatch,
    opts: operations.PatchOpts = {},
  ): Promise<T> {
    return this.#codec.to(
      await this.#client.performRequest({
        method: "PATCH",
        path: `${this.#path}/${name}`,
        expectJson: true,
        querystring: operations.formatPatchOpts(opts),
        contentType: getPatchContentType(type),
        bodyJson: Array.isArray(body) ? body as JSONValue : this.#codec.from(body as T),
        ...until(opts),
      }),
    );
  }
}

/** The namespace that the client works in by itself. */
export function ownNamespace(client: RestClient): string {
  if (!client.defaultNamespace) throw new Error("No current namespace is set");
  return client.defaultNamespace;
}
