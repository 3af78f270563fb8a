/**
 * Routes: one match and what to do with it.
 *
 * @module
 */
import type { PathChange, Route, RouteAction, WeightedBackend } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/route.ts";
import { apportion } from "./apportion.ts";
import { corsConfig, type FilterConfigs } from "./cors.ts";
import { millionths } from "./fraction.ts";
import { headerFields, hostChange, inTurn } from "./headers.ts";
import { filterNames } from "./http_filters.ts";
import { buildMatch, onlyWith } from "./match.ts";
import { buildMirror } from "./mirror.ts";
import { buildPreflights } from "./preflight.ts";
import { buildRedirect, type Place, prefixChange } from "./redirect.ts";
import { missing, reservedClusters, respond, respondTo } from "./respond.ts";
import { keptBody } from "./retry.ts";
import { buildSession } from "./session.ts";
import { buildTimeouts, idleTimeout } from "./timeouts.ts";

/** Builds a route; more than one where Envoy needs to be told of cases. */
export function buildRoutes(route: Route, place: Place): readonly envoy.Route[] {
  const routes = apportion(route).flatMap(({ route, upTo }) => {
    const routes = buildCases(route, place);
    if (upTo === undefined) return routes;
    const runtime_fraction = { default_value: millionths(upTo) };
    return routes.map((route) => ({ ...route, match: { ...route.match, runtime_fraction } }));
  });
  return [...buildPreflights(route), ...routes];
}

function buildCases(route: Route, place: Place): readonly envoy.Route[] {
  const { action } = route, built = buildRoute(route, place);
  if (action.kind !== "redirect") return [built];
  const redirect = buildRedirect(action, { ...place, bareHost: true });
  if (redirect.port_redirect === built.redirect?.port_redirect) return [built];
  return [{ ...built, match: onlyWith(built.match, [hasBareHost]), redirect }, built];
}

const hasBareHost = {
  name: ":authority",
  string_match: { safe_regex: { regex: String.raw`[^:]+|\[.+\]` } },
} as const;

/** Builds one route. */
export function buildRoute(route: Route, place: Place): envoy.Route {
  const action = buildAction(route, place);
  // Nobody sees the headers of a request that goes no further.
  const requestHeaders = action.route ? route.requestHeaders : undefined;
  return {
    name: route.name,
    match: buildMatch(route.match),
    ...action,
    ...(eachItsOwn(route.action) ? {} : headerFields(requestHeaders, route.responseHeaders)),
  };
}

/** Whether headers are changed for each backend, what is done for all of them included. */
function eachItsOwn(action: RouteAction): boolean {
  if (action.kind !== "forward") return false;
  return action.backends.some(({ weight, requestHeaders, responseHeaders }) =>
    weight > 0 && (requestHeaders ?? responseHeaders) !== undefined
  );
}

type Action = Pick<
  envoy.Route,
  "route" | "redirect" | "direct_response" | "typed_per_filter_config" | "request_body_buffer_limit"
>;

function buildAction(route: Route, place: Place): Action {
  const { action } = route;
  switch (action.kind) {
    case "respond":
      return "cors" in action ? respondTo(action.cors, action.status) : respond(action.status);
    case "redirect":
      return { redirect: buildRedirect(action, place) };
    case "forward":
      return buildForward(route, action, place);
  }
}

type Forward = Extract<RouteAction, { readonly kind: "forward" }>;

