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

/**
 * Builds a redirect for requests to `hostname` (perhaps a wildcard) that came in by `scheme`.
 *
 * Without a port, the one that belongs to the new scheme is meant; a port that belongs to its scheme is left out of
 * `Location`. Envoy keeps the port of the request's Host unless it is given a host or a port, so where the virtual
 * host has one name, that name is given.
 */
export function buildRedirect(redirect: Redirect, hostname: string, scheme: string): RedirectAction {
  const newScheme = redirect.scheme ?? scheme;
  const port = redirect.port ?? (redirect.scheme ? defaultPorts[redirect.scheme] : undefined);
  const leaveOut = port !== undefined && port === defaultPorts[newScheme];
  const host = redirect.hostname ?? (port === undefined || hostname.startsWith("*") ? undefined : hostname);
  // Of a wildcard the name is not known here: a port that is spelt out beats the wrong one.
  const spellOut = port !== undefined && (!leaveOut || host === undefined && newScheme !== scheme);
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
function quote(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
