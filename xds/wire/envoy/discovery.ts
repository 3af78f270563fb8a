/**
 * The delta discovery protocol itself.
 *
 * @module
 */
import { anyOf, Duration, field, type Infer, int32, map, message, repeated, string } from "../mod.ts";
import { Cluster, ClusterLoadAssignment } from "./cluster.ts";
import { Listener } from "./listener.ts";
import { RouteConfiguration, VirtualHost } from "./route.ts";
import { Secret } from "./tls.ts";
import { Node } from "./core.ts";

export const Status = message("google.rpc.Status", {
  code: field(1, int32),
  message: field(2, string),
});
export type Status = Infer<typeof Status>;

export const Resource = message("envoy.service.discovery.v3.Resource", {
  name: field(3, string),
  version: field(1, string),
  resource: field(
    2,
    anyOf(Cluster, ClusterLoadAssignment, Listener, RouteConfiguration, VirtualHost, Secret),
  ),
  ttl: field(6, Duration),
}, { memo: true });
export type Resource = Infer<typeof Resource>;

export const DeltaDiscoveryRequest = message("envoy.service.discovery.v3.DeltaDiscoveryRequest", {
  node: field(1, Node),
  type_url: field(2, string),
  resource_names_subscribe: repeated(3, string),
  resource_names_unsubscribe: repeated(4, string),
  initial_resource_versions: map(5, string),
  response_nonce: field(6, string),
  error_detail: field(7, Status),
});
export type DeltaDiscoveryRequest = Infer<typeof DeltaDiscoveryRequest>;

export const DeltaDiscoveryResponse = message("envoy.service.discovery.v3.DeltaDiscoveryResponse", {
  system_version_info: field(1, string),
  resources: repeated(2, Resource),
  type_url: field(4, string),
  removed_resources: repeated(6, string),
  nonce: field(5, string),
});
export type DeltaDiscoveryResponse = Infer<typeof DeltaDiscoveryResponse>;
