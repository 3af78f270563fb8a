/**
 * The options of the API classes' methods, and how they are said in a query.
 *
 * @module
 */

export interface NoOpts {
  abortSignal?: AbortSignal;
}

export interface GetListOpts {
  continue?: string;
  fieldSelector?: string;
  labelSelector?: string;
  limit?: number;
  resourceVersion?: string;
  resourceVersionMatch?: "Exact" | "NotOlderThan";
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
  abortSignal?: AbortSignal;
}

export interface WatchListOpts {
  allowWatchBookmarks?: boolean;
  fieldSelector?: string;
  labelSelector?: string;
  resourceVersion?: string;
  resourceVersionMatch?: "Exact" | "NotOlderThan";
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
  abortSignal?: AbortSignal;
}

export interface PutOpts {
  dryRun?: string;
  fieldManager?: string;
  fieldValidation?: string;
  abortSignal?: AbortSignal;
}

export interface PatchOpts extends PutOpts {
  force?: boolean;
}

export interface DeleteOpts {
  dryRun?: string;
  gracePeriodSeconds?: number;
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
  orphanDependents?: boolean;
  propagationPolicy?: string;
  abortSignal?: AbortSignal;
}

export interface DeleteListOpts extends DeleteOpts {
  continue?: string;
  fieldSelector?: string;
  labelSelector?: string;
  limit?: number;
  resourceVersion?: string;
  resourceVersionMatch?: "Exact" | "NotOlderThan";
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
}

type Options = { readonly [name: string]: unknown };

/** Writes the options in alphabetical order; flags are `1` and `0`. */
function format(opts: object, query = new URLSearchParams()): URLSearchParams {
  const given = opts as Options;
  for (const name of Object.keys(given).sort()) {
    const value = given[name];
    if (value == null || name === "abortSignal") continue;
    query.append(name, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return query;
}

export function formatGetListOpts(opts: GetListOpts): URLSearchParams {
  return format(opts);
}

export function formatWatchListOpts(opts: WatchListOpts): URLSearchParams {
  return format(opts, new URLSearchParams({ watch: "1" }));
}

export function formatPutOpts(opts: PutOpts): URLSearchParams {
  return format(opts);
}

export function formatPatchOpts(opts: PatchOpts): URLSearchParams {
  return format(opts);
}

export function formatDeleteOpts(opts: DeleteOpts): URLSearchParams {
  return format(opts);
}

export function formatDeleteListOpts(opts: DeleteListOpts): URLSearchParams {
  return format(opts);
}
