/**
 * Which listeners a route attaches to, as its parentRefs and the listeners' allowedRoutes have it.
 *
 * Whether a listener is accepted itself plays no part in this: it counts its routes nonetheless.
 *
 * @module
 */
import type { Namespace, ParentReference } from "../../crds/mod.ts";
import type { GatewayKey } from "../ir/mod.ts";
import type { Key, Read, Table } from "../runtime/graph.ts";
import { kept } from "../runtime/kept.ts";
import { allowsNamespace } from "./allowed_namespaces.ts";
import { type Fault, join } from "./conditions.ts";
import type { GatewayModel } from "./gateways.ts";
import { intersect } from "./hostnames.ts";
import type { ListenerSetModel } from "./listener_sets.ts";
import { gatewayGroup, type Listener } from "./listeners.ts";
import type { RouteKindName, RouteModel } from "./route_kind.ts";
import type { ResolvedRoute } from "./rules.ts";
import { hostnamePatternFault } from "./validate.ts";

/** A hostname of a route, and what is left of it on a listener. */
export interface AttachedHostname {
  readonly original: string;
  readonly effective: string;
}

export interface AttachedListener {
  readonly id: Key;
  readonly hostnames: readonly AttachedHostname[];
}

/** One parentRef that leads to a Gateway of ours, or to a ListenerSet that adds to one. */
export interface Parent {
  readonly ref: ParentReference;
  readonly gateway: GatewayKey;
  /** Why it is not Accepted. */
  readonly refused?: Fault;
  /**
   * The listeners that take it. Where a route is refused only because none of its rules can be programmed it is attached
   * all the same, to answer 500: its requests must not fall to whoever comes next.
   */
  readonly listeners: readonly AttachedListener[];
}

/** How a route is attached. Row key: as {@linkcode RouteModel}. No row: no parent is ours. */
export interface Attachment {
  readonly kind: RouteKindName;
  readonly key: string;
  readonly generation: number;
  readonly parents: readonly Parent[];
}

export interface AttachTables {
  readonly gateways: Table<GatewayModel>;
  readonly listenerSets: Table<ListenerSetModel>;
  readonly namespaces: Table<Namespace>;
}

export function attach(
  route: RouteModel,
  resolved: ResolvedRoute,
  read: Read,
  tables: AttachTables,
): Attachment | undefined {
  const invalid = invalidity(resolved);
  const parents: Parent[] = [];
  for (const ref of distinct(route)) {
    const target = targetOf(ref, route, read, tables);
    if (target === undefined) continue;
    const { gateway } = target;
    const attached = target.refused ?? attachTo(route, ref, target, read, tables);
    if ("reason" in attached) parents.push({ ref, gateway, refused: attached, listeners: [] });
    else parents.push({ ref, gateway, ...invalid && { refused: invalid }, listeners: attached });
  }
  if (parents.length === 0) return undefined;
  const refused = tooLarge(parents, resolved);
  return {
    kind: route.kind,
    key: route.key,
    generation: route.generation,
    parents: kept(
      refused ? parents.map(({ ref, gateway }) => ({ ref, gateway, refused, listeners: [] })) : parents,
    ),
  };
}

/** How often any route may be repeated, and the most that all repetitions of one come to, in characters of JSON. */
const few = 32, most = 64 * 1024 * 1024;

/** Proxies have a route once for each of its hostnames on each of its listeners: together that may be more than they can hold. */
function tooLarge(parents: readonly Parent[], { rules }: ResolvedRoute): Fault | undefined {
  const places = parents.flatMap(({ listeners }) => listeners).reduce(
    (sum, { hostnames }) => sum + hostnames.length,
    0,
  );
  if (places <= few) return undefined;
  const size = JSON.stringify(rules.map(({ entries }) => entries)).length;
  if (size * places <= most) return undefined;
  const message =
    `The route is too large for as many as ${places} hostnames of its listeners, give it fewer or divide it`;
  return { reason: "UnsupportedValue", message };
}

/** What a parentRef names: the listeners of a Gateway alone, or those of one ListenerSet. */
interface Target {
  readonly kind: "Gateway" | "ListenerSet";
  readonly namespace: string;
  readonly gateway: GatewayKey;
  readonly listeners: readonly Listener[];
  /** Why nothing attaches. */
  readonly refused?: Fault;
}

