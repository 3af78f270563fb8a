/**
 * How requests and values are matched.
 *
 * @module
 */
import { anyOf, bool, BoolValue, field, type Infer, message, repeated, string } from "../mod.ts";
import { RuntimeFractionalPercent } from "./core.ts";

export const RegexMatcher = message("envoy.type.matcher.v3.RegexMatcher", {
  regex: field(2, string),
});
export type RegexMatcher = Infer<typeof RegexMatcher>;

export const StringMatcher = message("envoy.type.matcher.v3.StringMatcher", {
  exact: field(1, string),
  prefix: field(2, string),
  suffix: field(3, string),
  safe_regex: field(5, RegexMatcher),
  contains: field(7, string),
  ignore_case: field(6, bool),
}, { oneofs: [["exact", "prefix", "suffix", "safe_regex", "contains"]] });
export type StringMatcher = Infer<typeof StringMatcher>;

export const RegexMatchAndSubstitute = message("envoy.type.matcher.v3.RegexMatchAndSubstitute", {
  pattern: field(1, RegexMatcher),
  substitution: field(2, string),
});
export type RegexMatchAndSubstitute = Infer<typeof RegexMatchAndSubstitute>;

export const UdpRoute = message("envoy.extensions.filters.udp.udp_proxy.v3.Route", {
  cluster: field(1, string),
});
export type UdpRoute = Infer<typeof UdpRoute>;

export const Matcher = message("xds.type.matcher.v3.Matcher", {
  get matcher_list() {
    return field(1, MatcherList);
  },
  get on_no_match() {
    return field(3, OnMatch);
  },
});
export type Matcher = Infer<typeof Matcher>;

export const OnMatch = message("xds.type.matcher.v3.Matcher.OnMatch", {
  matcher: field(1, Matcher),
  get action() {
    return field(2, XdsTypedExtensionConfig);
  },
}, { oneofs: [["matcher", "action"]] });
export type OnMatch = Infer<typeof OnMatch>;

export const MatcherList = message("xds.type.matcher.v3.Matcher.MatcherList", {
  get matchers() {
    return repeated(1, FieldMatcher);
  },
});
export type MatcherList = Infer<typeof MatcherList>;

export const FieldMatcher = message("xds.type.matcher.v3.Matcher.MatcherList.FieldMatcher", {
  get predicate() {
    return field(1, Predicate);
  },
  on_match: field(2, OnMatch),
});
export type FieldMatcher = Infer<typeof FieldMatcher>;

export const Predicate = message("xds.type.matcher.v3.Matcher.MatcherList.Predicate", {
  get single_predicate() {
    return field(1, SinglePredicate);
  },
  get or_matcher() {
    return field(2, PredicateList);
  },
  get and_matcher() {
    return field(3, PredicateList);
  },
  get not_matcher() {
    return field(4, Predicate);
  },
}, { oneofs: [["single_predicate", "or_matcher", "and_matcher", "not_matcher"]] });
export type Predicate = Infer<typeof Predicate>;

export const PredicateList = message("xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList", {
  predicate: repeated(1, Predicate),
});
export type PredicateList = Infer<typeof PredicateList>;

export const SinglePredicate = message("xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate", {
  get input() {
    return field(1, XdsTypedExtensionConfig);
  },
  get value_match() {
    return field(2, XdsStringMatcher);
  },
});
export type SinglePredicate = Infer<typeof SinglePredicate>;

export const XdsStringMatcher = message("xds.type.matcher.v3.StringMatcher", {
  exact: field(1, string),
  prefix: field(2, string),
  suffix: field(3, string),
  contains: field(7, string),
  ignore_case: field(6, bool),
}, { oneofs: [["exact", "prefix", "suffix", "contains"]] });
export type XdsStringMatcher = Infer<typeof XdsStringMatcher>;

export const XdsTypedExtensionConfig = message("xds.core.v3.TypedExtensionConfig", {
  name: field(1, string),
  typed_config: field(2, anyOf(UdpRoute)),
});
export type XdsTypedExtensionConfig = Infer<typeof XdsTypedExtensionConfig>;

export const HeaderMatcher = message("envoy.config.route.v3.HeaderMatcher", {
  name: field(1, string),
  present_match: field(7, bool),
  string_match: field(13, StringMatcher),
  invert_match: field(8, bool),
  treat_missing_header_as_empty: field(14, bool),
}, { oneofs: [["present_match", "string_match"]] });
export type HeaderMatcher = Infer<typeof HeaderMatcher>;

export const QueryParameterMatcher = message("envoy.config.route.v3.QueryParameterMatcher", {
  name: field(1, string),
  string_match: field(5, StringMatcher),
  present_match: field(6, bool),
}, { oneofs: [["string_match", "present_match"]] });
export type QueryParameterMatcher = Infer<typeof QueryParameterMatcher>;

export const GrpcRouteMatchOptions = message("envoy.config.route.v3.RouteMatch.GrpcRouteMatchOptions", {});
export type GrpcRouteMatchOptions = Infer<typeof GrpcRouteMatchOptions>;

export const RouteMatch = message("envoy.config.route.v3.RouteMatch", {
  prefix: field(1, string),
  path: field(2, string),
  safe_regex: field(10, RegexMatcher),
  path_separated_prefix: field(14, string),
  case_sensitive: field(4, BoolValue),
  runtime_fraction: field(9, RuntimeFractionalPercent),
  headers: repeated(6, HeaderMatcher),
  query_parameters: repeated(7, QueryParameterMatcher),
  grpc: field(8, GrpcRouteMatchOptions),
}, { oneofs: [["prefix", "path", "safe_regex", "path_separated_prefix"]] });
export type RouteMatch = Infer<typeof RouteMatch>;
