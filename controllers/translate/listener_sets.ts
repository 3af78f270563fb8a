/**
 * What a ListenerSet asks for, checked: listeners that are added to a Gateway, if that one lets it (GEP-1713).
 *
 * Says nothing about other ListenerSets: where their listeners meet, `merged_listeners.ts` decides.
 *
 * @module
 */
import type { ListenerSet, Namespace } from "../../crds/mod.ts";
import type { GatewayKey, Origin } from "../ir/mod.ts";
import type { Read, Table } from "../runtime/graph.ts";
import { type AllowedNamespaces, allowsNamespace } from "./allowed_namespaces.ts";
import { bug, type Fault } from "./conditions.ts";
import type { GatewayModel } from "./gateways.ts";
import { gatewayGroup, type Listener, modelListeners } from "./listeners.ts";

/** A ListenerSet of a Gateway that is ours. Row key: `namespace/name`. */
export interface ListenerSetModel {
  readonly origin: Origin;
  readonly gateway: GatewayKey;
  readonly generation: number;
  /** Creation time, RFC 3339. */
  readonly created: string;
  /** None if the whole of it is refused. */
  readonly listeners: readonly Listener[];
  /** Why it does not attach to the Gateway. */
  readonly refused?: Fault;
}

export interface ListenerSetTables {
  readonly gateways: Table<GatewayModel>;
  readonly namespaces: Table<Namespace>;
}

/** Reads a ListenerSet; `undefined` if its parent is not ours. */
export function modelListenerSet(
  set: ListenerSet,
  read: Read,
  { gateways, namespaces }: ListenerSetTables,
): ListenerSetModel | undefined {
  const { metadata, spec } = set;
  const gateway = parentOf(set);
  const parent = gateway === undefined ? undefined : read(gateways, gateway);
  if (gateway === undefined || parent === undefined || metadata.deletionTimestamp !== undefined) {
    return undefined;
  }
  const namespace = metadata.namespace ?? "";
  const origin = `ListenerSet/${namespace}/${metadata.name}`;
  const allowed = allowsNamespace(
    parent.allowedListeners,
    parent.frontend.namespace,
    namespace,
    () => read(namespaces, namespace),
  );
  const refused = parent.terminating
    ? { reason: "ParentNotAccepted", message: `Gateway "${gateway}" is being deleted` }
    : allowed
    ? undefined
    : {
      reason: "NotAllowed",
      message: `Gateway "${gateway}" does not allow ListenerSets from namespace "${namespace}": ` +
        saidOf(parent.allowedListeners),
    };
  return {
    origin,
    gateway,
    generation: metadata.generation ?? 0,
    created: metadata.creationTimestamp ?? "",
    ...refused ? { refused, listeners: [] } : {
      listeners: modelListeners(origin, spec.listeners, parent.frontend),
    },
  };
}

function saidOf(allowed: AllowedNamespaces): string {
  return "fault" in allowed
    ? `spec.allowedListeners.${allowed.fault}`
    : `its spec.allowedListeners says from ${allowed.from}`;
}

/** What stands for a ListenerSet that could not be read because of a bug: it is refused, and says so. */
export function unreadableListenerSet(set: ListenerSet, error: unknown): ListenerSetModel {
  const { metadata } = set;
  return {
    origin: `ListenerSet/${metadata.namespace}/${metadata.name}`,
    gateway: parentOf(set) ?? "",
    generation: metadata.generation ?? 0,
    created: metadata.creationTimestamp ?? "",
    listeners: [],
    refused: bug("read this ListenerSet", error),
  };
}

/** The Gateway that a ListenerSet adds to; `undefined` if its parent is of another kind. */
function parentOf({ metadata, spec }: ListenerSet): GatewayKey | undefined {
  const { group = gatewayGroup, kind = "Gateway", namespace = metadata.namespace ?? "", name } =
    spec.parentRef;
  return group === gatewayGroup && kind === "Gateway" ? `${namespace}/${name}` : undefined;
}

/** ListenerSets in order of precedence: the oldest first, then by namespace and name. */
export function inOrder(sets: Iterable<ListenerSetModel>): readonly ListenerSetModel[] {
  return [...sets].sort((a, b) =>
    a.created !== b.created ? (a.created < b.created ? -1 : 1) : a.origin < b.origin ? -1 : 1
  );
}
