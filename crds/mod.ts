/**
 * The typed model: every kind that Gatehouse knows, as a constant and as a type.
 *
 * @module
 */
import { customResourceDefinition } from "./core/custom_resource_definition.ts";
import { configMap, secret } from "./core/config.ts";
import { endpointSlice } from "./core/endpoint_slice.ts";
import { event, eventsEvent } from "./core/event.ts";
import { lease } from "./core/lease.ts";
import { namespace, serviceAccount } from "./core/namespace.ts";
import { pod } from "./core/pod.ts";
import { horizontalPodAutoscaler, podDisruptionBudget } from "./core/scaling.ts";
import { service } from "./core/service.ts";
import { daemonSet, deployment } from "./core/workload.ts";
import { envoyFleet } from "./gatehouse/envoy_fleet.ts";
import { backendTLSPolicy } from "./gateway/backend_tls_policy.ts";
import { gateway } from "./gateway/gateway.ts";
import { gatewayClass } from "./gateway/gateway_class.ts";
import { grpcRoute } from "./gateway/grpc_route.ts";
import { httpRoute } from "./gateway/http_route.ts";
import { tcpRoute, udpRoute } from "./gateway/l4_route.ts";
import { listenerSet } from "./gateway/listener_set.ts";
import { referenceGrant } from "./gateway/reference_grant.ts";
import { tlsRoute } from "./gateway/tls_route.ts";
import { type ApiObject, type Kind, splitApiVersion } from "./kind.ts";

export * from "./kind.ts";
export type { LabelSelector } from "./meta.ts";
export { newest, type Release, releases, type Surface } from "./schema/surface.ts";

export {
  backendTLSPolicy,
  gateway,
  gatewayClass,
  grpcRoute,
  httpRoute,
  listenerSet,
  referenceGrant,
  tcpRoute,
};
export { tlsRoute, udpRoute };
export {
  configMap,
  customResourceDefinition,
  daemonSet,
  deployment,
  endpointSlice,
  event,
  eventsEvent,
  horizontalPodAutoscaler,
  lease,
  namespace,
  pod,
  podDisruptionBudget,
  secret,
};
export { service, serviceAccount };
export { envoyFleet };

export type {
  BackendTLSPolicy,
  LocalPolicyTargetReferenceWithSectionName,
  PolicyAncestorStatus,
  PolicyStatus,
  SubjectAltName,
} from "./gateway/backend_tls_policy.ts";
export type { GatewaySpecAddress, GatewayStatusAddress } from "./gateway/address.ts";
export type { HTTPExternalAuthFilter, HTTPHeaderFilter, HTTPRequestMirrorFilter } from "./gateway/filters.ts";
export type {
  FrontendTLSConfig,
  Gateway,
  GatewayInfrastructure,
  GatewayTLSConfig,
  Listener,
} from "./gateway/gateway.ts";
export type { GatewayClass } from "./gateway/gateway_class.ts";
export type {
  GRPCBackendRef,
  GRPCMethodMatch,
  GRPCRoute,
  GRPCRouteFilter,
  GRPCRouteMatch,
  GRPCRouteRule,
} from "./gateway/grpc_route.ts";
export type {
  HTTPCORSFilter,
  HTTPPathModifier,
  HTTPRequestRedirectFilter,
  HTTPRouteFilter,
  HTTPURLRewriteFilter,
} from "./gateway/http_filters.ts";
export type { HTTPRoute } from "./gateway/http_route.ts";
export type {
  HTTPBackendRef,
  HTTPPathMatch,
  HTTPRouteMatch,
  HTTPRouteRetry,
  HTTPRouteRule,
  HTTPRouteTimeouts,
} from "./gateway/http_route_rule.ts";
export type { L4RouteRule, TCPRoute, UDPRoute } from "./gateway/l4_route.ts";
export type { AllowedRoutes, ListenerStatus, ListenerTLSConfig, RouteGroupKind } from "./gateway/listener.ts";
export type { ListenerEntry, ListenerSet, ParentGatewayReference } from "./gateway/listener_set.ts";
export type { ReferenceGrant } from "./gateway/reference_grant.ts";
export type {
  BackendObjectReference,
  BackendRef,
  LocalObjectReference,
  ObjectReference,
  ParentReference,
  SecretObjectReference,
} from "./gateway/references.ts";
export type { RouteParentStatus, RouteStatus } from "./gateway/route.ts";
export type { SessionPersistence } from "./gateway/session_persistence.ts";
export type { TLSRoute } from "./gateway/tls_route.ts";
export type { EnvoyFleet, EnvoyFleetSpec } from "./gatehouse/envoy_fleet.ts";
export type { Affinity, Toleration, TopologySpreadConstraint } from "./gatehouse/placement.ts";
export type { ConfigMap, Secret } from "./core/config.ts";
export type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
} from "./core/custom_resource_definition.ts";
export type { Endpoint, EndpointPort, EndpointSlice } from "./core/endpoint_slice.ts";
export type { Event, EventsEvent } from "./core/event.ts";
export type { Lease } from "./core/lease.ts";
export type { Namespace, ServiceAccount } from "./core/namespace.ts";
export type { Pod } from "./core/pod.ts";
export type { HorizontalPodAutoscaler, PodDisruptionBudget } from "./core/scaling.ts";
export type { Service, ServicePort, ServiceSpec } from "./core/service.ts";
export type { DaemonSet, Deployment } from "./core/workload.ts";

export const gatewayKinds: readonly Kind[] = [
  gatewayClass,
  gateway,
  listenerSet,
  httpRoute,
  grpcRoute,
  tlsRoute,
  tcpRoute,
  udpRoute,
  referenceGrant,
  backendTLSPolicy,
];

/** Kinds that mean nothing without a cluster that runs pods. */
export const workloadKinds: readonly Kind[] = [
  pod,
  deployment,
  daemonSet,
  horizontalPodAutoscaler,
  podDisruptionBudget,
];

export const coreKinds: readonly Kind[] = [
  namespace,
  service,
  endpointSlice,
  secret,
  configMap,
  serviceAccount,
  event,
  eventsEvent,
  lease,
  customResourceDefinition,
  ...workloadKinds,
];

/** The kinds of our own group, whose definitions are generated from here. */
export const gatehouseKinds: readonly Kind[] = [envoyFleet];

export const allKinds: readonly Kind[] = [...gatewayKinds, ...gatehouseKinds, ...coreKinds];

const byName = new Map(allKinds.map((kind) => [`${kind.group}/${kind.kind}`, kind]));

/** The kind of that name, such as `kindOf("", "Service")`. */
export const kindOf = (group: string, kind: string): Kind<ApiObject> | undefined =>
  byName.get(`${group}/${kind}`);

/** The kind that an object says it is of. */
export const kindFor = (
  { apiVersion, kind }: Pick<ApiObject, "apiVersion" | "kind">,
): Kind<ApiObject> | undefined => kindOf(splitApiVersion(apiVersion).group, kind);
