/**
 * Which of the ready endpoints of a Service are for clients at a place: what kube-proxy makes of the hints that
 * EndpointSlices carry.
 *
 * The hints come from whoever writes the slices. For Kubernetes' own, `trafficDistribution` of the Service says which:
 * `PreferSameZone` and its older name `PreferClose` of zones, `PreferSameNode` of nodes and zones. They are all there is
 * to go by: a Service that asks for something which its slices do not hint at gets all of its endpoints.
 *
 * @module
 */

/** Where proxies run. What is not known is left out, and hints of that sort are then not followed. */
export interface Place {
  /** As in the label `topology.kubernetes.io/zone` of a node. */
  readonly zone?: string;
  readonly node?: string;
}

/** The part of an endpoint of an EndpointSlice that says whom it is for. */
export interface Hinted {
  readonly hints?: {
    readonly forZones?: readonly { readonly name: string }[];
    readonly forNodes?: readonly { readonly name: string }[];
  };
}

/**
 * Those of the `ready` endpoints that are for clients at `place`, never none: hints of nodes count, then those of zones, if
 * every endpoint has one and at least one is for the place. Otherwise they are incomplete, as while they are being written,
 * and all endpoints are used.
 */
export function nearest<E extends Hinted>(ready: readonly E[], place: Place): readonly E[] {
  return hintedFor(ready, place.node, ({ hints }) => hints?.forNodes) ??
    hintedFor(ready, place.zone, ({ hints }) => hints?.forZones) ?? ready;
}

function hintedFor<E extends Hinted>(
  ready: readonly E[],
  here: string | undefined,
  names: (endpoint: E) => readonly { readonly name: string }[] | undefined,
): readonly E[] | undefined {
  if (here === undefined || !ready.every((endpoint) => (names(endpoint)?.length ?? 0) > 0)) return undefined;
  const near = ready.filter((endpoint) => names(endpoint)?.some(({ name }) => name === here));
  return near.length > 0 ? near : undefined;
}
