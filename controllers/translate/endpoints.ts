/**
 * From the EndpointSlices of a Service to the endpoints of one of its ports.
 *
 * @module
 */
import type { EndpointSlice, Service } from "../../crds/mod.ts";
import type { Endpoint, Endpoints } from "../ir/mod.ts";
import type { Group } from "../runtime/graph.ts";
import type { ClusterSpec } from "./backends.ts";

/** The label that says which Service an EndpointSlice belongs to. */
const serviceLabel = "kubernetes.io/service-name";

/** The Service of an EndpointSlice, as `namespace/name`. */
export function serviceOf({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.[serviceLabel];
  return name === undefined ? [] : [`${metadata.namespace ?? ""}/${name}`];
}

/**
 * The endpoints of a cluster: those that are ready, and as draining those that terminate and still serve. A port of a
 * Service and one of a slice belong together by name; each slice says which number that is on its endpoints.
 */
export function endpointsOf(
  cluster: ClusterSpec,
  service: Service | undefined,
  slices: Group<EndpointSlice> | undefined,
): Endpoints {
  const portName =
    service?.spec.ports?.find(({ port, protocol = "TCP" }) => port === cluster.port && protocol === "TCP")
      ?.name ?? "";
  const zones = new Map<string, Map<string, Endpoint>>();
  for (const slice of slices?.values() ?? []) {
    if (slice.addressType !== "IPv4" && slice.addressType !== "IPv6") continue;
    const port = slice.ports?.find(({ name = "", protocol = "TCP" }) =>
      name === portName && protocol === "TCP"
    )?.port;
    if (port === undefined) continue;
    for (const { addresses, zone = "", conditions = {} } of slice.endpoints ?? []) {
      const { ready = true, terminating = false } = conditions;
      const { serving = ready } = conditions;
      const usable = terminating ? serving : ready;
      if (!usable) continue;
      const inZone = zones.get(zone) ?? new Map<string, Endpoint>();
      zones.set(zone, inZone);
      for (const address of addresses.slice(0, 1)) {
        const id = `${address}|${port}`;
        // While an endpoint moves from one slice to another both may show it; the livelier view counts.
        if (inZone.get(id)?.draining === false) continue;
        inZone.set(id, { address, port, draining: terminating });
      }
    }
  }
  const localities = [...zones.keys()].sort().map((zone) => ({
    zone,
    endpoints: [...zones.get(zone)?.entries() ?? []].sort(([a], [b]) => a < b ? -1 : 1).map(([, e]) => e),
  }));
  return { cluster: cluster.name, localities };
}
