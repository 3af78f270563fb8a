/**
 * Everything that translation starts from: what was observed in the cluster and what the data plane reported.
 *
 * @module
 */
import type { GatewayKey, Proxy, Rejection, Verdict } from "../ir/mod.ts";
import type { Graph, Source, Table } from "../runtime/graph.ts";
import type { ObjectTypes } from "./objects.ts";

/** Where a port of a Gateway really is. */
export type PortState =
  /** Bound; `port` differs from the listener's where that one may not be bound. */
  | { readonly state: "bound"; readonly port: number }
  /** Cannot be bound; `message` says why and what to do. */
  | { readonly state: "failed"; readonly message: string };

/** The addresses of one Gateway. */
export interface Addresses {
  /** What clients connect to, for `status.addresses`. */
  readonly assigned: readonly { readonly type: "IPAddress" | "Hostname"; readonly value: string }[];
  /** IP addresses that its proxies bind; empty means every address. */
  readonly bind: readonly string[];
  /** Only ports about which there is something to say; by number, with `/udp` appended for UDP. */
  readonly ports?: { readonly [port: string]: PortState };
  /** Addresses of the spec that cannot be used, with the reason and the remedy. */
  readonly unusable?: readonly { readonly value: string; readonly message: string }[];
}

/** Why something that a Gateway needs could not be written. */
export interface Refusal {
  readonly gateway: GatewayKey;
  /** A reason of the condition Programmed. */
  readonly reason: string;
  /** Names the object and the remedy. */
  readonly message: string;
}

/** What is told from outside wherever the proxies run. */
export interface Sources {
  /** The observed objects by kind; rows are keyed `namespace/name`, or `name` where there are no namespaces. */
  readonly objects: { readonly [K in keyof ObjectTypes]: Source<ObjectTypes[K]> };
  /** Row key: `GATEWAY|ORIGIN`. */
  readonly verdicts: Source<Verdict>;
  /** Row key: `GATEWAY|PIECE`. */
  readonly rejections: Source<Rejection>;
  /** Row key: whatever tells the writes apart. Known to the replica that writes, as it is the one that writes statuses. */
  readonly refusals: Source<Refusal>;
  /**
   * The time, in milliseconds since 1970, under the key `now`: for what becomes untrue by itself, such as the validity of
   * certificates. Set it each `timeStep`; without it nothing ever expires.
   */
  readonly time: Source<number>;
}

/** What `deriveIr` starts from. Proxies and addresses are told, or derived from what is observed of them. */
export interface World extends Sources {
  /** Row key: Gateway. */
  readonly proxies: Table<readonly Proxy[]>;
  /** Row key: Gateway. No row: nothing has been assigned yet. */
  readonly addresses: Table<Addresses>;
  /** Row key: Gateway. Why its proxies cannot run, where what they run on is short of something; for people. */
  readonly shortages?: Table<string>;
}

/** A world in which whoever runs the proxies tells of them. */
export interface ToldWorld extends World {
  readonly proxies: Source<readonly Proxy[]>;
  readonly addresses: Source<Addresses>;
  readonly shortages: Source<string>;
}

const gateway = "gateway.networking.k8s.io";

/** The API group of each kind that translation reads. */
export const groups: { readonly [K in keyof ObjectTypes]: string } = {
  EnvoyFleet: "gatehouse.dev",
  GatewayClass: gateway,
  Gateway: gateway,
  ListenerSet: gateway,
  HTTPRoute: gateway,
  GRPCRoute: gateway,
  TLSRoute: gateway,
  TCPRoute: gateway,
  UDPRoute: gateway,
  ReferenceGrant: gateway,
  BackendTLSPolicy: gateway,
  Namespace: "",
  Service: "",
  EndpointSlice: "discovery.k8s.io",
  Secret: "",
  ConfigMap: "",
  CustomResourceDefinition: "apiextensions.k8s.io",
};

/** The kinds of whose objects only the metadata is read. Without them everything works, so nothing has to wait for them. */
export const metadataOnly: ReadonlySet<keyof ObjectTypes> = new Set(["CustomResourceDefinition"] as const);

/** The kinds that translation reads: those to watch where they are served. */
export const kinds = Object.keys(groups) as readonly (keyof ObjectTypes)[];

export function createSources(graph: Graph): Sources {
  const objects = Object.fromEntries(kinds.map((kind) => [kind, graph.source(kind)]));
  return {
    objects: objects as Sources["objects"],
    verdicts: graph.source("verdicts"),
    rejections: graph.source("rejections"),
    refusals: graph.source("refusals"),
    time: graph.source("time"),
  };
}

export function createWorld(graph: Graph): ToldWorld {
  return {
    ...createSources(graph),
    proxies: graph.source("proxies"),
    addresses: graph.source("addresses"),
    shortages: graph.source("shortages"),
  };
}
