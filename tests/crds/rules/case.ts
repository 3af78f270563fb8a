/**
 * What a case of a rule is, and how one is written down.
 *
 * @module
 */
import { type ApiObject, apiVersion, type Kind, type Surface } from "../../../crds/mod.ts";

export type Json = { readonly [field: string]: unknown };

export interface RuleCase {
  readonly kinds: readonly string[];
  readonly message: string;
  /** Where the rule is reported. */
  readonly field: string;
  /** Specs, or whole objects without apiVersion, kind and metadata where there is a `status`. */
  readonly keeps: Json;
  readonly breaks: Json;
  /** The spec that is replaced by `keeps` and `breaks`. */
  readonly old?: Json;
  readonly surface?: Partial<Surface>;
  readonly version?: string;
  /** Other errors that cannot be kept apart from this one. */
  readonly also?: readonly string[];
}

export const routes = ["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"];
export const listenerKinds = ["Gateway", "ListenerSet"];
export const requestRoutes = ["HTTPRoute", "GRPCRoute"];
export const standard = { channel: "standard" } as const;
export const v16 = { release: "1.6" } as const;

export const rule = (parts: Json): Json => ({ rules: [parts] });
export const backend: Json = { name: "web", port: 80 };

export function cases(
  kinds: readonly string[],
  field: string,
  make: (parts: never) => Json,
  table: readonly (readonly [message: string, keeps: unknown, breaks: unknown, also?: readonly string[]])[],
  more: Partial<RuleCase> = {},
): RuleCase[] {
  const of = make as (parts: unknown) => Json;
  return table.map(([message, keeps, breaks, also]) => ({
    kinds,
    message,
    field,
    keeps: of(keeps),
    breaks: of(breaks),
    ...(also ? { also } : {}),
    ...more,
  }));
}

export const http: Json = { name: "a", port: 80, protocol: "HTTP" };
export const target: Json = { group: "", kind: "Service", name: "web" };
export const anyHost = String.raw`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`;
/** What a spec needs besides what a case is about. */
const frames: { readonly [kind: string]: Json } = {
  GatewayClass: { controllerName: "example.com/controller" },
  Gateway: { gatewayClassName: "c", listeners: [http] },
  ListenerSet: { parentRef: { name: "g" }, listeners: [http] },
  HTTPRoute: {},
  GRPCRoute: {},
  TLSRoute: { hostnames: ["a.example.com"], rules: [{ backendRefs: [backend] }] },
  TCPRoute: { rules: [{ backendRefs: [backend] }] },
  UDPRoute: { rules: [{ backendRefs: [backend] }] },
  BackendTLSPolicy: {
    targetRefs: [target],
    validation: { hostname: "a", wellKnownCACertificates: "System" },
  },
};

/** The whole object of a case. */
export function objectOf(kind: Kind, parts: Json, version: string): ApiObject {
  const { status, spec = parts } = parts;
  return {
    apiVersion: apiVersion(kind, version),
    kind: kind.kind,
    metadata: { name: "x" },
    spec: { ...frames[kind.kind], ...spec as object },
    ...(status === undefined ? {} : { status }),
  } as ApiObject;
}
