/**
 * The CORS filter of routes.
 *
 * @module
 */
import type { Cors, OriginPattern } from "../../controllers/ir/mod.ts";
import type { CorsPolicy } from "../wire/envoy/filters.ts";
import type { HeaderMatcher, StringMatcher } from "../wire/envoy/matcher.ts";
import type { Route } from "../wire/envoy/route.ts";
import { filterNames } from "./http_filters.ts";
import { quote } from "./redirect.ts";

const type = "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy";

/**
 * Says in Envoy's terms who may do what. Envoy answers an asterisk with what the browser asks for, which is right with
 * and without credentials.
 */
function buildCors(cors: Cors): CorsPolicy & { readonly "@type": typeof type } {
  const { origins, methods, headers, exposed, credentials, maxAge } = cors;
  return {
    "@type": type,
    allow_origin_string_match: origins === "*" ? [{ exact: "*" }] : origins.flatMap(originMatchers),
    ...listed("allow_methods", methods),
    ...listed("allow_headers", headers),
    ...listed("expose_headers", exposed),
    max_age: String(maxAge),
    allow_credentials: credentials,
    // A backend that knows nothing of CORS is not to be asked.
    forward_not_matching_preflights: false,
  };
}

export type FilterConfigs = NonNullable<Route["typed_per_filter_config"]>;

/** Switches the filter on. */
export function corsConfig(cors: Cors | undefined): FilterConfigs {
  return cors ? { [filterNames.cors]: buildCors(cors) } : {};
}

function listed<N extends string>(name: N, names: "*" | readonly string[]): { readonly [K in N]?: string } {
  if (names.length === 0) return {};
  return { [name]: names === "*" ? names : names.join(", ") } as { readonly [K in N]: string };
}

const defaultPorts = { http: 80, https: 443 } as const;

/** A port that goes without saying matches spelt out and not. */
function portsOf({ scheme, port }: OriginPattern): readonly string[] {
  return port === defaultPorts[scheme] ? ["", `:${port}`] : [`:${port}`];
}

function originMatchers(origin: OriginPattern): readonly StringMatcher[] {
  if (origin.host.startsWith("*")) return [{ safe_regex: { regex: originRegex(origin) } }];
  return portsOf(origin).map((port) => ({ exact: `${origin.scheme}://${origin.host}${port}` }));
}

function originRegex(origin: OriginPattern): string {
  const { scheme, host } = origin;
  const hosts = host === "*"
    ? String.raw`([^:]+|\[.+\])`
    : host.startsWith("*")
    ? `[^:]+${quote(host.slice(1))}`
    : quote(host);
  return `${scheme}://${hosts}(${portsOf(origin).join("|")})`;
}

/** The origins that are not allowed, if there are any: Envoy would answer their preflight requests with all that others may do. */
export function notAllowed({ origins }: Cors): readonly HeaderMatcher[] | undefined {
  if (origins === "*") return undefined;
  if (origins.length === 0) return [];
  const regex = origins.map(originRegex).join("|");
  return [{ name: "origin", string_match: { safe_regex: { regex } }, invert_match: true }];
}
