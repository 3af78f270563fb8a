/**
 * Matches of requests.
 *
 * @module
 */
import type { RouteMatch, ValueMatch } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/matcher.ts";

/** Says in Envoy's terms which requests a route is for. */
export function buildMatch({ path, method, headers, queryParams }: RouteMatch): envoy.RouteMatch {
  const headerMatchers: envoy.HeaderMatcher[] = headers.map((header) => ({
    name: header.name.toLowerCase(),
    string_match: stringMatch(header),
  }));
  if (method !== undefined) headerMatchers.push({ name: ":method", string_match: { exact: method } });
  return {
    ...pathMatch(path),
    ...(headerMatchers.length > 0 ? { headers: headerMatchers } : {}),
    ...(queryParams.length > 0
      ? {
        query_parameters: queryParams.map((param) => ({
          name: param.name,
          string_match: stringMatch(param),
        })),
      }
      : {}),
  };
}

/** Those of the requests whose headers are like this, too. */
export function onlyWith(
  match: envoy.RouteMatch | undefined,
  headers: readonly envoy.HeaderMatcher[],
): envoy.RouteMatch {
  return { ...match, headers: [...match?.headers ?? [], ...headers] };
}

/** A prefix as Gateway API compares it: in whole segments, a slash at the end means nothing. */
export function canonicalPrefix(prefix: string): string {
  return prefix.replace(/\/+$/, "");
}

function pathMatch({ type, value }: RouteMatch["path"]): envoy.RouteMatch {
  switch (type) {
    case "exact":
      return { path: value };
    case "regex":
      return { safe_regex: { regex: value } };
    case "prefix": {
      const prefix = canonicalPrefix(value);
      return prefix === "" ? { prefix: "/" } : { path_separated_prefix: prefix };
    }
  }
}

function stringMatch({ type, value }: ValueMatch): envoy.StringMatcher {
  return type === "exact" ? { exact: value } : { safe_regex: { regex: value } };
}
