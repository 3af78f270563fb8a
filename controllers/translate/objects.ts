/**
 * The objects that translation reads.
 *
 * Their types promise what a schema fills in, but an API server may have older schemas than ours: what has a default
 * is read as if it could be missing.
 *
 * @module
 */
import type {
  ApiObject,
  BackendTLSPolicy,
  ConfigMap,
  EndpointSlice,
  EnvoyFleet,
  Gateway,
  GatewayClass,
  GRPCRoute,
  HTTPRoute,
  ListenerSet,
  Namespace,
  ParentReference,
  ReferenceGrant,
  RouteStatus,
  Secret,
  Service,
  TCPRoute,
  TLSRoute,
  UDPRoute,
} from "../../crds/mod.ts";

/** Every kind that translation reads. */
export interface ObjectTypes {
  readonly EnvoyFleet: EnvoyFleet;
  readonly GatewayClass: GatewayClass;
  readonly Gateway: Gateway;
  readonly ListenerSet: ListenerSet;
  readonly HTTPRoute: HTTPRoute;
  readonly GRPCRoute: GRPCRoute;
  readonly TLSRoute: TLSRoute;
  readonly TCPRoute: TCPRoute;
  readonly UDPRoute: UDPRoute;
  readonly ReferenceGrant: ReferenceGrant;
  readonly BackendTLSPolicy: BackendTLSPolicy;
  readonly Namespace: Namespace;
  readonly Service: Service;
  readonly EndpointSlice: EndpointSlice;
  readonly Secret: Secret;
  readonly ConfigMap: ConfigMap;
  /** Its metadata alone. */
  readonly CustomResourceDefinition: ApiObject;
}

/** What all kinds of routes have in common. */
export interface RouteObject extends ApiObject {
  readonly spec: {
    readonly parentRefs?: readonly ParentReference[] | undefined;
    readonly hostnames?: readonly string[] | undefined;
  };
  readonly status?: RouteStatus | undefined;
}
