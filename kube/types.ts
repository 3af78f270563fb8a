/**
 * What the rest of Gatehouse asks of a Kubernetes API server.
 *
 * `RestClient` is the contract of `@cloudydeno/kubernetes-apis`, so its API classes work on a {@linkcode Kube} too.
 *
 * @module
 */
import type { RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import type { ApiObject, Kind } from "../crds/kind.ts";

/** One operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

export interface Name {
  readonly namespace?: string;
  readonly name: string;
}

/** An object to be made: whatever its kind, without what the API server adds. */
export type Draft = ApiObject | ApiObject & { readonly [field: string]: unknown };

export interface PatchOptions {
  readonly subresource?: "status";
  /** The version of the kind to speak; by default the one that the client would. */
  readonly version?: string;
  readonly signal?: AbortSignal;
}

/**
 * A client of one API server. All methods reject with {@linkcode KubeError} for an answer that is not a success, and
 * with the abort reason once `signal` is aborted.
 */
export interface Kube extends RestClient {
  get<T extends ApiObject>(kind: Kind<T>, name: Name, signal?: AbortSignal): Promise<T>;
  /** What `object` leaves out is for the API server's defaults. */
  create<T extends ApiObject>(kind: Kind<T>, object: Draft, signal?: AbortSignal): Promise<T>;
  /** Server-side apply of just the fields in `object`. */
  apply<T extends ApiObject>(
    kind: Kind<T>,
    object: T,
    options: { readonly fieldManager: string; readonly force?: boolean; readonly signal?: AbortSignal },
  ): Promise<T>;
  patch<T extends ApiObject>(
    kind: Kind<T>,
    name: Name,
    operations: readonly PatchOperation[],
    options?: PatchOptions,
  ): Promise<T>;
  delete(
    kind: Kind,
    name: Name,
    options?: {
      readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
      readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
      readonly signal?: AbortSignal;
    },
  ): Promise<void>;
}

/** What a watch tells: first and after every relist everything, in between single changes. */
export type WatchEvent<T> =
  | { readonly type: "replace"; readonly objects: readonly T[] }
  | { readonly type: "set"; readonly object: T }
  | { readonly type: "delete"; readonly object: T };
