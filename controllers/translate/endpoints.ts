/**
 * From the EndpointSlices of a Service to the endpoints of one of its ports, by the rules of kube-proxy: a gateway that
 * goes past it should find the same endpoints.
 *
 * @module
 */
import type { EndpointSlice, Service } from "../../crds/mod.ts";
import type { Endpoint, Endpoints } from "../ir/mod.ts";
import type { Group } from "../runtime/graph.ts";
import type { ClusterSpec } from "./backends.ts";
import { type Hinted, nearest, type Place } from "./topology.ts";

/** The label that says which Service an EndpointSlice belongs to. */
const serviceLabel = "kubernetes.io/service-name";

/** The families of a Service that does not say; an API server of Kubernetes fills them in. */
const everyFamily = ["IPv4", "IPv6"] as const;

/** The ports that can be asked; one for UDP may have the same number as one of them. */
export function tcpPorts({ spec: { ports = [] } }: Service): NonNullable<Service["spec"]["ports"]> {
  return ports.filter(({ protocol = "TCP" }) => protocol === "TCP");
}

/** The Service of an EndpointSlice, as `namespace/name`. */
export function serviceOf({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.[serviceLabel];
  return name === undefined ? [] : [`${metadata.namespace ?? ""}/${name}`];
}

/** An endpoint that could be used, and what is left to know about it. */
interface Candidate extends Endpoint, Hinted {
  readonly zone: string;
  /** How much the Service prefers its family; 0 is the most. */
  readonly family: number;
  /** What it stands for, such as a Pod, if the slice says so. */
  readonly target?: string;
}

/**
 * The endpoints of a cluster: those that are ready, and as draining those that terminate and still serve. At `place`, hints
 * may leave fewer of the ready ones.
 *
 * A port of a Service and one of a slice belong together by name; each slice says which number that is on its endpoints. A
 * slice that has no such port, or no number for it, has nothing for the cluster.
 */
export function endpointsOf(
  cluster: ClusterSpec,
  service: Service | undefined,
  slices: Group<EndpointSlice> | undefined,
  place: Place = {},
): Endpoints {
  const candidates = onceEach(candidatesOf(cluster, service, slices));
  const chosen = [
    ...nearest(candidates.filter(({ draining }) => !draining), place),
    ...candidates.filter(({ draining }) => draining),
  ];
  const zones = Map.groupBy(chosen, ({ zone }) => zone);
  const localities = [...zones].sort(([a], [b]) => a < b ? -1 : 1).map(([zone, endpoints]) => ({
    zone,
    endpoints: endpoints.map(({ address, port, draining }) => ({ address, port, draining })).sort(compare),
  }));
  return { cluster: cluster.name, localities };
}

/** By `ADDRESS|PORT`. While an endpoint moves from one slice to another both may show it; the livelier view counts. */
function candidatesOf(
  { port: servicePort }: ClusterSpec,
  service: Service | undefined,
  slices: Group<EndpointSlice> | undefined,
): ReadonlyMap<string, Candidate> {
  const { ipFamilies = [] } = service?.spec ?? {};
  const ports = service ? tcpPorts(service) : [];
  const portName = ports.find(({ port }) => port === servicePort)?.name ?? "";
  const families: readonly string[] = ipFamilies.length > 0 ? ipFamilies : everyFamily;
  const candidates = new Map<string, Candidate>();
  for (const slice of slices?.values() ?? []) {
    const family = families.indexOf(slice.addressType);
    if (family < 0) continue;
    const port = slice.ports?.find(({ name = "", protocol = "TCP" }) =>
      name === portName && protocol === "TCP"
    )?.port;
    if (!port) continue;
    for (const { addresses, zone = "", conditions = {}, targetRef, hints } of slice.endpoints ?? []) {
      // With several addresses each is as good as the others.
      const [address] = addresses;
      const state = stateOf(conditions);
      if (address === undefined || state === undefined) continue;
      const id = `${address}|${port}`;
      const known = candidates.get(id);
      const draining = state === "draining";
      if (known && known.draining <= draining) continue;
      const target = targetRef?.name &&
        [targetRef.kind, targetRef.namespace, targetRef.name, targetRef.uid].join("/");
      candidates.set(id, {
        address,
        port,
        draining,
        zone,
        family,
        ...target && { target },
        ...hints && { hints },
      });
    }
  }
  return candidates;
}

/**
 * What `ready` says comes first: with `publishNotReadyAddresses` it is true of endpoints that start or end, too. Only where it
 * is false do `serving` and `terminating` count. They are true, true and false unless said otherwise.
 */
function stateOf(
  { ready = true, serving = true, terminating = false }: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  },
): "ready" | "draining" | undefined {
  if (ready) return "ready";
  return serving && terminating ? "draining" : undefined;
}

/**
 * Leaves one family to everything that has addresses of two, or it would get twice its share: that in which it is ready,
 * and of these the one that the Service prefers. Endpoints that do not say what they stand for are all different.
 */
function onceEach(candidates: ReadonlyMap<string, Candidate>): readonly Candidate[] {
  const all = [...candidates.values()];
  const best = new Map<string, Candidate>();
  for (const candidate of all) {
    if (candidate.target === undefined) continue;
    const other = best.get(candidate.target);
    if (other && !isBetter(candidate, other)) continue;
    best.set(candidate.target, candidate);
  }
  return all.filter(({ target, family }) => target === undefined || best.get(target)?.family === family);
}

function isBetter(one: Candidate, other: Candidate): boolean {
  return one.draining === other.draining ? one.family < other.family : !one.draining;
}

function compare(a: Endpoint, b: Endpoint): number {
  if (a.address !== b.address) return a.address < b.address ? -1 : 1;
  return a.port - b.port;
}
