/**
 * The filters of rules and backends: a table with one entry for each type that is supported.
 *
 * @module
 */
import type { HTTPHeaderFilter, HTTPRouteFilter } from "../../crds/mod.ts";
import type { HeaderChanges, PathChange, RouteMatch } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";
import type { Config } from "./config.ts";
import { headerFault } from "./validate.ts";

/** A redirect, before it is known which listener it is for. */
export interface Redirect {
  readonly scheme?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly path?: { readonly type: "full" | "prefix"; readonly value: string };
  readonly status: 301 | 302 | 303 | 307 | 308;
}

/** What the filters of a rule or of a backend do. */
export interface Effects {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly redirect?: Redirect;
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
  if (path && path.type !== "ReplaceFullPath" && path.type !== "ReplacePrefixMatch") {
    return unsupported("path.type", path.type, "ReplaceFullPath or ReplacePrefixMatch");
  }
  return {
    redirect: {
      ...scheme !== undefined && { scheme },
      ...hostname !== undefined && { hostname },
      ...port !== undefined && { port },
      ...path && {
        path: path.type === "ReplaceFullPath"
          ? { type: "full" as const, value: path.replaceFullPath ?? "/" }
          : { type: "prefix" as const, value: path.replacePrefixMatch ?? "" },
      },
      status,
    },
  };
}

/** What a path modifier does to requests of one match. */
export function pathChange(path: NonNullable<Redirect["path"]>, match: RouteMatch): PathChange {
  return path.type === "full"
    ? { type: "full", value: path.value }
    : { type: "prefix", matched: match.path.value, value: path.value };
}
