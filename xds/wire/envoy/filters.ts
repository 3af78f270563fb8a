/**
 * HTTP filters.
 *
 * @module
 */
import { anyOf, bool, BoolValue, field, type Infer, message, repeated, string } from "../mod.ts";
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

/** What an HttpFilter can hold. */
export const HttpFilters = anyOf(Router, Cors);
/** What typed_per_filter_config can hold. */
export const FilterConfigs = anyOf(CorsPolicy);
