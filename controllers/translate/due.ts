/**
 * Which statuses have to be written: desired compared with observed, whatever the times of transition are.
 *
 * The lists in a status belong partly to others. What is theirs is neither sent nor moved: a patch touches our own
 * elements by their position, and a test of the resource version makes sure that the positions still hold.
 *
 * @module
 */
import type {
  ApiObject,
  BackendTLSPolicy,
  Condition,
  EnvoyFleet,
  Gateway,
  GatewayClass,
  ListenerSet,
  ParentReference,
} from "../../crds/mod.ts";
import { equal } from "../runtime/equal.ts";
import type { Key } from "../runtime/graph.ts";
import { parentId } from "./attach.ts";
import type { DesiredCondition } from "./conditions.ts";
import type { Config } from "./config.ts";
import type { RouteObject } from "./objects.ts";
import type { DesiredAncestor } from "./policy_status.ts";
import type { RouteKindName } from "./route_kind.ts";
import type { DesiredListener, DesiredParent, DesiredStatus } from "./statuses.ts";

/** One operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/**
 * A write to the status of an object. Row key: `Kind/namespace/name`. The row is there exactly while the write is
 * needed. Conditions that change hands lack their transition time: {@linkcode stamp} puts it in.
 */
export interface StatusWrite {
  readonly kind: DesiredStatus["kind"];
  /** `namespace/name`, or `name`. */
  readonly key: Key;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly patch: readonly PatchOperation[];
  /** It says that proxies have not answered yet, which they usually do in a moment. */
  readonly provisional?: true;
}

type DueCondition = Omit<Condition, "lastTransitionTime"> & { readonly lastTransitionTime?: string };

/** The condition types that are ours to set and to remove, by where they stand. */
const ownTypes = {
  EnvoyFleet: ["Accepted", "Programmed"],
  GatewayClass: ["Accepted", "SupportedVersion"],
  Gateway: ["Accepted", "Programmed", "ResolvedRefs", "AddressesAssigned", "InsecureFrontendValidationMode"],
  ListenerSet: ["Accepted", "Programmed"],
  listener: ["Accepted", "Conflicted", "ResolvedRefs", "Programmed", "OverlappingTLSConfig"],
  parent: ["Accepted", "ResolvedRefs", "Programmed", "PartiallyInvalid"],
  ancestor: ["Accepted", "ResolvedRefs", "Programmed"],
} as const;

/** The longest lists that the API takes; what others have put there counts too. */
const mostParents = 32, mostAncestors = 16;

/** The longest list of addresses that the API takes. */
const mostAddresses = 16;

/** Compares an object that is ours alone with its desired status. */
export function dueForOwn(
  object: EnvoyFleet | GatewayClass | Gateway | ListenerSet,
  key: Key,
  desired: Extract<
    DesiredStatus,
    { readonly kind: "EnvoyFleet" | "GatewayClass" | "Gateway" | "ListenerSet" }
  >,
): StatusWrite | undefined {
  const status = object.status;
  const operations: PatchOperation[] = [];
  put(
    operations,
    "/status/conditions",
    status?.conditions,
    merge(status?.conditions ?? [], desired.conditions, ownTypes[desired.kind], desired.generation),
  );
  if (desired.kind === "GatewayClass") {
    const { supportedFeatures: before } = (object as GatewayClass).status ?? {};
    const features = desired.supportedFeatures.map((name) => ({ name }));
    put(operations, "/status/supportedFeatures", before, features);
  } else if (desired.kind !== "EnvoyFleet") {
    const observed = (object as Gateway | ListenerSet).status?.listeners;
    put(
      operations,
      "/status/listeners",
      observed,
      mergeListeners(observed ?? [], desired.listeners, desired.generation),
    );
  }
  if (desired.kind === "Gateway") {
    const gateway = (object as Gateway).status;
    if (desired.addresses) {
      const addresses = desired.addresses.slice(0, mostAddresses);
      put(operations, "/status/addresses", gateway?.addresses, addresses);
    }
    const { attachedListenerSets: before } = gateway ?? {};
    if (before !== undefined || desired.attachedListenerSets > 0) {
      put(operations, "/status/attachedListenerSets", before, desired.attachedListenerSets);
    }
  }
  const conditions = desired.kind === "Gateway" || desired.kind === "ListenerSet" ? [desired.conditions] : [];
  return write(object, key, desired.kind, { hasStatus: status !== undefined, operations, conditions });
}