function buildForward(route: Route, action: Forward, { scheme }: Place): Action {
  const { backends: all, rewrite, timeouts = {}, retry, mirrors, cors } = action;
  const backends = all.filter((backend) => backend.weight > 0);
  const [first] = backends;
  const answer = (status: 500 | 503) => cors ? respondTo(cors, status) : respond(status);
  // Nothing to send to, or nothing but weights of zero: Gateway API asks for a 500, Envoy refuses such a list.
  if (!first) return answer(500);
  if (backends.length === 1 && "status" in first.target) return answer(first.target.status);
  return {
    route: {
      ...destination(route, action, backends, first, scheme),
      ...(backends.some(({ target }) => "status" in target && target.status === 500) ? missing : {}),
      ...(rewrite?.path ? pathRewrite(rewrite.path) : {}),
      ...buildTimeouts(timeouts, retry),
      ...idleTimeout(timeouts),
      ...(mirrors ? { request_mirror_policies: mirrors.map(buildMirror) } : {}),
    },
    ...filterConfigs({
      ...corsConfig(cors),
      ...(backends.length === 1 ? sessionConfig(first, scheme) : {}),
    }),
    ...(retry && retry.attempts > 0 ? { request_body_buffer_limit: keptBody } : {}),
  };
}

/** Switches on the filters that have a configuration. */
function filterConfigs(configs: FilterConfigs): Pick<envoy.Route, "typed_per_filter_config"> {
  return Object.keys(configs).length > 0 ? { typed_per_filter_config: configs } : {};
}

function sessionConfig({ session }: WeightedBackend, scheme: Place["scheme"]): FilterConfigs {
  return session ? { [filterNames.session]: buildSession(session, scheme) } : {};
}

function pathRewrite(change: PathChange): Pick<envoy.RouteAction, "prefix_rewrite" | "regex_rewrite"> {
  if (change.type === "prefix") return prefixChange(change.matched, change.value);
  // Of the path alone: the query stays. A backslash would refer to a part of what was matched.
  const substitution = change.value.replaceAll("\\", "\\\\");
  return { regex_rewrite: { pattern: { regex: "^.*$" }, substitution } };
}

/** Where requests go, and the host that they are given, by the backend or else by the rule. */
function destination(
  route: Route,
  { rewrite }: Forward,
  backends: readonly WeightedBackend[],
  first: WeightedBackend,
  scheme: Place["scheme"],
): envoy.RouteAction {
  const apart = eachItsOwn(route.action);
  const ofRule = rewrite?.hostname ?? hostChange(route.requestHeaders);
  if (backends.length === 1 && !apart) {
    return { cluster: clusterOf(first), ...hostField(ownHost(first) ?? ofRule) };
  }
  // What the route says would overwrite what Envoy does for a weighted cluster before.
  const hostsApart = backends.some((backend) => ownHost(backend) !== undefined);
  return {
    weighted_clusters: {
      clusters: backends.map((backend) => ({
        name: clusterOf(backend),
        weight: backend.weight,
        ...(apart
          ? headerFields(
            inTurn(route.requestHeaders, backend.requestHeaders),
            inTurn(route.responseHeaders, backend.responseHeaders),
          )
          : {}),
        ...(hostsApart ? hostField(ownHost(backend) ?? ofRule) : {}),
        ...(backends.length > 1 ? filterConfigs(sessionConfig(backend, scheme)) : {}),
      })),
    },
    ...(hostsApart ? {} : hostField(ofRule)),
  };
}

/** The host that the filters of a backend give to requests for it. */
function ownHost({ rewrite, requestHeaders }: WeightedBackend): string | undefined {
  return rewrite?.hostname ?? hostChange(requestHeaders);
}

function hostField(host: string | undefined): Pick<envoy.RouteAction, "host_rewrite_literal"> {
  return host === undefined ? {} : { host_rewrite_literal: host };
}

function clusterOf({ target }: WeightedBackend): string {
  return "cluster" in target ? target.cluster : reservedClusters[target.status];
}

/** The clusters that an action sends requests to, copies included. */
export function clustersOf(action: RouteAction): readonly string[] {
  if (action.kind !== "forward") return [];
  const { backends, mirrors = [] } = action;
  return [
    ...backends.flatMap(({ weight, target }) => weight > 0 && "cluster" in target ? [target.cluster] : []),
    ...mirrors.map(({ cluster }) => cluster),
  ];
}
