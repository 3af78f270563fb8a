/**
 * From the rules of a route to what proxies do, with backends resolved. The same for every Gateway.
 *
 * @module
 */
import type { Rewrite, Route, RouteAction, RouteMatch, WeightedBackend } from "../ir/mod.ts";
import type { Read } from "../runtime/graph.ts";
import { type BackendTables, type ClusterSpec, resolveBackend } from "./backends.ts";
import { bug, type Fault } from "./conditions.ts";
import { type Effects, pathChange, type Redirect } from "./filters.ts";
import { type Entry, rankOf } from "./matches.ts";
import type { RouteKind, RouteModel, RuleModel } from "./route_kind.ts";

/** One rule, ready to be put into virtual hosts. */
export interface ResolvedRule {
  readonly index: number;
  readonly entries: readonly Entry[];
  /** Every cluster that the entries name. */
  readonly clusters: readonly ClusterSpec[];
  /** Why 500s stand in for it. */
  readonly faults: readonly Fault[];
}

/** The rules of a route. Row key: `Kind/namespace/name`. */
export interface ResolvedRoute {
  readonly rules: readonly ResolvedRule[];
  /** Why references are not resolved. */
  readonly unresolved: readonly Fault[];
}

export function resolveRoute(
  route: RouteModel,
  description: RouteKind,
  read: Read,
  tables: BackendTables,
): ResolvedRoute {
  const unresolved: Fault[] = [];
  const rules = route.rules.map((rule): ResolvedRule => {
    const clusters = new Map<string, ClusterSpec>();
    const backends = rule.backends.flatMap(({ ref, weight, effects }, i): WeightedBackend[] => {
      const needs = { routeKind: route.kind, namespace: route.namespace, transport: description.transport };
      const backend = resolveBackend(ref, needs, read, tables);
      if ("reason" in backend) {
        const where = `spec.rules[${rule.index}].backendRefs[${i}]`;
        unresolved.push({ reason: backend.reason, message: `${where}: ${backend.message}` });
      }
      if (weight <= 0) return [];
      if (!("reason" in backend)) clusters.set(backend.name, backend);
      return [{
        weight,
        target: "reason" in backend ? { status: 500 } : { cluster: backend.name },
        ...effects.requestHeaders && { requestHeaders: effects.requestHeaders },
        ...effects.responseHeaders && { responseHeaders: effects.responseHeaders },
      }];
    });
    if (rule.faults.length > 0) {
      return { index: rule.index, entries: standIns(route, rule), clusters: [], faults: rule.faults };
    }
    const { redirect, rewrite, requestHeaders, responseHeaders } = rule.effects;
    const entries = rule.matches.flatMap(({ match }, i): Entry[] => {
      if (match === undefined) return [];
      const made: Route = {
        name: entryName(route, rule.index, i),
        origin: originOf(route),
        match,
        ...requestHeaders && { requestHeaders },
        ...responseHeaders && { responseHeaders },
        action: redirect ? redirectTo(redirect, match) : forwardTo(backends, {
          ...rewrite && { rewrite: rewriteOf(rewrite, match) },
          ...rule.timeouts && { timeouts: rule.timeouts },
        }),
      };
      return [{ route: made, rank: rankOf(match, route, rule.index, i, false) }];
    });
    return { index: rule.index, entries, clusters: redirect ? [] : [...clusters.values()], faults: [] };
  });
  return { rules, unresolved };
}

/** What stands for a route that could not be resolved because of a bug: 500s. */
export function unresolvableRoute(route: RouteModel, error: unknown): ResolvedRoute {
  const faults = [bug("resolve this route", error)];
  const rules = route.rules.map((rule) => ({
    index: rule.index,
    entries: standIns(route, rule),
    clusters: [],
    faults,
  }));
  return { rules, unresolved: [] };
}

/** The origin of what a route puts into proxies. */
export function originOf({ kind, key }: { readonly kind: string; readonly key: string }): string {
  return `${kind}/${key}`;
}