/** Looks up what a parentRef names; `undefined` if that is not ours. */
function targetOf(
  ref: ParentReference,
  route: RouteModel,
  read: Read,
  { gateways, listenerSets }: AttachTables,
): Target | undefined {
  const { group = gatewayGroup, kind = "Gateway", namespace = route.namespace, name } = ref;
  if (group !== gatewayGroup || kind !== "Gateway" && kind !== "ListenerSet") return undefined;
  const key = `${namespace}/${name}`;
  const set = kind === "ListenerSet" ? read(listenerSets, key) : undefined;
  const gateway = kind === "Gateway" ? key : set?.gateway;
  const model = gateway === undefined ? undefined : read(gateways, gateway);
  if (gateway === undefined || model === undefined || model.terminating) return undefined;
  const refused = set?.refused && {
    reason: "NoMatchingParent",
    message: `ListenerSet "${key}" is not accepted: ${set.refused.message}`,
  };
  return { kind, namespace, gateway, listeners: (set ?? model).listeners, ...refused && { refused } };
}

/** The parentRefs without repetitions. */
function distinct({ parentRefs, namespace }: RouteModel): readonly ParentReference[] {
  const byId = new Map<string, ParentReference>();
  for (const ref of parentRefs) {
    const id = parentId(ref, namespace);
    if (!byId.has(id)) byId.set(id, ref);
  }
  return [...byId.values()];
}

/** Tells parentRefs apart: two with the same id mean the same, however much of it they leave to defaults. */
export function parentId(ref: ParentReference, namespace: string): string {
  return JSON.stringify([
    ref.group ?? gatewayGroup,
    ref.kind ?? "Gateway",
    ref.namespace ?? namespace,
    ref.name,
    ref.sectionName ?? "",
    ref.port ?? 0,
  ]);
}

/** A route none of whose rules can be programmed is not accepted. */
function invalidity({ rules }: ResolvedRoute): Fault | undefined {
  const faults = rules.flatMap((rule) => rule.faults.slice(0, 1));
  if (rules.length === 0 || faults.length < rules.length) return undefined;
  const [first] = faults;
  return first && { reason: first.reason, message: join(faults.map(({ message }) => message)) };
}

function attachTo(
  route: RouteModel,
  ref: ParentReference,
  target: Target,
  read: Read,
  { namespaces }: AttachTables,
): readonly AttachedListener[] | Fault {
  const { listeners, namespace } = target;
  // An empty name means all of the parent, as no name does.
  const named = listeners.filter(({ name, port }) =>
    (!ref.sectionName || ref.sectionName === name) && (ref.port === undefined || ref.port === port)
  );
  if (named.length === 0) return { reason: "NoMatchingParent", message: noMatch(ref, target) };
  const allowed = named.filter((listener) =>
    listener.kinds.some(({ kind }) => kind === route.kind) &&
    allowsNamespace(
      listener.namespaces,
      namespace,
      route.namespace,
      () => read(namespaces, route.namespace),
    )
  );
  if (allowed.length === 0) {
    const [fault] = named.flatMap(({ name, namespaces }) =>
      "fault" in namespaces ? [`listener "${name}": allowedRoutes.${namespaces.fault}`] : []
    );
    const which = named.length === 1 ? `Listener "${named[0]?.name}" does not allow` : "No listener allows";
    return {
      reason: "NotAllowedByListeners",
      message:
        `${which} ${route.kind} from namespace "${route.namespace}" by its allowedRoutes and protocol` +
        (fault === undefined ? "" : `: ${fault}`),
    };
  }
  const valid = route.hostnames.filter((name) => name === "*" || !hostnamePatternFault(name));
  const attached = allowed.flatMap(({ id, hostname }): AttachedListener[] => {
    const hostnames = valid.flatMap((original): AttachedHostname[] => {
      const effective = intersect(hostname, original);
      return effective === undefined ? [] : [{ original, effective }];
    });
    return hostnames.length > 0 ? [{ id, hostnames: kept(hostnames) }] : [];
  });
  if (attached.length === 0) {
    const [problem] = valid.length === 0 ? route.hostnames.map(hostnamePatternFault) : [];
    return {
      reason: "NoMatchingListenerHostname",
      message: problem
        ? `spec.hostnames[0]: ${problem}`
        : `No hostname of the route (${route.hostnames.join(", ")}) matches one of the listeners' ` +
          `(${allowed.map(({ hostname }) => hostname).join(", ")})`,
    };
  }
  return kept(attached);
}

function noMatch(ref: ParentReference, { kind, listeners }: Target): string {
  const wanted = [
    ...ref.sectionName ? [`name "${ref.sectionName}"`] : [],
    ...ref.port === undefined ? [] : [`port ${ref.port}`],
  ].join(" and ");
  const known = listeners.map(({ name, port }) => `"${name}" on port ${port}`).join(", ");
  return wanted
    ? `The ${kind} has no listener with ${wanted}, only ${known}`
    : `The ${kind} has no listeners`;
}
