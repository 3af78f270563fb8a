/**
 * Preflight requests, by which browsers ask what pages may do (CORS).
 *
 * Such a request has the method OPTIONS and none of the headers of the one that it asks about. It names its method and its
 * headers instead, and so a rule that looks at these is found by the names. Values of headers are not told.
 *
 * @module
 */
import type { Route, RouteMatch } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/matcher.ts";
import type { Route as EnvoyRoute } from "../wire/envoy/route.ts";
import { notAllowed } from "./cors.ts";
import { buildMatch, onlyWith } from "./match.ts";
import { quote } from "./redirect.ts";
import { respond, respondTo } from "./respond.ts";

/** Builds what goes before a route for preflight requests that it would not answer, or not rightly. */
export function buildPreflights({ name, match, action }: Route): readonly EnvoyRoute[] {
  if (!("cors" in action) || !action.cors) return [];
  const { cors } = action, denied = notAllowed(cors);
  return preflightMatches(match).flatMap(({ match, itself }) => [
    ...(denied ? [{ name, match: onlyWith(match, denied), ...respond(403) }] : []),
    // Envoy answers the asterisk with the headers that a browser asks for. If it asks for none there must be no header, but
    // Envoy would send an empty one.
    ...(cors.headers === "*"
      ? [{ name, match: onlyWith(match, [asksForNoHeaders]), ...respondTo({ ...cors, headers: [] }) }]
      : []),
    ...(itself ? [] : [{ name, match, ...respondTo(cors) }]),
  ]);
}

/** The preflight requests for a match. Those that it matches `itself` are answered by its own route. */
function preflightMatches(
  match: RouteMatch,
): readonly { readonly match: envoy.RouteMatch; readonly itself: boolean }[] {
  const { method, headers } = match, itself = method === undefined || method === "OPTIONS";
  const asWritten = buildMatch({ ...match, method: "OPTIONS" });
  const named = buildMatch({ ...match, method: "OPTIONS", headers: [] });
  return [
    { match: onlyWith(asWritten, [hasOrigin, itself ? asksForAnyMethod : asksFor(method)]), itself },
    ...(headers.length === 0 ? [] : [{
      match: onlyWith(named, [
        hasOrigin,
        method === undefined ? asksForAnyMethod : asksFor(method),
        ...headers.map(({ name }) => asksToSend(name)),
      ]),
      itself: false,
    }]),
  ];
}

const hasOrigin = { name: "origin", present_match: true } as const;

const requestMethod = "access-control-request-method", requestHeaders = "access-control-request-headers";

const asksForAnyMethod = { name: requestMethod, present_match: true } as const;

const asksForNoHeaders = { name: requestHeaders, present_match: true, invert_match: true } as const;

function asksFor(method: string): envoy.HeaderMatcher {
  return { name: requestMethod, string_match: { exact: method } };
}

function asksToSend(header: string): envoy.HeaderMatcher {
  const regex = `(?i)(.*,)?[ \\t]*${quote(header)}[ \\t]*(,.*)?`;
  return { name: requestHeaders, string_match: { safe_regex: { regex } } };
}
