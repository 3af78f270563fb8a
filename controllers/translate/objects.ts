/**
 * The kinds of objects that translation reads, by name.
 *
 * @module
 */
import type { ApiObject, Condition, ObjectMeta } from "../../crds/kind.ts";

interface Namespaced<Kind extends string> extends ApiObject {
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
}

export interface ParentRef {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
  readonly sectionName?: string;
  readonly port?: number;
}

export interface BackendRef {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
  readonly port?: number;
  readonly weight?: number;
}

export interface LabelSelector {
  readonly matchLabels?: { readonly [name: string]: string };
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface GatewayClass extends Namespaced<"GatewayClass"> {
  readonly spec: {
    readonly controllerName: string;
    readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string };
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface GatewayListener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly allowedRoutes?: {
    readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector };
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

export interface Gateway extends Namespaced<"Gateway"> {
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners: readonly GatewayListener[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly infrastructure?: {
      readonly labels?: { readonly [name: string]: string };
      readonly annotations?: { readonly [name: string]: string };
      readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string };
    };
  };
  readonly status?: {
    readonly addresses?: readonly { readonly type?: string; readonly value: string }[];
    readonly conditions?: readonly Condition[];
    readonly listeners?: readonly {
      readonly name: string;
      readonly supportedKinds?: readonly { readonly group?: string; readonly kind: string }[];
      readonly attachedRoutes: number;
      readonly conditions: readonly Condition[];
    }[];
  };
}

/** What all kinds of routes have in common. */
export interface RouteObject extends ApiObject {
  readonly spec: {
    readonly parentRefs?: readonly ParentRef[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly unknown[];
  };
  readonly status?: {
    readonly parents?: readonly {
      readonly parentRef: ParentRef;
      readonly controllerName: string;
      readonly conditions?: readonly Condition[];
    }[];
  };
}

export interface HttpHeaderFilter {
  readonly set?: readonly { readonly name: string; readonly value: string }[];
  readonly add?: readonly { readonly name: string; readonly value: string }[];
  readonly remove?: readonly string[];
}

export interface HttpRouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HttpHeaderFilter;
  readonly responseHeaderModifier?: HttpHeaderFilter;
  readonly requestRedirect?: {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly port?: number;
    readonly statusCode?: number;
    readonly path?: {
      readonly type: string;
      readonly replaceFullPath?: string;
      readonly replacePrefixMatch?: string;
    };
  };
}

export interface HttpRouteMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  readonly method?: string;
  readonly headers?: readonly { readonly type?: string; readonly name: string; readonly value: string }[];
  readonly queryParams?: readonly { readonly type?: string; readonly name: string; readonly value: string }[];
}

export interface HttpRouteRule {
  readonly name?: string;
  readonly matches?: readonly HttpRouteMatch[];
  readonly filters?: readonly HttpRouteFilter[];
  readonly backendRefs?: readonly (BackendRef & { readonly filters?: readonly HttpRouteFilter[] })[];
  readonly timeouts?: unknown;
  readonly retry?: unknown;
  readonly sessionPersistence?: unknown;
}

export interface HttpRoute extends RouteObject {
  readonly kind: "HTTPRoute";
  readonly spec: Omit<RouteObject["spec"], "rules"> & { readonly rules?: readonly HttpRouteRule[] };
}

export interface ReferenceGrant extends Namespaced<"ReferenceGrant"> {
  readonly spec: {
    readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
    readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string }[];
  };
}

export interface Service extends Namespaced<"Service"> {
  readonly spec: {
    readonly type?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly protocol?: string;
      readonly appProtocol?: string;
    }[];
  };
}

export interface EndpointSlice extends Namespaced<"EndpointSlice"> {
  readonly addressType: string;
  readonly ports?: readonly {
    readonly name?: string;
    readonly port?: number;
    readonly protocol?: string;
    readonly appProtocol?: string;
  }[];
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly zone?: string;
    readonly conditions?: {
      readonly ready?: boolean;
      readonly serving?: boolean;
      readonly terminating?: boolean;
    };
  }[];
}

/** Every kind that translation reads. */
export interface ObjectTypes {
  readonly GatewayClass: GatewayClass;
  readonly Gateway: Gateway;
  readonly ListenerSet: ApiObject;
  readonly HTTPRoute: HttpRoute;
  readonly GRPCRoute: RouteObject;
  readonly TLSRoute: RouteObject;
  readonly TCPRoute: RouteObject;
  readonly UDPRoute: RouteObject;
  readonly ReferenceGrant: ReferenceGrant;
  readonly BackendTLSPolicy: ApiObject;
  readonly Namespace: ApiObject;
  readonly Service: Service;
  readonly EndpointSlice: EndpointSlice;
  readonly Secret: ApiObject;
  readonly ConfigMap: ApiObject;
}
