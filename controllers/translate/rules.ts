/**
 * From the rules of a route to what proxies do, with backends resolved. The same for every Gateway.
 *
 * @module
 */
import type { BackendObjectReference } from "../../crds/mod.ts";
import type { Mirror, Route, RouteAction, RouteMatch, Session, WeightedBackend } from "../ir/mod.ts";
import type { Read } from "../runtime/graph.ts";
import { kept } from "../runtime/kept.ts";
import { failure, forwardTo, isReachable, type Manner, redirectTo, rewriteOf } from "./actions.ts";
import { type BackendTables, type ClusterSpec, resolveBackend, retriedByRoutes } from "./backends.ts";
import { bug, type Fault } from "./conditions.ts";
import type { Effects } from "./filters.ts";
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
  const needs = { routeKind: route.kind, namespace: route.namespace, transport: description.transport };
  const unresolved: Fault[] = [];
  const find: Find = (ref, where) => {
    const backend = resolveBackend(ref, needs, read, tables);
    const fault = "reason" in backend ? backend : backend.cut;
    if (fault) unresolved.push({ reason: fault.reason, message: `${where}: ${fault.message}` });
    return "reason" in backend ? undefined : backend;
  };
  const rules = route.rules.map((rule) => {
    unresolved.push(...unknownExtensions(rule));
    return resolveRule(route, rule, find);
  });
  return { rules, unresolved };
}

/** Finds the cluster of a reference in a field, or notes why there is none. */
type Find = (ref: BackendObjectReference, where: string) => ClusterSpec | undefined;

function resolveRule(route: RouteModel, rule: RuleModel, find: Find): ResolvedRule {
  const clusters = new Map<string, ClusterSpec>();
  const where = `spec.rules[${rule.index}]`;
  const rewrites = new Map<WeightedBackend, NonNullable<Effects["rewrite"]>>();
  const backends = kept(rule.backends.flatMap(({ ref, weight, effects }, i): WeightedBackend[] => {
    const cluster = find(ref, `${where}.backendRefs[${i}]`);
    if (weight <= 0) return [];
    const { requestHeaders, responseHeaders, rewrite, extensions } = effects;
    const usable = extensions || !cluster ? undefined : rule.retry ? retriedByRoutes(cluster) : cluster;
    if (usable) clusters.set(usable.name, usable);
    const backend: WeightedBackend = {
      weight,
      target: usable ? { cluster: usable.name } : { status: 500 },
      ...requestHeaders && { requestHeaders },
      ...responseHeaders && { responseHeaders },
      ...rule.session && { session: sessionWith(rule.session, ref, rule, route) },
    };
    if (rewrite) rewrites.set(backend, rewrite);
    return [backend];
  }));
  const mirrors = (rule.effects.mirrors ?? []).flatMap(({ ref, share, where }): Mirror[] => {
    const cluster = find(ref, where);
    if (cluster === undefined || share.numerator === 0) return [];
    clusters.set(cluster.name, cluster);
    return [{ cluster: cluster.name, share }];
  });
  const { index, faults } = rule;
  if (faults.length > 0) return { index, entries: standIns(route, rule), clusters: [], faults };
  const { redirect, rewrite, requestHeaders, responseHeaders, extensions, cors } = rule.effects;
  const manner: Manner = {
    ...rule.timeouts && { timeouts: rule.timeouts },
    ...rule.retry && { retry: rule.retry },
    ...mirrors.length > 0 && { mirrors },
    ...cors && { cors },
  };
  const actionFor = (match: RouteMatch): RouteAction => {
    if (extensions) return failure;
    if (redirect) return redirectTo(redirect, match);
    const rewritten = rewrites.size === 0 ? backends : backends.map((backend) => {
      const own = rewrites.get(backend);
      return own ? { ...backend, rewrite: rewriteOf(own, match) } : backend;
    });
    return forwardTo(rewritten, { ...rewrite && { rewrite: rewriteOf(rewrite, match) }, ...manner });
  };
  const entries = rule.matches.flatMap(({ match }, i): Entry[] => {
    if (match === undefined) return [];
    const made: Route = {
      name: entryName(route, rule, i),
      origin: originOf(route),
      match,
      ...requestHeaders && { requestHeaders },
      ...responseHeaders && { responseHeaders },
      action: actionFor(match),
    };
    return [{ route: made, rank: rankOf(match, route, rule.index, i, false) }];
  });
  const forwards = !extensions && !redirect && isReachable(backends);
  return { index, entries: kept(entries), clusters: forwards ? [...clusters.values()] : [], faults: [] };
}

/**
 * The session of a rule with one of its backends. The first one has the name of the rule's own, so that a second one which is
 * added takes no session from the clients.
 */
function sessionWith(
  session: Session,
  ref: BackendObjectReference,
  { backends: [first] }: RuleModel,
  route: RouteModel,
): Session {
  const keyOf = ({ namespace = route.namespace, name, port }: BackendObjectReference) =>
    `${namespace}/${name}/${port}`;
  const backend = keyOf(ref);
  return first && keyOf(first.ref) === backend ? session : { ...session, backend };
}

/** References to filters of kinds that nobody knows: they are never skipped, requests are answered with 500. */
function unknownExtensions({ effects, backends }: RuleModel): readonly Fault[] {
  return [effects, ...backends.map(({ effects }) => effects)].flatMap(({ extensions = [] }) =>
    extensions.map(({ ref: { group, kind, name }, where }): Fault => ({
      reason: "InvalidKind",
      message: `${where}: Cannot resolve filter "${name}": kind ${group}/${kind} is not supported, remove it`,
    }))
  );
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

/** Names an entry, for logs too: where a rule has a name, it comes last. */
function entryName({ kind, key }: RouteModel, { index, name }: RuleModel, match: number): string {
  const entry = `${kind.toLowerCase()}/${key}/rule/${index}/match/${match}`;
  return name === undefined ? entry : `${entry}/${name}`;
}

/** 500s in place of a rule that cannot be programmed, for those of its matches that can be tried. */
function standIns(route: RouteModel, rule: RuleModel): readonly Entry[] {
  return rule.matches.flatMap(({ match }, i): Entry[] => {
    if (match === undefined) return [];
    const made = {
      name: entryName(route, rule, i),
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
