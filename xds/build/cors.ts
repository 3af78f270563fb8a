/**
 * The CORS filter of routes.
 *
 * @module
 */
import type { Cors, OriginPattern } from "../../controllers/ir/mod.ts";
import type { CorsPolicy } from "../wire/envoy/filters.ts";
import type { StringMatcher } from "../wire/envoy/matcher.ts";
import { quote } from "./redirect.ts";

const type = "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy";

/**
 * Says in Envoy's terms who may do what. Envoy answers an asterisk with what the browser asks for, which is right with
 * and without credentials, and leaves a preflight request of an origin that is not allowed without its blessing.
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
function originMatchers({ scheme, host, port }: OriginPattern): readonly StringMatcher[] {
  const ports = port === defaultPorts[scheme] ? ["", `:${port}`] : [`:${port}`];
  if (!host.startsWith("*")) return ports.map((port) => ({ exact: `${scheme}://${host}${port}` }));
  const hosts = host === "*" ? String.raw`([^:]+|\[.+\])` : `[^:]+${quote(host.slice(1))}`;
  const end = ports.length > 1 ? `(:${port})?` : `:${port}`;
  return [{ safe_regex: { regex: `${scheme}://${hosts}${end}` } }];
}
