/**
 * What a Gateway asks for, checked: its listeners with the kinds of routes they take and the conflicts between them.
 *
 * Says nothing that depends on other Gateways, on routes, or on how far the data plane is.
 *
 * @module
 */
import type {
  Gateway,
  LabelSelector,
  Listener as ListenerSpec,
  SecretObjectReference,
} from "../../crds/mod.ts";
import type { Read, Table } from "../runtime/graph.ts";
import type { Class } from "./classes.ts";
import { bug, enumerate, type Fault } from "./conditions.ts";

export const gatewayGroup = "gateway.networking.k8s.io";

/** A group and kind of routes, as in a listener's `supportedKinds`. */
export interface RouteGroupKind {
  readonly group: string;
  readonly kind: string;
}

/** A listener of a Gateway. */
export interface Listener {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  /** `*` if it has none. */
  readonly hostname: string;
  /** The kinds of routes that may attach. */
  readonly kinds: readonly RouteGroupKind[];
  readonly namespaces: RouteNamespaces;
  /** Where the certificates are that it shows; absent where TLS does not end here. */
  readonly certificates?: readonly ObjectRef[];
  /** What is asked of clients there; nothing if absent. */
  readonly clients?: ClientValidation;
  /** Why it is Conflicted. */
  readonly conflict?: Fault;
  /** Why it is not Accepted. */
  readonly refused?: Fault;
  /** Why its references are not resolved. */
  readonly unresolved?: Fault;
}

/** Which certificates clients have to show. */
export interface ClientValidation {
  readonly authorities: readonly ObjectRef[];
  /** Whether a client without a valid certificate is turned away. */
  readonly required: boolean;
}

