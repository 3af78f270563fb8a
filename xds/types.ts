/**
 * The seams of the xDS server: resources in, progress of the proxies out.
 *
 * @module
 */
import type { GatewayKey, ResourceId } from "../controllers/ir/mod.ts";
import type { Key } from "../controllers/runtime/graph.ts";

/** The resource types that Gatehouse serves, in the order in which they are sent. */
export const typeUrls = {
  cluster: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  endpoints: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  secret: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
  listener: "type.googleapis.com/envoy.config.listener.v3.Listener",
  routes: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
} as const;

export type ResourceType = keyof typeof typeUrls;

/** One resource of one Gateway. Row key: `GATEWAY|RESOURCEID`. */
export interface XdsResource {
  readonly gateway: GatewayKey;
  readonly id: ResourceId;
  readonly type: ResourceType;
  readonly name: string;
  /**
   * A hash of the content: equal content has equal versions, on every replica and after every restart. The version of
   * endpoints changes with their cluster's as well.
   */
  readonly version: string;
  /** The serialized `envoy.service.discovery.v3.Resource`, in pieces that are to be sent one after the other. */
  readonly bytes: readonly Uint8Array[];
  /** What a proxy must have before this is of use to it, in sets that are shared with other versions. */
  readonly needs: Needs;
}

/** Resources in sets, which may overlap. */
export type Needs = readonly ReadonlySet<ResourceId>[];

/** Whether a resource is in one of the sets. */
export function isNeeded(id: ResourceId, needs: Needs): boolean {
  return needs.some((ids) => ids.has(id));
}

/** The row key of a resource. */
export function resourceKey(gateway: GatewayKey, id: ResourceId): Key {
  return `${gateway}|${id}`;
}

/** The parts of a {@linkcode resourceKey}. */
export function splitResourceKey(key: Key): { readonly gateway: GatewayKey; readonly id: ResourceId } {
  const bar = key.indexOf("|");
  return { gateway: key.slice(0, bar), id: key.slice(bar + 1) as ResourceId };
}

/** What a stream tells about one proxy. */
export type ProxyEvent =
  | {
    readonly type: "connected";
    readonly proxy: string;
    readonly gateway: GatewayKey;
    /** What it runs, as in `envoy 1.40.0`. */
    readonly software: string;
  }
  | { readonly type: "disconnected"; readonly proxy: string; readonly gateway: GatewayKey }
  /** It has said which listeners it has; each of them was told as acknowledged before. */
  | { readonly type: "listed"; readonly proxy: string; readonly gateway: GatewayKey }
  | {
    readonly type: "acked";
    readonly proxy: string;
    readonly gateway: GatewayKey;
    readonly id: ResourceId;
    /** The version that the proxy now has; absent once it has removed the resource. */
    readonly version?: string;
  }
  | {
    readonly type: "nacked";
    readonly proxy: string;
    readonly gateway: GatewayKey;
    readonly id: ResourceId;
    readonly version: string;
    /** Envoy's own words. */
    readonly message: string;
  };
