/**
 * The filters of rules and backends: a table with one entry for each type that is supported.
 *
 * @module
 */
import type {
  BackendObjectReference,
  HTTPHeaderFilter,
  HTTPRouteFilter,
  LocalObjectReference,
} from "../../crds/mod.ts";
import type { Cors, Fraction, Header, HeaderChanges } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";
import type { Config } from "./config.ts";
import { readCors } from "./cors.ts";
import { readRedirect, readRewrite } from "./url_filters.ts";
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

/** Copies of requests, before it is known where they lead. */
export interface MirrorModel {
  readonly ref: BackendObjectReference;
  readonly share: Fraction;
  /** The field, for messages. */
  readonly where: string;
}

/** A filter that is an object of its own. */
export interface Extension {
  readonly ref: LocalObjectReference;
  /** The field, for messages. */
  readonly where: string;
}

/** What the filters of a rule or of a backend do. What is a list comes of any number of filters, the rest of one. */
export interface Effects {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly redirect?: Redirect;
  readonly rewrite?: { readonly hostname?: string; readonly path?: PathModifier };
  readonly mirrors?: readonly MirrorModel[];
  readonly cors?: Cors;
  readonly extensions?: readonly Extension[];
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
  URLRewrite: { onBackends: true, read: readRewrite },
  RequestMirror: { onBackends: false, read: readMirror },
  CORS: {
    onBackends: false,
    read: (filter, where) => {
      const cors = readCors(filter, where);
      return "reason" in cors ? cors : { cors };
    },
  },
  ExtensionRef: {
    onBackends: true,
    read: ({ extensionRef: ref }, where) => ref ? { extensions: [{ ref, where }] } : {},
  },
};

/** Filters that cannot be in one place: a redirect is answered before anything else could be done. */
const exclusive = [
  ["RequestRedirect", "URLRewrite"],
  ["RequestRedirect", "RequestMirror"],
  ["RequestRedirect", "CORS"],
] as const;

/** Reads a list of filters. Each fault makes the rule impossible to program. */
export function readFilters(
  filters: readonly HTTPRouteFilter[] | undefined,
  where: string,
  config: Config,
  place: "rule" | "backend",
): { readonly effects: Effects; readonly faults: readonly Fault[] } {
  let effects: Effects = {};
  const faults: Fault[] = [], types = new Set<string>();
  for (const [i, filter] of (filters ?? []).entries()) {
    const field = `${where}.filters[${i}]`, { type } = filter;
    const known = Object.hasOwn(filterKinds, type) ? filterKinds[type] : undefined;
    if (known === undefined || place === "backend" && !known.onBackends) {
      const on = place === "backend" ? " on a single backend" : "";
      faults.push({
        reason: "UnsupportedValue",
        message: `${field}: filter ${type} is not supported${on}, remove it`,
      });
      continue;
    }
    types.add(type);
    const effect = known.read(filter, field, config);
    const joined = "reason" in effect ? effect : join(effects, effect, field, type);
    if ("reason" in joined) faults.push(joined);
    else effects = joined;
  }
  for (const [one, other] of exclusive) {
    if (!types.has(one) || !types.has(other)) continue;
    const message = `${where}.filters: ${one} and ${other} exclude each other, remove one`;
    faults.push({ reason: "IncompatibleFilters", message });
  }
  return { effects, faults };
}

/** Adds what one more filter does. */
function join(effects: Effects, more: Effects, field: string, type: string): Effects | Fault {
  const joined: { [name: string]: unknown } = { ...effects };
  for (const [name, effect] of Object.entries(more)) {
    const before = joined[name];
    if (before === undefined) joined[name] = effect;
    else if (Array.isArray(before)) joined[name] = [...before, ...effect];
    else {
      const message = `${field}: filter ${type} cannot be used twice in one place, join the two`;
      return { reason: "IncompatibleFilters", message };
    }
  }
  return joined;
}

function readMirror({ requestMirror }: HTTPRouteFilter, where: string): Effects | Fault {
  if (requestMirror === undefined) return {};
  const { backendRef: ref, percent, fraction } = requestMirror;
  const share = fraction
    ? { numerator: fraction.numerator, denominator: fraction.denominator ?? 100 }
    : { numerator: percent ?? 100, denominator: 100 };
  const { numerator, denominator } = share, field = `${where}.requestMirror`;
  if (!(numerator >= 0 && numerator <= denominator && denominator > 0)) {
    const message =
      `${field}: ${numerator} of ${denominator} is not a share of requests, use 0 to 100 percent`;
    return { reason: "UnsupportedValue", message };
  }
  return { mirrors: [{ ref, share, where: `${field}.backendRef` }] };
}

function readHeaders(
  filter: HTTPHeaderFilter | undefined,
  where: string,
  config: Config,
): HeaderChanges | Fault {
  const { set = [], add = [], remove = [] } = filter ?? {};
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
  const changes = {
    set: firstOfEach(set),
    add: firstOfEach(add),
    remove: [...new Set(remove.map((name) => name.toLowerCase()))],
  };
  const changed = [...changes.set, ...changes.add].map(({ name }) => name).concat(changes.remove);
  const twice = changed.find((name, i) => changed.indexOf(name) < i);
  if (twice === undefined) return changes;
  const message = `${where}: header "${twice}" can be set, added or removed, but only one of these`;
  return { reason: "UnsupportedValue", message };
}

/** Of headers with equivalent names the first counts, as HTTPHeader has it. */
function firstOfEach(headers: readonly Header[]): readonly Header[] {
  const byName = new Map<string, Header>();
  for (const { name: given, value } of headers) {
    const name = given.toLowerCase();
    if (!byName.has(name)) byName.set(name, { name, value });
  }
  return [...byName.values()];
}
