/**
 * The order in which the matches of routes are tried.
 *
 * @module
 */
import type { Route, RouteMatch } from "../ir/mod.ts";

/** One entry of a virtual host, with what decides its place among others with the same hostname. */
export interface Entry {
  readonly route: Route;
  readonly rank: Rank;
}

/** Compared field by field, in this order; smaller goes first. */
export interface Rank {
  /** Exact paths before regular expressions before prefixes. */
  readonly pathType: number;
  readonly pathLength: number;
  readonly method: number;
  readonly headers: number;
  readonly queryParams: number;
  /** A stand-in for a rule that cannot be served yields to rules that can. */
  readonly broken: number;
  /** RFC 3339, which sorts as text. */
  readonly created: string;
  /** `namespace/name` of the route. */
  readonly key: string;
  readonly rule: number;
  readonly match: number;
}

const pathTypes = { exact: 0, regex: 1, prefix: 2 } as const;

export function rankOf(
  match: RouteMatch,
  route: { readonly created: string; readonly key: string },
  rule: number,
  index: number,
  broken: boolean,
): Rank {
  return {
    pathType: pathTypes[match.path.type],
    pathLength: -match.path.value.length,
    method: match.method === undefined ? 1 : 0,
    headers: -match.headers.length,
    queryParams: -match.queryParams.length,
    broken: broken ? 1 : 0,
    created: route.created,
    key: route.key,
    rule,
    match: index,
  };
}

/** Precedence among matches of one hostname, as HTTPRoute's `matches` field defines it. */
export function compare({ rank: a }: Entry, { rank: b }: Entry): number {
  return a.pathType - b.pathType ||
    a.pathLength - b.pathLength ||
    a.method - b.method ||
    a.headers - b.headers ||
    a.queryParams - b.queryParams ||
    a.broken - b.broken ||
    byText(a.created, b.created) ||
    byText(a.key, b.key) ||
    a.rule - b.rule ||
    a.match - b.match;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether nothing gets past a match. */
export function matchesAll({ path, method, headers, queryParams }: RouteMatch): boolean {
  return path.type === "prefix" && path.value === "/" && method === undefined && headers.length === 0 &&
    queryParams.length === 0;
}
