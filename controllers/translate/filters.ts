/**
 * The filters of rules and backends: a table with one entry for each type that is supported.
 *
 * @module
 */
import type { HTTPHeaderFilter, HTTPPathModifier, HTTPRouteFilter } from "../../crds/mod.ts";
import type { HeaderChanges, PathChange, RouteMatch } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";
import type { Config } from "./config.ts";
import { headerFault } from "./validate.ts";

/** A redirect, before it is known which listener it is for. */
export interface Redirect {
  readonly scheme?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly path?: PathModifier;
  readonly status: 301 | 302 | 303 | 307 | 308;
}

/** A path modifier, before it is known which match it is for. */
export interface PathModifier {
  readonly type: "full" | "prefix";
  readonly value: string;
}

/** What the filters of a rule or of a backend do. */
export interface Effects {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly redirect?: Redirect;
  readonly rewrite?: { readonly hostname?: string; readonly path?: PathModifier };
}

/** Reads one filter: what it does, or why it cannot be done. `where` names the field. */
type Reader = (filter: HTTPRouteFilter, where: string, config: Config) => Effects | Fault;

interface FilterKind {
  readonly read: Reader;
  /** Whether a single backend can have it, not only a rule. */
  readonly onBackends: boolean;
}

const filterKinds: { readonly [type: string]: FilterKind } = {
  RequestHeaderModifier: {
    onBackends: true,
    read: (filter, where, config) => {
      const changes = readHeaders(filter.requestHeaderModifier, `${where}.requestHeaderModifier`, config);
      return "reason" in changes ? changes : { requestHeaders: changes };
    },
  },
  ResponseHeaderModifier: {
    onBackends: true,
    read: (filter, where, config) => {
      const changes = readHeaders(filter.responseHeaderModifier, `${where}.responseHeaderModifier`, config);
      return "reason" in changes ? changes : { responseHeaders: changes };
    },
  },
  RequestRedirect: { onBackends: false, read: readRedirect },
  URLRewrite: { onBackends: false, read: readRewrite },
};

/** Reads a list of filters. Each fault makes the rule impossible to program. */
export function readFilters(
  filters: readonly HTTPRouteFilter[] | undefined,
  where: string,
  config: Config,
  place: "rule" | "backend",
): { readonly effects: Effects; readonly faults: readonly Fault[] } {
  let effects: Effects = {};
  const faults: Fault[] = [];
  for (const [i, filter] of (filters ?? []).entries()) {
    const field = `${where}.filters[${i}]`;
    const known = Object.hasOwn(filterKinds, filter.type) ? filterKinds[filter.type] : undefined;
    if (known === undefined || place === "backend" && !known.onBackends) {
      const on = place === "backend" ? " on a single backend" : "";
      faults.push({
        reason: "UnsupportedValue",
        message: `${field}: filter ${filter.type} is not supported${on}, remove it`,
      });
      continue;
    }
    const effect = known.read(filter, field, config);
    if ("reason" in effect) {
      faults.push(effect);
      continue;
    }
    const repeated = Object.keys(effect).some((name) => Object.hasOwn(effects, name));
    if (repeated) {
      faults.push({
        reason: "IncompatibleFilters",
        message: `${field}: filter ${filter.type} cannot be used twice in one place, join the two`,
      });
      continue;
    }
    effects = { ...effects, ...effect };
  }
  if (effects.redirect && effects.rewrite) {
    faults.push({
      reason: "IncompatibleFilters",
      message: `${where}.filters: RequestRedirect and URLRewrite exclude each other, remove one`,
    });
  }
  return { effects, faults };
}

function readHeaders(
  filter: HTTPHeaderFilter | undefined,
  where: string,
  config: Config,
): HeaderChanges | Fault {
  const { set = [], add = [], remove = [] } = filter ?? {};
  const lower = ({ name, value }: { readonly name: string; readonly value: string }) => ({
    name: name.toLowerCase(),
    value,
  });
  if (config.validate) {
    const fields = [
      ...set.map(({ name, value }, i) => ({ change: "set" as const, i, name, value })),
      ...add.map(({ name, value }, i) => ({ change: "add" as const, i, name, value })),
      ...remove.map((name, i) => ({ change: "remove" as const, i, name, value: "" })),
    ];
    for (const { change, i, name, value } of fields) {
      const problem = headerFault(change, name, value);
      if (problem) return { reason: "UnsupportedValue", message: `${where}.${change}[${i}]: ${problem}` };
    }
  }
  return { set: set.map(lower), add: add.map(lower), remove: remove.map((name) => name.toLowerCase()) };
}

const redirectStatuses = [301, 302, 303, 307, 308] as const;

function readRedirect(filter: HTTPRouteFilter, where: string): Effects | Fault {
  const { scheme, hostname, port, path, statusCode = 302 } = filter.requestRedirect ?? {};
  const field = `${where}.requestRedirect`;
  const unsupported = (name: string, value: unknown, allowed: string): Fault => ({
    reason: "UnsupportedValue",
    message: `${field}.${name}: "${value}" is not supported, use ${allowed}`,
  });
  if (scheme !== undefined && scheme !== "http" && scheme !== "https") {
    return unsupported("scheme", scheme, "http or https");
  }
  const status = redirectStatuses.find((status) => status === statusCode);
  if (status === undefined) return unsupported("statusCode", statusCode, redirectStatuses.join(", "));
  const change = path && readPath(path, `${field}.path`);
  if (change && "reason" in change) return change;
  return {
    redirect: {
      ...scheme !== undefined && { scheme },
      ...hostname !== undefined && { hostname },
      ...port !== undefined && { port },
      ...change && { path: change },
      status,
    },
  };
}

function readRewrite(filter: HTTPRouteFilter, where: string): Effects | Fault {
  const { hostname, path } = filter.urlRewrite ?? {};
  const change = path && readPath(path, `${where}.urlRewrite.path`);
  if (change && "reason" in change) return change;
  return { rewrite: { ...hostname !== undefined && { hostname }, ...change && { path: change } } };
}

function readPath(path: HTTPPathModifier, field: string): PathModifier | Fault {
  const type: string = path.type;
  if (type === "ReplaceFullPath") return { type: "full", value: path.replaceFullPath || "/" };
  if (type === "ReplacePrefixMatch") return { type: "prefix", value: path.replacePrefixMatch ?? "" };
  const message = `${field}.type: "${type}" is not supported, use ReplaceFullPath or ReplacePrefixMatch`;
  return { reason: "UnsupportedValue", message };
}

/** What a path modifier does to requests of one match. */
export function pathChange(path: PathModifier, match: RouteMatch): PathChange {
  return path.type === "full"
    ? { type: "full", value: path.value }
    : { type: "prefix", matched: match.path.value, value: path.value };
}
