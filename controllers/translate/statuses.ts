/**
 * What the status of an object has to say.
 *
 * @module
 */
import type { ParentReference } from "../../crds/mod.ts";
import type { DesiredCondition } from "./conditions.ts";
import type { RouteGroupKind } from "./listeners.ts";
import type { DesiredAncestor } from "./policy_status.ts";
import type { RouteKindName } from "./route_kind.ts";
import type { Addresses } from "./world.ts";

/** The desired status of one object of ours. Row key: `Kind/namespace/name`. Says nothing about times. */
export type DesiredStatus =
  | {
    readonly kind: "GatewayClass";
    readonly generation: number;
    readonly conditions: readonly DesiredCondition[];
    /** Sorted. */
    readonly supportedFeatures: readonly string[];
  }
  | {
    readonly kind: "Gateway";
    readonly generation: number;
    readonly conditions: readonly DesiredCondition[];
    readonly listeners: readonly DesiredListener[];
    readonly attachedListenerSets: number;
    /** Absent while it is not known: what is there stays. */
    readonly addresses?: Addresses["assigned"];
  }
  | {
    readonly kind: "EnvoyFleet";
    readonly generation: number;
    readonly conditions: readonly DesiredCondition[];
  }
  | {
    readonly kind: "ListenerSet";
    readonly generation: number;
    readonly conditions: readonly DesiredCondition[];
    readonly listeners: readonly DesiredListener[];
  }
  | {
    readonly kind: RouteKindName;
    readonly generation: number;
    readonly parents: readonly DesiredParent[];
  }
  | {
    readonly kind: "BackendTLSPolicy";
    readonly generation: number;
    readonly ancestors: readonly DesiredAncestor[];
  };

export interface DesiredListener {
  readonly name: string;
  readonly supportedKinds: readonly RouteGroupKind[];
  readonly attachedRoutes: number;
  readonly conditions: readonly DesiredCondition[];
}

export interface DesiredParent {
  readonly parentRef: ParentReference;
  readonly conditions: readonly DesiredCondition[];
}