/** Compares a route with its desired status; without one, what is left of ours goes. */
export function dueForRoute(
  object: RouteObject,
  key: Key,
  kind: RouteKindName,
  desired: readonly DesiredParent[],
  config: Config,
): StatusWrite | undefined {
  const operations = mergeShared(object, config, {
    path: "/status/parents",
    observed: object.status?.parents,
    desired: desired.map(({ parentRef, conditions }) => ({ ref: parentRef, conditions })),
    field: "parentRef",
    own: ownTypes.parent,
    most: mostParents,
  });
  const conditions = desired.map((parent) => parent.conditions);
  return write(object, key, kind, { hasStatus: object.status !== undefined, operations, conditions });
}

/** Compares a policy with its desired status, as a route is. */
export function dueForPolicy(
  object: BackendTLSPolicy,
  key: Key,
  desired: readonly DesiredAncestor[],
  config: Config,
): StatusWrite | undefined {
  const operations = mergeShared(object, config, {
    path: "/status/ancestors",
    observed: object.status?.ancestors,
    desired: desired.map(({ ancestorRef, conditions }) => ({ ref: ancestorRef, conditions })),
    field: "ancestorRef",
    own: ownTypes.ancestor,
    most: mostAncestors,
  });
  const conditions = desired.map((ancestor) => ancestor.conditions);
  return write(object, key, "BackendTLSPolicy", {
    hasStatus: object.status !== undefined,
    operations,
    conditions,
  });
}

/** A list whose elements belong to several controllers. */
interface SharedList<Field extends string> {
  readonly path: string;
  /** The field of an element that tells it apart. */
  readonly field: Field;
  readonly observed:
    | readonly ({
      readonly controllerName: string;
      readonly conditions?: readonly Condition[] | undefined;
    } & { readonly [F in Field]: ParentReference })[]
    | undefined;
  readonly desired: readonly {
    readonly ref: ParentReference;
    readonly conditions: readonly DesiredCondition[];
  }[];
  /** The types of conditions that are ours. */
  readonly own: readonly string[];
  readonly most: number;
}

/** The operations that bring our elements of a shared list up to date, and touch no others. */
function mergeShared<Field extends string>(
  { metadata }: ApiObject,
  config: Config,
  { path, field, observed, desired, own, most }: SharedList<Field>,
): readonly PatchOperation[] {
  const namespace = metadata.namespace ?? "", generation = metadata.generation ?? 0;
  const missing = new Map(desired.map((wanted) => [parentId(wanted.ref, namespace), wanted]));
  const replacements: PatchOperation[] = [], removals: PatchOperation[] = [];
  for (const [i, entry] of (observed ?? []).entries()) {
    if (entry.controllerName !== config.controllerName) continue;
    const id = parentId(entry[field], namespace);
    const wanted = missing.get(id);
    missing.delete(id);
    if (wanted === undefined) {
      removals.unshift({ op: "remove", path: `${path}/${i}` });
      continue;
    }
    const value = {
      ...entry,
      [field]: wanted.ref,
      conditions: merge(entry.conditions ?? [], wanted.conditions, own, generation),
    };
    if (!equal(entry, value)) replacements.push({ op: "replace", path: `${path}/${i}`, value });
  }
  const room = most - ((observed?.length ?? 0) - removals.length);
  const additions = [...missing.values()].slice(0, Math.max(0, room)).map(({ ref, conditions }) => ({
    [field]: ref,
    controllerName: config.controllerName,
    conditions: merge([], conditions, own, generation),
  }));
  if (!observed) return additions.length > 0 ? [{ op: "add", path, value: additions }] : [];
  return [
    ...replacements,
    ...removals, // from the last to the first, so that positions hold
    ...additions.map((value) => ({ op: "add" as const, path: `${path}/-`, value })),
  ];
}

