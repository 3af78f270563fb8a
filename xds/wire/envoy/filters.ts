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
import { SdsSecretConfig } from "./tls.ts";

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

export const GenericCredential = message("envoy.extensions.http.injected_credentials.generic.v3.Generic", {
  credential: field(1, SdsSecretConfig),
  header: field(2, string),
  header_value_prefix: field(3, string),
});
export type GenericCredential = Infer<typeof GenericCredential>;

/** Where a credential comes from. */
export const InjectedCredential = message("envoy.config.core.v3.TypedExtensionConfig", {
  name: field(1, string),
  typed_config: field(2, anyOf(GenericCredential)),
});
export type InjectedCredential = Infer<typeof InjectedCredential>;

export const CredentialInjector = message(
  "envoy.extensions.filters.http.credential_injector.v3.CredentialInjector",
  {
    overwrite: field(1, bool),
    allow_request_without_credential: field(2, bool),
    credential: field(3, InjectedCredential),
  },
);
export type CredentialInjector = Infer<typeof CredentialInjector>;

export const UpstreamCodec = message("envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec", {});
export type UpstreamCodec = Infer<typeof UpstreamCodec>;

/** What an HttpFilter can hold. */
export const HttpFilters = anyOf(Router, Cors, StatefulSession, CredentialInjector, UpstreamCodec);
/** What typed_per_filter_config can hold. */
export const FilterConfigs = anyOf(CorsPolicy, StatefulSessionPerRoute);
