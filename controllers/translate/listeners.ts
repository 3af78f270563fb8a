/**
 * What a listener asks for, checked: the kinds of routes that it takes and what it shares a port with. The listeners
 * of a Gateway and of a ListenerSet are read alike; only who wins where they meet differs.
 *
 * @module
 */
import type { Gateway, Listener as ListenerSpec, SecretObjectReference } from "../../crds/mod.ts";
import type { Origin } from "../ir/mod.ts";
import type { Key } from "../runtime/graph.ts";
import { type AllowedNamespaces, modelNamespaces } from "./allowed_namespaces.ts";
import { enumerate, type Fault } from "./conditions.ts";
import { namespaceOf, splitOrigin } from "./keys.ts";
import { hostnamePatternFault } from "./validate.ts";

export const gatewayGroup = "gateway.networking.k8s.io";

/** A group and kind of routes, as in a listener's `supportedKinds`. */
export interface RouteGroupKind {
  readonly group: string;
  readonly kind: string;
}

/** A listener of a Gateway or of a ListenerSet. */
export interface Listener {
  /** Tells it apart from all others; also the piece of the data plane that it is, as in `OWNER/listener/NAME`. */
  readonly id: Key;
  /** The Gateway or the ListenerSet that it is in. */
  readonly owner: Origin;
  /** Unique within its owner. */
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  /** `*` if it has none. */
  readonly hostname: string;
  /** The kinds of routes that may attach. */
  readonly kinds: readonly RouteGroupKind[];
  readonly namespaces: AllowedNamespaces;
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

/** How a Gateway has clients of its ports proved who they are, those that ListenerSets add included. */
export interface Frontend {
  readonly tls: NonNullable<Gateway["spec"]["tls"]>["frontend"];
  /** That of the Gateway, which the references are made by. */
  readonly namespace: string;
}

/** Reads the listeners of one owner. Conflicts are not looked for. */
export function modelListeners(
  owner: Origin,
  listeners: readonly ListenerSpec[],
  frontend: Frontend,
): readonly Listener[] {
  return listeners.map((listener) => modelListener(listener, owner, frontend));
}

function modelListener(listener: ListenerSpec, owner: Origin, frontend: Frontend): Listener {
  const { name, port, protocol } = listener;
  const [, key] = splitOrigin(owner);
  const ownNamespace = namespaceOf(key);
  const known = Object.hasOwn(protocols, protocol) ? protocols[protocol] : undefined;
  const refused = refusal(listener);
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
    id: `${owner}/listener/${name}`,
    owner,
    name,
    port,
    protocol,
    hostname: known?.hostnames === false ? "*" : listener.hostname || "*",
    kinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
    namespaces: modelNamespaces(listener.allowedRoutes?.namespaces, "Same"),
    ...protocol === "HTTPS" && {
      certificates: (listener.tls?.certificateRefs ?? []).map((ref) => secretRef(ref, ownNamespace)),
      ...clientsOf(port, frontend),
    },
    ...refused && { refused },
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

/** Why a listener cannot be served, whatever else there is. */
function refusal({ protocol, hostname, filters }: ListenerSpec): Fault | undefined {
  const known = Object.hasOwn(protocols, protocol) ? protocols[protocol] : undefined;
  if (!known?.served) {
    return {
      reason: "UnsupportedProtocol",
      message: `Cannot serve protocol "${protocol}": supported are ${enumerate(servedProtocols)}`,
    };
  }
  const problem = known.hostnames && hostname ? hostnamePatternFault(hostname) : undefined;
  if (problem) return { reason: "UnsupportedValue", message: `hostname: ${problem}` };
  // They may be there to keep somebody out: without them is not an option.
  if ((filters?.requests?.length ?? 0) > 0) {
    return {
      reason: "UnsupportedValue",
      message: "Cannot serve a listener with filters: they are not supported, remove them",
    };
  }
  return undefined;
}

/** A reference to a Secret, with what was left to defaults. */
export function secretRef(
  { group = "", kind = "Secret", namespace, name }: SecretObjectReference,
  ownNamespace: string,
): ObjectRef {
  return { group, kind, namespace: namespace ?? ownNamespace, name };
}

/** What is asked of clients at a port: what is said of just this port stands in place of the default. */
function clientsOf(port: number, { tls, namespace: ownNamespace }: Frontend): Pick<Listener, "clients"> {
  const own = tls?.perPort?.find((one) => one.port === port)?.tls ?? tls?.default;
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

/** Where a Gateway lets in clients without a valid certificate, whatever listeners there are. */
export function insecurePlaces({ tls }: Frontend): readonly string[] {
  const isInsecure = (config: NonNullable<typeof tls>["default"] | undefined) =>
    config?.validation?.mode === "AllowInsecureFallback";
  const ports = (tls?.perPort ?? []).flatMap(({ port, tls }) => isInsecure(tls) ? [`on port ${port}`] : []);
  return isInsecure(tls?.default) ? ["by default", ...ports] : ports;
}

const servedProtocols = Object.keys(protocols).filter((protocol) => protocols[protocol]?.served);

function qualified(
  { group = gatewayGroup, kind }: { readonly group?: string; readonly kind: string },
): string {
  return group === gatewayGroup ? kind : `${group}/${kind}`;
}

/**
 * Marks those listeners of one owner that are not distinct: none of them wins. Listeners are told apart by port and hostname; those
 * of different protocols can share a port only where the protocol is seen before a choice is made (TLS and HTTPS).
 */
export function withConflicts(listeners: readonly Listener[]): readonly Listener[] {
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
  const sameHostname = samePort.filter((other) => other.hostname === listener.hostname);
  if (otherProtocol.length > 0) return protocolConflict(listener, sameHostname[0], quote(otherProtocol));
  if (sameHostname.length > 0) {
    const hostname = listener.hostname === "*" ? "no hostname" : `hostname "${listener.hostname}"`;
    return {
      reason: "HostnameConflict",
      message: `Cannot tell it from ${quote(sameHostname)}: same port ${listener.port} and ${hostname}`,
    };
  }
  return undefined;
}

/**
 * The conflict of a listener with `others` that have another protocol. If it has a hostname in common with one, `same`, that
 * is a conflict of both kinds, for which ListenerSets have a reason of its own.
 */
export function protocolConflict(listener: Listener, same: Listener | undefined, others: string): Fault {
  const both = listener.owner.startsWith("ListenerSet/") && same !== undefined &&
    [listener, same].every(({ protocol }) => protocols[protocol]?.hostnames);
  return {
    reason: both ? "ListenerConflict" : "ProtocolConflict",
    message: `Cannot share port ${listener.port} with ${others}: the protocols differ` +
      (both ? ", and the hostname is taken, too" : ""),
  };
}

/** What carries a listener's protocol. */
export function transport({ protocol }: Listener): "tcp" | "udp" {
  return protocols[protocol]?.transport ?? "tcp";
}

/** Whether listeners of two protocols can share a port. */
export function compatible(a: string, b: string): boolean {
  const encrypted = (protocol: string) => protocol === "HTTPS" || protocol === "TLS";
  return a === b || encrypted(a) && encrypted(b);
}

function quote(listeners: readonly Listener[]): string {
  return `listener${listeners.length > 1 ? "s" : ""} ${enumerate(listeners.map(({ name }) => `"${name}"`))}`;
}
