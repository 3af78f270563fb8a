/**
 * What tells one kind of routes from another. Everything else about routes is written once, for all of them.
 *
 * @module
 */
import type { BackendObjectReference, ParentReference } from "../../crds/mod.ts";
import type { Retry, RouteMatch, Session, Timeouts } from "../ir/mod.ts";
import { bug, type Fault } from "./conditions.ts";
import { type Config, defaultConfig } from "./config.ts";
import type { Effects } from "./filters.ts";
import type { RouteObject } from "./objects.ts";

/** One match of a rule. A faulty one cannot be tried; `match` is then what is left of it, if that makes sense. */
export interface MatchModel {
  readonly match?: RouteMatch;
  /** Its message begins with the field. */
  readonly fault?: Fault;
}

export interface BackendModel {
  readonly ref: BackendObjectReference;
  readonly weight: number;
  readonly effects: Effects;
}

/** One rule of a route of any kind. */
export interface RuleModel {
  /** Position in the spec, from 0. */
  readonly index: number;
  readonly name?: string;
  readonly matches: readonly MatchModel[];
  readonly effects: Effects;
  readonly backends: readonly BackendModel[];
  readonly timeouts?: Timeouts;
  readonly retry?: Retry;
  readonly session?: Session;
  /** Why it cannot be programmed as it stands; empty if it can. Their messages begin with the field. */
  readonly faults: readonly Fault[];
}

/** A route of any kind, without its status. Row key: `Kind/namespace/name`. */
export interface RouteModel {
  readonly kind: RouteKindName;
  readonly namespace: string;
  /** `namespace/name`. */
  readonly key: string;
  readonly generation: number;
  /** Creation time, RFC 3339. */
  readonly created: string;
  readonly parentRefs: readonly ParentReference[];
  /** `["*"]` if it has none. */
  readonly hostnames: readonly string[];
  readonly rules: readonly RuleModel[];
}

/** The kinds that {@linkcode RouteKind} can describe. */
export type RouteKindName = "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute";

/** The description of a kind of routes. */
export interface RouteKind<T extends RouteObject = RouteObject> {
  readonly kind: RouteKindName;
  /** What its backends are spoken to with. */
  readonly transport: "TCP" | "UDP";
  rules(route: T, config: Config): readonly RuleModel[];
}

/** Reads a route of the described kind. */
export function modelRoute<T extends RouteObject>(
  description: RouteKind<T>,
  route: T,
  config: Config,
): RouteModel {
  const { metadata, spec } = route;
  const namespace = metadata.namespace ?? "";
  const hostnames = spec.hostnames ?? [];
  return {
    kind: description.kind,
    namespace,
    key: `${namespace}/${metadata.name}`,
    generation: metadata.generation ?? 0,
    created: metadata.creationTimestamp ?? "",
    parentRefs: spec.parentRefs ?? [],
    hostnames: hostnames.length > 0 ? [...new Set(hostnames)] : ["*"],
    rules: description.rules(route, config),
  };
}

/** What stands for a route that could not be read because of a bug. */
export function unreadableRoute(description: RouteKind, route: RouteObject, error: unknown): RouteModel {
  const faults = [bug("read this route", error)];
  const rule: RuleModel = { index: 0, matches: [], effects: {}, backends: [], faults };
  return modelRoute({ ...description, rules: () => [rule] }, route, defaultConfig);
}
