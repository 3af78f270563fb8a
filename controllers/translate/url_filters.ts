/**
 * The filters that change URLs: RequestRedirect and URLRewrite.
 *
 * @module
 */
import type { HTTPPathModifier, HTTPRouteFilter } from "../../crds/mod.ts";
import type { Fault } from "./conditions.ts";
import type { Config } from "./config.ts";
import type { Effects, PathModifier } from "./filters.ts";
import { hostnameFault, pathFault } from "./validate.ts";

const redirectStatuses = [301, 302, 303, 307, 308] as const;

export function readRedirect(filter: HTTPRouteFilter, where: string, config: Config): Effects | Fault {
  const { scheme, hostname, port, path, statusCode = 302 } = filter.requestRedirect ?? {};
  const field = `${where}.requestRedirect`;
  const notAmong = (name: string, value: unknown, allowed: string): Fault =>
    unsupported(`${field}.${name}`, `"${value}" is not supported, use ${allowed}`);
  if (scheme !== undefined && scheme !== "http" && scheme !== "https") {
    return notAmong("scheme", scheme, "http or https");
  }
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535)) {
    return notAmong("port", port, "1 to 65535");
  }
  const status = redirectStatuses.find((status) => status === statusCode);
  if (status === undefined) return notAmong("statusCode", statusCode, redirectStatuses.join(", "));
  const target = readTarget({ hostname, path }, field, config);
  if ("reason" in target) return target;
  return {
    redirect: {
      ...scheme !== undefined && { scheme },
      ...port !== undefined && { port },
      ...target,
      status,
    },
  };
}

export function readRewrite(filter: HTTPRouteFilter, where: string, config: Config): Effects | Fault {
  const target = readTarget(filter.urlRewrite ?? {}, `${where}.urlRewrite`, config);
  return "reason" in target ? target : { rewrite: target };
}

interface Target {
  readonly hostname?: string;
  readonly path?: PathModifier;
}

/** What both have in common. */
function readTarget(
  { hostname, path }: {
    readonly hostname?: string | undefined;
    readonly path?: HTTPPathModifier | undefined;
  },
  field: string,
  config: Config,
): Target | Fault {
  const problem = hostname !== undefined && config.validate ? hostnameFault(hostname) : undefined;
  if (problem) return unsupported(`${field}.hostname`, problem);
  const change = path && readPath(path, `${field}.path`, config);
  if (change && "reason" in change) return change;
  return { ...hostname !== undefined && { hostname }, ...change && { path: change } };
}

function readPath(path: HTTPPathModifier, field: string, config: Config): PathModifier | Fault {
  const kind = Object.hasOwn(modifiers, path.type) ? modifiers[path.type] : undefined;
  if (kind === undefined) {
    return unsupported(
      `${field}.type`,
      `"${path.type}" is not supported, use ${Object.keys(modifiers).join(" or ")}`,
    );
  }
  const value = path[kind.field] ?? "", problem = config.validate ? pathFault(value) : undefined;
  if (problem) return unsupported(`${field}.${kind.field}`, problem);
  return { type: kind.type, value: kind.type === "full" ? value || "/" : value };
}

const modifiers: {
  readonly [type: string]: Pick<PathModifier, "type"> & {
    readonly field: "replaceFullPath" | "replacePrefixMatch";
  };
} = {
  ReplaceFullPath: { type: "full", field: "replaceFullPath" },
  ReplacePrefixMatch: { type: "prefix", field: "replacePrefixMatch" },
};

function unsupported(field: string, problem: string): Fault {
  return { reason: "UnsupportedValue", message: `${field}: ${problem}` };
}
