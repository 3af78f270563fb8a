/**
 * Redirects: what Gateway API promises about `Location`, which is not quite what Envoy does by itself.
 *
 * @module
 */
import type { PathChange, RouteAction } from "../../controllers/ir/mod.ts";
import type { RedirectAction } from "../wire/envoy/route.ts";
import { canonicalPrefix } from "./match.ts";

type Redirect = Extract<RouteAction, { readonly kind: "redirect" }>;

const responseCodes = {
  301: "MOVED_PERMANENTLY",
  302: "FOUND",
  303: "SEE_OTHER",
  307: "TEMPORARY_REDIRECT",
  308: "PERMANENT_REDIRECT",
} as const;

const defaultPorts: { readonly [scheme: string]: number } = { http: 80, https: 443 };

/** Where a route is served. */
export interface Place {
  /** Of the virtual host; perhaps a wildcard. */
  readonly hostname: string;
  /** By which requests come in. */
  readonly scheme: "http" | "https";
  /** The port that they come in at; looked up only if it matters. */
  readonly port: () => number | undefined;
  /** Whether it is known that the Host of requests has no port. */
  readonly bareHost?: boolean;
}

/**
 * Builds a redirect. A port that goes without saying for its scheme is left out of `Location`; an absent port is the one
 * of the new scheme, or else that of the request.
 *
 * Envoy keeps the port of the request's Host unless it is given a host or a port. To leave the port out, it is given
 * the name of the virtual host; where that is a wildcard and the Host may have a port, a port that is spelt out beats the
 * wrong one.
 */
export function buildRedirect(redirect: Redirect, place: Place): RedirectAction {
  const scheme = redirect.scheme ?? place.scheme;
  const port = redirect.port ?? (redirect.scheme ? defaultPorts[redirect.scheme] : undefined);
  const leaveOut = port !== undefined && port === defaultPorts[scheme];
  const name = place.hostname.startsWith("*") ? undefined : place.hostname;
  const host = redirect.hostname ?? (leaveOut ? name : undefined);
  const spellOut = port !== undefined &&
    (!leaveOut || host === undefined && !place.bareHost && place.port() !== defaultPorts[place.scheme]);
  return {
    ...(redirect.scheme ? { scheme_redirect: redirect.scheme } : {}),
    ...(host ? { host_redirect: host } : {}),
    ...(spellOut ? { port_redirect: port } : {}),
    ...(redirect.path ? pathRedirect(redirect.path) : {}),
    response_code: responseCodes[redirect.status],
  };
}

function pathRedirect(change: PathChange): RedirectAction {
  if (change.type === "full") return { path_redirect: change.value };
  return prefixChange(change.matched, change.value);
}

/** Replaces a prefix without making or losing a slash, as in the table of HTTPPathModifier. */
export function prefixChange(
  matched: string,
  value: string,
): Pick<RedirectAction, "prefix_rewrite" | "regex_rewrite"> {
  const from = canonicalPrefix(matched), to = canonicalPrefix(value);
  if (from === "") return { prefix_rewrite: `${to}/` };
  if (to !== "") return { prefix_rewrite: to };
  return { regex_rewrite: { pattern: { regex: `^${quote(from)}/?` }, substitution: "/" } };
}

/** A regular expression of RE2 that matches just this text. */
export function quote(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
