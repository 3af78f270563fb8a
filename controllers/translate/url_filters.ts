/**
 * The filters that change URLs: RequestRedirect and URLRewrite.
 *
 * @module
 */
import type { HTTPPathModifier, HTTPRouteFilter } from "../../crds/mod.ts";
import type { Fault } from "./conditions.ts";
import type { Effects, PathModifier } from "./filters.ts";

const redirectStatuses = [301, 302, 303, 307, 308] as const;

export function readRedirect(filter: HTTPRouteFilter, where: string): Effects | Fault {
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

export function readRewrite(filter: HTTPRouteFilter, where: string): Effects | Fault {
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
