/**
 * The CORS filter (GEP-1767): which pages of other origins may make requests.
 *
 * @module
 */
import type { HTTPRouteFilter } from "../../crds/mod.ts";
import type { Cors, OriginPattern } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";
import { isToken } from "./validate.ts";

/** Seconds for which a browser remembers an answer if nothing is said. */
const defaultMaxAge = 5;

const defaultPorts = { http: 80, https: 443 } as const;

/** Reads the filter; `where` names the field. */
export function readCors(filter: HTTPRouteFilter, where: string): Cors | Fault {
  const cors: Partial<Filter> = filter.cors ?? {};
  const { allowOrigins = [], allowCredentials: credentials = false, maxAge = defaultMaxAge } = cors;
  const fault = (name: string, problem: string): Fault => ({
    reason: "UnsupportedValue",
    message: `${where}.cors.${name}: ${problem}`,
  });
  const origins: OriginPattern[] = [];
  for (const [i, text] of allowOrigins.entries()) {
    if (text === any) continue;
    const origin = readOrigin(text);
    if (!origin) {
      const problem = `"${text}" is not an origin, write it like https://*.example.com:8443`;
      return fault(`allowOrigins[${i}]`, problem);
    }
    origins.push(origin);
  }
  const lists = ["allowMethods", "allowHeaders", "exposeHeaders"] as const;
  for (const name of lists) {
    const wrong = (cors[name] ?? []).findIndex((item: string) => !isToken(item));
    if (wrong >= 0) {
      return fault(`${name}[${wrong}]`, `"${cors[name]?.[wrong]}" is not a name, use letters and hyphens`);
    }
  }
  if (!Number.isInteger(maxAge) || maxAge < 1) {
    return fault("maxAge", `${maxAge} is not a number of seconds from 1`);
  }
  const [methods, headers, exposed] = lists.map((name) => cors[name] ?? []);
  return {
    origins: (allowOrigins as readonly string[]).includes(any) ? any : origins,
    credentials,
    methods: anyOr(methods),
    headers: anyOr(headers),
    // With credentials browsers take the asterisk for a header of that name.
    exposed: credentials ? (exposed ?? []).filter((name) => name !== any) : anyOr(exposed),
    maxAge,
  };
}

type Filter = NonNullable<HTTPRouteFilter["cors"]>;

const any = "*";

function anyOr(names: readonly string[] = []): Cors["methods"] {
  return names.includes(any) ? any : names;
}

function readOrigin(text: string): OriginPattern | undefined {
  const [, scheme, host, digits] =
    /^(https?):\/\/(\*|(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::([0-9]{1,5}))?$/i.exec(text) ?? [];
  if (scheme === undefined || host === undefined) return undefined;
  const known = scheme.toLowerCase() === "https" ? "https" : "http";
  const port = digits === undefined ? defaultPorts[known] : Number(digits);
  return port < 1 || port > 65_535 ? undefined : { scheme: known, host: host.toLowerCase(), port };
}