function entryName({ kind, key }: RouteModel, rule: number, match: number): string {
  return `${kind.toLowerCase()}/${key}/rule/${rule}/match/${match}`;
}

/** 500s in place of a rule that cannot be programmed, for those of its matches that can be tried. */
function standIns(route: RouteModel, rule: RuleModel): readonly Entry[] {
  return rule.matches.flatMap(({ match }, i): Entry[] => {
    if (match === undefined) return [];
    const made = {
      name: entryName(route, rule.index, i),
      origin: originOf(route),
      match,
      action: { kind: "respond", status: 500 },
    } as const;
    return [{ route: made, rank: rankOf(match, route, rule.index, i, true) }];
  });
}

/**
 * The 500 in place of an entry that proxies refuse, or `undefined` if there is nothing safe left to match. Which part
 * they refuse is not known, so nothing stays that takes a compiler: regular expressions go, and with that of a
 * path the whole match.
 */
export function safeStandIn({ route, rank }: Entry): Entry | undefined {
  const { path, method, headers, queryParams } = route.match;
  if (path.type === "regex") return undefined;
  const match: RouteMatch = {
    path,
    ...method !== undefined && { method },
    headers: headers.filter(({ type }) => type === "exact"),
    queryParams: queryParams.filter(({ type }) => type === "exact"),
  };
  return {
    route: { name: route.name, origin: route.origin, match, action: { kind: "respond", status: 500 } },
    rank: { ...rank, headers: -match.headers.length, queryParams: -match.queryParams.length, broken: 1 },
  };
}

/** The ports that go without saying. */
const wellKnownPorts: { readonly [scheme: string]: number } = { http: 80, https: 443 };

function redirectTo(redirect: Redirect, match: RouteMatch): RouteAction {
  const { scheme, hostname, path, status } = redirect;
  const port = redirect.port ?? (scheme === undefined ? undefined : wellKnownPorts[scheme]);
  return {
    kind: "redirect",
    ...scheme !== undefined && { scheme },
    ...hostname !== undefined && { hostname },
    ...port !== undefined && { port },
    ...path && { path: pathChange(path, match) },
    status,
  };
}

/** Traffic for nobody, be it that no backend is named or that all weights are zero, is answered with 500. */
function forwardTo(
  backends: readonly WeightedBackend[],
  how: Pick<Forward, "rewrite" | "timeouts">,
): RouteAction {
  const reachable = backends.some(({ target }) => "cluster" in target);
  return reachable ? { kind: "forward", backends, ...how } : { kind: "respond", status: 500 };
}

type Forward = Extract<RouteAction, { readonly kind: "forward" }>;

function rewriteOf({ hostname, path }: NonNullable<Effects["rewrite"]>, match: RouteMatch): Rewrite {
  return { ...hostname !== undefined && { hostname }, ...path && { path: pathChange(path, match) } };
}

/** The entry as it is on a listener: a redirect that names neither scheme nor port stays on the listener's port. */
export function entryAt(entry: Entry, port: number): Entry {
  const { action } = entry.route;
  if (action.kind !== "redirect" || action.port !== undefined) return entry;
  return { ...entry, route: { ...entry.route, action: { ...action, port } } };
}

/** The entry without the clusters that proxies refuse: their share is answered with 500. */
export function withoutClusters(entry: Entry, refused: ReadonlySet<string>): Entry {
  const { action } = entry.route;
  if (action.kind !== "forward") return entry;
  const { kind: _, backends: all, ...how } = action;
  const hit = all.some(({ target }) => "cluster" in target && refused.has(target.cluster));
  if (!hit) return entry;
  const backends = all.map((backend) =>
    "cluster" in backend.target && refused.has(backend.target.cluster)
      ? { ...backend, target: { status: 500 as const } }
      : backend
  );
  return { ...entry, route: { ...entry.route, action: forwardTo(backends, how) } };
}
