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

/** The methods that read all objects of a kind named `N`, wherever they are. */
export type AllNamespacesMethods<N extends string, T, L> =
  & { [M in `get${N}ListForAllNamespaces`]: (opts?: operations.GetListOpts) => Promise<L> }
  & {
    [M in `watch${N}ListForAllNamespaces`]: (
      opts?: operations.WatchListOpts,
    ) => Promise<WatchEventStream<T>>;
  };

/** The methods for lists of a kind named `N`. */
export type ListMethods<N extends string, T, L> =
  & { [M in `get${N}List`]: (opts?: operations.GetListOpts) => Promise<L> }
  & { [M in `watch${N}List`]: (opts?: operations.WatchListOpts) => Promise<WatchEventStream<T>> };

/** The method that deletes many objects, which some kinds lack. */
export type DeleteListMethods<N extends string, L> = {
  [M in `delete${N}List`]: (opts?: operations.DeleteListOpts) => Promise<L>;
};

/** The methods for single objects of a kind named `N`. */
export type ObjectMethods<N extends string, T> =
  & { [M in `create${N}`]: (body: T, opts?: operations.PutOpts) => Promise<T> }
  & { [M in `get${N}`]: (name: string, opts?: operations.NoOpts) => Promise<T> }
  & { [M in `delete${N}`]: (name: string, opts?: operations.DeleteOpts) => Promise<T | Status> }
  & WriteMethods<N, T>;

type WriteMethods<N extends string, T> =
  & { [M in `replace${N}`]: (name: string, body: T, opts?: operations.PutOpts) => Promise<T> }
  & {
    [M in `patch${N}`]: (
      name: string,
      type: PatchType,
      body: T | JsonPatch,
      opts?: operations.PatchOpts,
    ) => Promise<T>;
  };

/** The methods for the status of objects of a kind named `N`. */
export type StatusMethods<N extends string, T> =
  & { [M in `get${N}Status`]: (name: string, opts?: operations.NoOpts) => Promise<T> }
  & WriteMethods<`${N}Status`, T>;

type Method = (...args: never[]) => unknown;

/** Gives `api` methods. Their types are those of the interface that it is merged with. */
function define(api: object, methods: { readonly [name: string]: Method }): void {
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(api, name, { value });
}

export function defineAllNamespaces<T, L>(api: object, name: string, all: Resource<T, L>): void {
  define(api, {
    [`get${name}ListForAllNamespaces`]: (opts?: operations.GetListOpts) => all.list(opts),
    [`watch${name}ListForAllNamespaces`]: (opts?: operations.WatchListOpts) => all.watch(opts),
  });
}

export function defineLists<T, L>(api: object, name: string, all: Resource<T, L>): void {
  define(api, {
    [`get${name}List`]: (opts?: operations.GetListOpts) => all.list(opts),
    [`watch${name}List`]: (opts?: operations.WatchListOpts) => all.watch(opts),
  });
}

export function defineDeleteList<T, L>(api: object, name: string, all: Resource<T, L>): void {
  define(api, { [`delete${name}List`]: (opts?: operations.DeleteListOpts) => all.deleteList(opts) });
}

export function defineObjects<T, L>(api: object, name: string, all: Resource<T, L>): void {
  define(api, {
    [`create${name}`]: (body: T, opts?: operations.PutOpts) => all.create(body, opts),
    [`get${name}`]: (object: string, opts?: operations.NoOpts) => all.get(object, opts),
    [`delete${name}`]: (object: string, opts?: operations.DeleteOpts) => all.delete(object, opts),
    ...writers(name, all, (object) => object),
  });
}

export function defineStatus<T, L>(api: object, name: string, all: Resource<T, L>): void {
  const statusOf = (object: string) => `${object}/status`;
  define(api, {
    [`get${name}Status`]: (object: string, opts?: operations.NoOpts) => all.get(statusOf(object), opts),
    ...writers(`${name}Status`, all, statusOf),
  });
}

function writers<T, L>(
  name: string,
  all: Resource<T, L>,
  at: (object: string) => string,
): { readonly [name: string]: Method } {
  return {
    [`replace${name}`]: (object: string, body: T, opts?: operations.PutOpts) =>
      all.replace(at(object), body, opts),
    [`patch${name}`]: (
      object: string,
      type: PatchType,
      body: T | JsonPatch,
      opts?: operations.PatchOpts,
    ) => all.patch(at(object), type, body, opts),
  };
}

/** What most namespaced kinds have. */
export type NamespacedMethods<N extends string, T, L> =
  & ListMethods<N, T, L>
  & DeleteListMethods<N, L>
  & ObjectMethods<N, T>;

export function defineNamespaced<T, L>(api: object, name: string, all: Resource<T, L>): void {
  defineLists(api, name, all);
  defineDeleteList(api, name, all);
  defineObjects(api, name, all);
}
