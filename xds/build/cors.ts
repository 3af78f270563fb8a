/**
 * The CORS filter of routes.
 *
 * @module
 */
import type { Cors, OriginPattern } from "../../controllers/ir/mod.ts";
import type { CorsPolicy } from "../wire/envoy/filters.ts";
import type { HeaderMatcher, StringMatcher } from "../wire/envoy/matcher.ts";
import { quote } from "./redirect.ts";

const type = "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy";

/**
 * Says in Envoy's terms who may do what. Envoy answers an asterisk with what the browser asks for, which is right with
 * and without credentials.
 */
export function buildCors(cors: Cors): CorsPolicy & { readonly "@type": typeof type } {
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

/**
 * What tells a preflight request of an origin that is not allowed, besides what the route is for. Envoy would answer it with
 * all that is allowed to others.
 */
export function deniedPreflight({ origins }: Cors): readonly HeaderMatcher[] {
  if (origins === "*") return [];
  return [
    { name: ":method", string_match: { exact: "OPTIONS" } },
    { name: "access-control-request-method", present_match: true },
    { name: "origin", present_match: true },
    ...(origins.length === 0 ? [] : [{
      name: "origin",
      string_match: { safe_regex: { regex: origins.map(originRegex).join("|") } },
      invert_match: true,
    }]),
  ];
}