function write(
  { metadata }: ApiObject,
  key: Key,
  kind: DesiredStatus["kind"],
  { hasStatus, operations, conditions }: {
    readonly hasStatus: boolean;
    readonly operations: readonly PatchOperation[];
    /** What is said about proxies, parent by parent. */
    readonly conditions: readonly (readonly DesiredCondition[])[];
  },
): StatusWrite | undefined {
  if (operations.length === 0) return undefined;
  const resourceVersion = metadata.resourceVersion ?? "";
  return {
    kind,
    key,
    uid: metadata.uid ?? "",
    resourceVersion,
    patch: [
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      ...hasStatus ? [] : [{ op: "add" as const, path: "/status", value: {} }],
      ...operations,
    ],
    ...conditions.some(isProvisional) && { provisional: true },
  };
}

function isProvisional(conditions: readonly DesiredCondition[]): boolean {
  return conditions.some(({ type, reason }) => type === "Programmed" && reason === "Pending");
}

function put(operations: PatchOperation[], path: string, observed: unknown, value: unknown): void {
  if (equal(observed, value)) return;
  if (observed === undefined && Array.isArray(value) && value.length === 0) return;
  operations.push({ op: observed === undefined ? "add" : "replace", path, value });
}

/**
 * Conditions as they should be, in the order they have; new ones last. Those of others stay. One that was observed at
 * a newer generation than ours stays too: what we know is out of date.
 */
function merge(
  observed: readonly Condition[],
  desired: readonly DesiredCondition[],
  own: readonly string[],
  generation: number,
): readonly DueCondition[] {
  const missing = new Map(desired.map((condition) => [condition.type, condition]));
  const merged: DueCondition[] = [];
  for (const before of observed) {
    const after = missing.get(before.type);
    missing.delete(before.type);
    if (!own.includes(before.type) || (before.observedGeneration ?? 0) > generation) merged.push(before);
    else if (after) merged.push(updated(before, after, generation));
  }
  for (const condition of missing.values()) merged.push({ ...condition, observedGeneration: generation });
  return merged;
}

/** The time of transition is that of the status, not that of reason or message. */
function updated(before: Condition, after: DesiredCondition, generation: number): DueCondition {
  const { lastTransitionTime, ...rest } = before;
  const value = { ...rest, ...after, observedGeneration: generation };
  return before.status === after.status ? { ...value, lastTransitionTime } : value;
}

function mergeListeners(
  observed: NonNullable<NonNullable<Gateway["status"]>["listeners"]>,
  desired: readonly DesiredListener[],
  generation: number,
): readonly unknown[] {
  const before = new Map(observed.map((listener) => [listener.name, listener]));
  return desired.map((listener) => ({
    ...listener,
    conditions: merge(
      before.get(listener.name)?.conditions ?? [],
      listener.conditions,
      ownTypes.listener,
      generation,
    ),
  }));
}

/** Gives every condition that lacks it the time of transition: the moment of the write. */
export function stamp(patch: readonly PatchOperation[], now: Date): readonly PatchOperation[] {
  // Kubernetes' times have no fraction.
  const time = now.toISOString().replace(/\.\d+Z$/, "Z");
  return patch.map((operation) =>
    operation.op === "remove" || operation.op === "test"
      ? operation
      : { ...operation, value: stamped(operation.value, time) }
  );
}

function stamped(value: unknown, time: string): unknown {
  if (Array.isArray(value)) return value.map((element) => stamped(element, time));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [name, stamped(field, time)]);
  const copy: { [name: string]: unknown } = Object.fromEntries(fields);
  const isCondition = ["type", "status", "reason", "message"].every((name) => typeof copy[name] === "string");
  return isCondition && copy.lastTransitionTime === undefined ? { ...copy, lastTransitionTime: time } : copy;
}
