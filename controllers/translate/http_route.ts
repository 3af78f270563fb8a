/**
 * HTTPRoute, described.
 *
 * @module
 */
import { httpMethods } from "../../crds/gateway/http_filters.ts";
import type { HTTPRoute, HTTPRouteMatch, HTTPRouteRule, HTTPRouteTimeouts } from "../../crds/mod.ts";
import type { RouteMatch, Timeouts, ValueMatch } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";
import type { Config } from "./config.ts";
import { milliseconds } from "./durations.ts";
import { readFilters } from "./filters.ts";
import { readRetry } from "./retries.ts";
import type { MatchModel, RouteKind, RuleModel } from "./route_kind.ts";
import { readSession } from "./sessions.ts";
import { literalFault, nameFault, regexFault, type Taken } from "./validate.ts";

export const httpRoute: RouteKind<HTTPRoute> = {
  kind: "HTTPRoute",
  transport: "TCP",
  rules: ({ spec, metadata }, config) => {
    const rules: readonly HTTPRouteRule[] = spec.rules ?? [{}],
      route = `${metadata.namespace}/${metadata.name}`;
    const expressions: Taken = { size: 0 };
    return rules.map((rule, index) => readRule({ route, expressions, config }, rule, index));
  },
};

/** What the rules of a route have in common. */
interface Context {
  /** `namespace/name`. */
  readonly route: string;
  readonly expressions: Taken;
  readonly config: Config;
}

function readRule(context: Context, rule: HTTPRouteRule, index: number): RuleModel {
  const { route, config } = context;
  const where = `spec.rules[${index}]`;
  const filters = readFilters(rule.filters, where, config, "rule");
  const faults: Fault[] = [...filters.faults];
  const backends = (rule.backendRefs ?? []).map(({ filters, weight = 1, ...ref }, i) => {
    const own = readFilters(filters, `${where}.backendRefs[${i}]`, config, "backend");
    faults.push(...own.faults);
    return { ref, weight, effects: own.effects };
  });
  const specified: readonly Partial<HTTPRouteMatch>[] = rule.matches && rule.matches.length > 0
    ? rule.matches
    : [{}];
  const matches = specified.map((match, i) => readMatch(match, `${where}.matches[${i}]`, context));
  for (const { fault } of matches) if (fault) faults.push(fault);
  const effects = [filters.effects, ...backends.map(({ effects }) => effects)];
  if (
    effects.some(({ redirect, rewrite }) => (redirect?.path ?? rewrite?.path)?.type === "prefix") &&
    matches.some(({ match }) => match && match.path.type !== "prefix")
  ) {
    faults.push({
      reason: "UnsupportedValue",
      message: `${where}: ReplacePrefixMatch needs matches of type PathPrefix only, give each match one`,
    });
  }
  const timeouts = readTimeouts(rule.timeouts, `${where}.timeouts`);
  const retry = rule.retry && readRetry(rule.retry, `${where}.retry`);
  const session = rule.sessionPersistence &&
    readSession(
      rule.sessionPersistence,
      `${where}.sessionPersistence`,
      `${route}/${rule.name ?? `#${index}`}`,
    );
  for (const field of [timeouts, retry, session]) if (field && "reason" in field) faults.push(field);
  return {
    index,
    ...rule.name !== undefined && { name: rule.name },
    matches,
    effects: filters.effects,
    backends,
    ...timeouts && !("reason" in timeouts) && { timeouts },
    ...retry && !("reason" in retry) && { retry },
    ...session && !("reason" in session) && { session },
    faults,
  };
}

function readTimeouts(timeouts: HTTPRouteTimeouts | undefined, where: string): Timeouts | Fault | undefined {
  if (timeouts === undefined) return undefined;
  const limits: { request?: number; backendRequest?: number } = {};
  for (const name of ["request", "backendRequest"] as const) {
    const text = timeouts[name];
    if (text === undefined) continue;
    limits[name] = milliseconds(text);
    if (Number.isNaN(limits[name])) {
      return unsupported(`${where}.${name}`, `"${text}" is not a duration, write it like 1m30s or 500ms`);
    }
  }
  const { request, backendRequest } = limits;
  if (request && backendRequest && backendRequest > request) {
    return unsupported(`${where}.backendRequest`, "it cannot be longer than the request timeout, shorten it");
  }
  return limits;
}

const pathTypes: { readonly [type: string]: RouteMatch["path"]["type"] } = {
  Exact: "exact",
  PathPrefix: "prefix",
  RegularExpression: "regex",
};

const valueTypes: { readonly [type: string]: ValueMatch["type"] } = {
  Exact: "exact",
  RegularExpression: "regex",
};

function readMatch(match: Partial<HTTPRouteMatch>, where: string, context: Context): MatchModel {
  const { expressions, config } = context;
  const { type = "PathPrefix", value = "/" } = match.path ?? {};
  const pathType = Object.hasOwn(pathTypes, type) ? pathTypes[type] : undefined;
  if (pathType === undefined) return { fault: unknownType(`${where}.path.type`, type, pathTypes) };
  const problem = config.validate &&
    (pathType === "regex" ? regexFault(value, expressions) : literalFault(value));
  if (problem) return { fault: unsupported(`${where}.path.value`, problem) };
  const headers = readValues(match.headers, `${where}.headers`, (name) => name.toLowerCase(), context);
  const queryParams = readValues(match.queryParams, `${where}.queryParams`, (name) => name, context);
  const { method } = match;
  const fault = headers.fault ?? queryParams.fault ??
    (method === undefined || httpMethods.includes(method)
      ? undefined
      : unsupported(`${where}.method`, `"${method}" is not supported, use one of ${httpMethods.join(", ")}`));
  return {
    match: {
      path: { type: pathType, value: pathType === "prefix" ? withoutTrailingSlash(value) : value },
      ...method !== undefined && { method },
      headers: headers.values,
      queryParams: queryParams.values,
    },
    ...fault && { fault },
  };
}

/** Prefixes are compared element by element: `/a/` matches what `/a` does. */
function withoutTrailingSlash(path: string): string {
  return path.replace(/\/+$/, "") || "/";
}

/** Of several entries with the same name only the first counts. Faulty ones are left out. */
function readValues(
  values: HTTPRouteMatch["headers"],
  where: string,
  normalize: (name: string) => string,
  { expressions, config }: Context,
): { readonly values: readonly ValueMatch[]; readonly fault?: Fault } {
  const byName = new Map<string, ValueMatch>();
  let fault: Fault | undefined;
  for (const [i, { type = "Exact", name, value }] of (values ?? []).entries()) {
    const key = normalize(name);
    if (byName.has(key)) continue;
    const known = Object.hasOwn(valueTypes, type) ? valueTypes[type] : undefined;
    const wrongName = config.validate ? nameFault(name) : undefined;
    const problem = known === "regex" && config.validate ? regexFault(value, expressions) : undefined;
    if (known === undefined) fault ??= unknownType(`${where}[${i}].type`, type, valueTypes);
    else if (wrongName) fault ??= unsupported(`${where}[${i}].name`, wrongName);
    else if (problem) fault ??= unsupported(`${where}[${i}].value`, problem);
    else byName.set(key, { name: key, type: known, value });
  }
  return { values: [...byName.values()], ...fault && { fault } };
}

function unsupported(field: string, problem: string): Fault {
  return { reason: "UnsupportedValue", message: `${field}: ${problem}` };
}

function unknownType(field: string, type: string, known: object): Fault {
  return unsupported(field, `"${type}" is not supported, use one of ${Object.keys(known).join(", ")}`);
}
