/**
 * HTTP filters.
 *
 * @module
 */
import {
  anyOf,
  bool,
  BoolValue,
  Duration,
  field,
  type Infer,
  message,
  repeated,
  string,
  uint32,
} from "../mod.ts";
import { StringMatcher } from "./matcher.ts";

export const Router = message("envoy.extensions.filters.http.router.v3.Router", {
  suppress_envoy_headers: field(4, bool),
  respect_expected_rq_timeout: field(6, bool),
});
export type Router = Infer<typeof Router>;

export const Cors = message("envoy.extensions.filters.http.cors.v3.Cors", {});
export type Cors = Infer<typeof Cors>;

export const CorsPolicy = message("envoy.extensions.filters.http.cors.v3.CorsPolicy", {
  allow_origin_string_match: repeated(1, StringMatcher),
  allow_methods: field(2, string),
  allow_headers: field(3, string),
  expose_headers: field(4, string),
  max_age: field(5, string),
  allow_credentials: field(6, BoolValue),
  forward_not_matching_preflights: field(10, BoolValue),
});
export type CorsPolicy = Infer<typeof CorsPolicy>;

export const CookieAttribute = message("envoy.type.http.v3.CookieAttribute", {
  name: field(1, string),
  value: field(2, string),
});
export type CookieAttribute = Infer<typeof CookieAttribute>;

export const Cookie = message("envoy.type.http.v3.Cookie", {
  name: field(1, string),
  ttl: field(2, Duration),
  path: field(3, string),
  attributes: repeated(4, CookieAttribute),
});
export type Cookie = Infer<typeof Cookie>;

export const CookieBasedSessionState = message(
  "envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState",
  { cookie: field(1, Cookie) },
);
export type CookieBasedSessionState = Infer<typeof CookieBasedSessionState>;

export const HeaderBasedSessionState = message(
  "envoy.extensions.http.stateful_session.header.v3.HeaderBasedSessionState",
  { name: field(1, string) },
);
export type HeaderBasedSessionState = Infer<typeof HeaderBasedSessionState>;

/** What a session is kept in. */
export const SessionState = message("envoy.config.core.v3.TypedExtensionConfig", {
  name: field(1, string),
  typed_config: field(2, anyOf(CookieBasedSessionState, HeaderBasedSessionState)),
});
export type SessionState = Infer<typeof SessionState>;

export const StatefulSession = message(
  "envoy.extensions.filters.http.stateful_session.v3.StatefulSession",
  {
    session_state: field(1, SessionState),
    strict: field(2, bool),
    status_on_strict_destination_not_found: field(4, uint32),
  },
);
export type StatefulSession = Infer<typeof StatefulSession>;

export const StatefulSessionPerRoute = message(
  "envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute",
  { disabled: field(1, bool), stateful_session: field(2, StatefulSession) },
  { oneofs: [["disabled", "stateful_session"]] },
);
export type StatefulSessionPerRoute = Infer<typeof StatefulSessionPerRoute>;

/** What an HttpFilter can hold. */
export const HttpFilters = anyOf(Router, Cors, StatefulSession);
/** What typed_per_filter_config can hold. */
export const FilterConfigs = anyOf(CorsPolicy, StatefulSessionPerRoute);
