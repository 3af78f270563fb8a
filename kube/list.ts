/**
 * All objects of a kind, page by page.
 *
 * @module
 */
import type { JSONValue, RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import { type ApiObject, apiVersion, type Kind } from "../crds/kind.ts";
import { AnswerTooLargeError } from "./answers.ts";
import { isStatus } from "./errors.ts";
import { pathOf } from "./paths.ts";

/** Which objects of a kind. */
export interface Selection {
  /** By default the kind's storage version. */
  readonly version?: string | undefined;
  /** By default all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Asks for `apiVersion`, `kind` and `metadata` alone: for kinds whose objects are large. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ListOptions<T> extends Selection {
  /** Applied to each object on arrival, so that what nobody needs is never held. */
  readonly trim?: ((object: T) => T) | undefined;
  /** Objects on one page. */
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
}

/** Objects as they were at one moment. */
export interface Listing<T> {
  readonly resourceVersion: string;
  readonly objects: readonly T[];
}

interface Page<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

/** How often a list that outlived its snapshot is begun again in pages, before all of it is asked for at once. */
const mostRestarts = 3;

/**
 * Lists a kind, as of the latest state. A list whose snapshot expires half way (410) begins again; a page that is too large to
 * be read is asked for in smaller ones.
 *
 * @throws {KubeError} 404 if the kind is not served.
 */
export async function list<T extends ApiObject>(
  client: RestClient,
  kind: Kind<T>,
  options: ListOptions<T> = {},
): Promise<Listing<T>> {
  let limit: number | undefined = options.pageSize ?? 500;
  for (let restarts = 0;;) {
    try {
      return await listOnce(client, kind, options, limit);
    } catch (error) {
      if (isStatus(error, 410) && limit !== undefined) {
        if (++restarts > mostRestarts) limit = undefined;
      } else if (error instanceof AnswerTooLargeError && limit !== undefined && limit > 1) {
        limit = Math.ceil(limit / 5);
      } else {
        throw error;
      }
    }
  }
}

async function listOnce<T extends ApiObject>(
  client: RestClient,
  kind: Kind<T>,
  options: ListOptions<T>,
  limit: number | undefined,
): Promise<Listing<T>> {
  const { signal, trim = (object: T) => object } = options;
  const path = pathOf(kind, options);
  const querystring = queryOf(options);
  if (limit !== undefined) querystring.set("limit", String(limit));
  const objects: T[] = [];
  for (;;) {
    const page = await client.performRequest({
      method: "GET",
      path,
      querystring,
      expectJson: true,
      ...options.metadataOnly && { accept: partialMetadata("PartialObjectMetadataList") },
      ...(signal ? { abortSignal: signal } : {}),
    }) as JSONValue & Page<T>;
    for (const item of page.items ?? []) objects.push(trim(typed(item, kind, options)));
    const next = page.metadata?.continue;
    if (!next) return { resourceVersion: page.metadata?.resourceVersion ?? "", objects };
    querystring.set("continue", next);
  }
}

/** Accepts objects that are metadata alone, and whole ones of a server that knows no other. */
export function partialMetadata(as: "PartialObjectMetadata" | "PartialObjectMetadataList"): string {
  return `application/json;as=${as};g=meta.k8s.io;v=v1,application/json`;
}

/**
 * An object that says what it is: those in a list of a built-in kind do not, and those that are metadata alone say just
 * that. A server that does not know how to send metadata alone sends more, which is left out.
 */
export function typed<T extends ApiObject>(item: T, kind: Kind<T>, selection: Selection): T {
  const type = { apiVersion: apiVersion(kind, selection.version), kind: kind.kind };
  return selection.metadataOnly ? { ...type, metadata: item.metadata } as T : { ...type, ...item };
}

/** The selectors, as a list and a watch take them. */
export function queryOf({ labelSelector, fieldSelector }: Selection): URLSearchParams {
  return new URLSearchParams({
    ...(labelSelector ? { labelSelector } : {}),
    ...(fieldSelector ? { fieldSelector } : {}),
  });
}