/** A reference to an object, with what was left to defaults. */
export interface ObjectRef {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export type RouteNamespaces =
  | { readonly from: "All" | "Same" | "None" }
  | { readonly from: "Selector"; readonly selector: LabelSelector };

/** A Gateway that is ours. Row key: `namespace/name`. */
export interface GatewayModel {
  readonly uid: string;
  readonly generation: number;
  readonly className: string;
  /** Its deletion has begun: nothing is programmed and nothing is created any more. */
  readonly terminating: boolean;
  readonly listeners: readonly Listener[];
  /** Where the certificate is that backends are shown. */
  readonly clientCertificate?: ObjectRef;
  /** IP addresses that the spec asks for. */
  readonly requested: readonly string[];
  readonly infrastructure: {
    readonly labels: { readonly [name: string]: string };
    readonly annotations: { readonly [name: string]: string };
  };
  /** Why the whole of it is not Accepted. */
  readonly refused?: Fault;
}

/**
 * The protocols that a listener can have, with the kinds of routes that each carries. `served` says whether the data
 * plane does it.
 */
export const protocols: {
  readonly [protocol: string]: {
    readonly transport: "tcp" | "udp";
    readonly hostnames: boolean;
    readonly kinds: readonly string[];
    readonly served: boolean;
  };
} = {
  HTTP: { transport: "tcp", hostnames: true, kinds: ["HTTPRoute"], served: true },
  HTTPS: { transport: "tcp", hostnames: true, kinds: ["HTTPRoute"], served: true },
  TLS: { transport: "tcp", hostnames: true, kinds: ["TLSRoute"], served: false },
  TCP: { transport: "tcp", hostnames: false, kinds: ["TCPRoute"], served: false },
  UDP: { transport: "udp", hostnames: false, kinds: ["UDPRoute"], served: false },
};

/** Reads a Gateway; `undefined` if its class is not ours. */
export function modelGateway(gateway: Gateway, read: Read, classes: Table<Class>): GatewayModel | undefined {
  const { metadata, spec } = gateway;
  const ownClass = read(classes, spec.gatewayClassName);
  if (ownClass === undefined) return undefined;
  const refused = refusal(gateway, ownClass);
  const namespace = metadata.namespace ?? "";
  const clientCertificate = spec.tls?.backend?.clientCertificateRef;
  return {
    uid: metadata.uid ?? "",
    generation: metadata.generation ?? 0,
    className: spec.gatewayClassName,
    terminating: metadata.deletionTimestamp !== undefined,
    listeners: withConflicts(
      spec.listeners.map((listener) => modelListener(listener, namespace, spec.tls?.frontend)),
    ),
    ...clientCertificate && { clientCertificate: secretRef(clientCertificate, namespace) },
    requested: (spec.addresses ?? []).flatMap(({ type = "IPAddress", value }) =>
      type === "IPAddress" && value ? [value] : []
    ),
    infrastructure: {
      labels: spec.infrastructure?.labels ?? {},
      annotations: spec.infrastructure?.annotations ?? {},
    },
    ...refused && { refused },
  };
}

/** What stands for a Gateway that could not be read because of a bug: it is refused, and says so. */
export function unreadableGateway({ metadata, spec }: Gateway, error: unknown): GatewayModel {
  return {
    uid: metadata.uid ?? "",
    generation: metadata.generation ?? 0,
    className: spec.gatewayClassName,
    terminating: metadata.deletionTimestamp !== undefined,
    listeners: [],
    requested: [],
    infrastructure: { labels: {}, annotations: {} },
    refused: bug("read this Gateway", error),
  };
}

/** What makes a Gateway as a whole unacceptable. */
function refusal({ spec }: Gateway, ownClass: Class): Fault | undefined {
  const reference = spec.infrastructure?.parametersRef;
  if (reference) {
    const name = `${reference.group}/${reference.kind} "${reference.name}"`;
    return {
      reason: "InvalidParameters",
      message: `Cannot use spec.infrastructure.parametersRef ${name}: this kind is not supported`,
    };
  }
  if (ownClass.refused) {
    return {
      reason: "InvalidParameters",
      message: `Cannot use GatewayClass "${spec.gatewayClassName}": it is not accepted`,
    };
  }
  const odd = spec.addresses?.find(({ type = "IPAddress" }) => type !== "IPAddress");
  if (odd) {
    return {
      reason: "UnsupportedAddress",
      message: `Cannot use an address of type "${odd.type}": only IPAddress is supported`,
    };
  }
  return undefined;
}

function modelListener(
  listener: ListenerSpec,
  ownNamespace: string,
  frontend: NonNullable<Gateway["spec"]["tls"]>["frontend"],
): Listener {
  const { name, port, protocol } = listener;
  const known = Object.hasOwn(protocols, protocol) ? protocols[protocol] : undefined;
  const carried = known?.served ? known.kinds : [];
  const wanted = listener.allowedRoutes?.kinds;
  const wrong = wanted?.filter(({ group = gatewayGroup, kind }) =>
    group !== gatewayGroup || !carried.includes(kind)
  );
  const kinds = wanted && wanted.length > 0
    ? carried.filter((kind) =>
      wanted.some((w) => (w.group ?? gatewayGroup) === gatewayGroup && w.kind === kind)
    )
    : carried;
  return {
    name,
    port,
    protocol,
    hostname: known?.hostnames === false ? "*" : listener.hostname || "*",
    kinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
    namespaces: modelNamespaces(listener),
    ...protocol === "HTTPS" && {
      certificates: (listener.tls?.certificateRefs ?? []).map((ref) => secretRef(ref, ownNamespace)),
      ...clientsOf(port, ownNamespace, frontend),
    },
    ...!known?.served && {
      refused: {
        reason: "UnsupportedProtocol",
        message: `Cannot serve protocol "${protocol}": supported are ${enumerate(servedProtocols)}`,
      },
    },
    ...wrong && wrong.length > 0 && {
      unresolved: {
        reason: "InvalidRouteKinds",
        message:
          `Cannot attach ${enumerate(wrong.map(qualified))} to a listener with protocol ${protocol}: ` +
          (carried.length > 0 ? `it takes ${enumerate(carried)}` : "it takes no routes"),
      },
    },
  };
}

function secretRef(
  { group = "", kind = "Secret", namespace, name }: SecretObjectReference,
  ownNamespace: string,
): ObjectRef {
  return { group, kind, namespace: namespace ?? ownNamespace, name };
}

/** What is asked of clients at a port: what is said of just this port stands in place of the default. */
function clientsOf(
  port: number,
  ownNamespace: string,
  frontend: NonNullable<Gateway["spec"]["tls"]>["frontend"],
): Pick<Listener, "clients"> {
  const own = frontend?.perPort?.find((one) => one.port === port)?.tls ?? frontend?.default;
  if (!own?.validation) return {};
  const { caCertificateRefs, mode = "AllowValidOnly" } = own.validation;
  return {
    clients: {
      authorities: caCertificateRefs.map(({ group, kind, namespace = ownNamespace, name }) => ({
        group,
        kind,
        namespace,
        name,
      })),
      required: mode !== "AllowInsecureFallback",
    },
  };
}

const servedProtocols = Object.keys(protocols).filter((protocol) => protocols[protocol]?.served);

function qualified(
  { group = gatewayGroup, kind }: { readonly group?: string; readonly kind: string },
): string {
  return group === gatewayGroup ? kind : `${group}/${kind}`;
}

function modelNamespaces({ allowedRoutes }: ListenerSpec): RouteNamespaces {
  const { from = "Same", selector } = allowedRoutes?.namespaces ?? {};
  if (from === "Selector") return { from, selector: selector ?? {} };
  // A value that is new to us must not let in more than its author meant.
  return { from: from === "All" || from === "Same" ? from : "None" };
}

/**
 * Marks listeners that are not distinct: none of them wins. Listeners are told apart by port and hostname; those
 * of different protocols can share a port only where the protocol is seen before a choice is made (TLS and HTTPS).
 */
function withConflicts(listeners: readonly Listener[]): readonly Listener[] {
  const candidates = listeners.filter(({ refused }) => refused === undefined);
  return listeners.map((listener) => {
    const conflict = listener.refused === undefined ? conflictOf(listener, candidates) : undefined;
    return conflict ? { ...listener, conflict, refused: conflict } : listener;
  });
}

function conflictOf(listener: Listener, candidates: readonly Listener[]): Fault | undefined {
  const samePort = candidates.filter((other) =>
    other !== listener && other.port === listener.port && transport(other) === transport(listener)
  );
  const otherProtocol = samePort.filter((other) => !compatible(listener.protocol, other.protocol));
  if (otherProtocol.length > 0) {
    return {
      reason: "ProtocolConflict",
      message: `Cannot share port ${listener.port} with ${quote(otherProtocol)}: the protocols differ`,
    };
  }
  const sameHostname = samePort.filter((other) => other.hostname === listener.hostname);
  if (sameHostname.length > 0) {
    const hostname = listener.hostname === "*" ? "no hostname" : `hostname "${listener.hostname}"`;
    return {
      reason: "HostnameConflict",
      message: `Cannot tell it from ${quote(sameHostname)}: same port ${listener.port} and ${hostname}`,
    };
  }
  return undefined;
}

function transport({ protocol }: Listener): "tcp" | "udp" {
  return protocols[protocol]?.transport ?? "tcp";
}

function compatible(a: string, b: string): boolean {
  const encrypted = (protocol: string) => protocol === "HTTPS" || protocol === "TLS";
  return a === b || encrypted(a) && encrypted(b);
}

function quote(listeners: readonly Listener[]): string {
  return `listener${listeners.length > 1 ? "s" : ""} ${enumerate(listeners.map(({ name }) => `"${name}"`))}`;
}
