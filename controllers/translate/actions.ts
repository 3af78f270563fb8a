/**
 * What is done with the requests of a rule: forwarded, redirected or answered.
 *
 * @module
 */
import type { PathChange, Rewrite, RouteAction, RouteMatch, WeightedBackend } from "../ir/mod.ts";
import type { Effects, PathModifier, Redirect } from "./filters.ts";
import type { Entry } from "./matches.ts";

export type Forward = Extract<RouteAction, { readonly kind: "forward" }>;

/** How requests are forwarded, apart from where to. */
export type Manner = Omit<Forward, "kind" | "backends">;

/** Nobody is there to answer as asked. */
export const failure = { kind: "respond", status: 500 } as const satisfies RouteAction;

/** The ports that go without saying. */
const wellKnownPorts: { readonly [scheme: string]: number } = { http: 80, https: 443 };

export function redirectTo(redirect: Redirect, match: RouteMatch): RouteAction {
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

/**
 * Traffic for nobody, be it that no backend is named or that all weights are zero, is answered with 500. Which pages may ask is
 * for no backend to say, and they may see that.
 */
export function forwardTo(backends: readonly WeightedBackend[], manner: Manner): RouteAction {
  if (isReachable(backends)) return { kind: "forward", backends, ...manner };
  return manner.cors ? { ...failure, cors: manner.cors } : failure;
}

/** Whether any backend is there to answer. */
export function isReachable(backends: readonly WeightedBackend[]): boolean {
  return backends.some(({ target }) => "cluster" in target);
}

export function rewriteOf({ hostname, path }: NonNullable<Effects["rewrite"]>, match: RouteMatch): Rewrite {
  return { ...hostname !== undefined && { hostname }, ...path && { path: pathChange(path, match) } };
}

/** What a path modifier does to requests of one match. */
function pathChange(path: PathModifier, match: RouteMatch): PathChange {
  return path.type === "full"
    ? { type: "full", value: path.value }
    : { type: "prefix", matched: match.path.value, value: path.value };
}

/** The entry as it is on a listener: a redirect that names neither scheme nor port stays on the listener's port. */
export function entryAt(entry: Entry, port: number): Entry {
  const { action } = entry.route;
  if (action.kind !== "redirect" || action.port !== undefined) return entry;
  return { ...entry, route: { ...entry.route, action: { ...action, port } } };
}

/** The entry without the clusters that proxies refuse: their share is answered with 500, copies are left out. */
export function withoutClusters(entry: Entry, refused: ReadonlySet<string>): Entry {
  const { action } = entry.route;
  if (action.kind !== "forward") return entry;
  const { kind: _, backends, mirrors = [], ...manner } = action;
  const kept = mirrors.filter(({ cluster }) => !refused.has(cluster));
  const hit = kept.length < mirrors.length ||
    backends.some(({ target }) => "cluster" in target && refused.has(target.cluster));
  if (!hit) return entry;
  const left = backends.map((backend) =>
    "cluster" in backend.target && refused.has(backend.target.cluster)
      ? { ...backend, target: { status: 500 as const } }
      : backend
  );
  const instead = forwardTo(left, { ...manner, ...kept.length > 0 && { mirrors: kept } });
  return { ...entry, route: { ...entry.route, action: instead } };
}
