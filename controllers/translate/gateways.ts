/**
 * What a Gateway asks for, checked.
 *
 * Says nothing that depends on other Gateways, on routes, or on how far the data plane is.
 *
 * @module
 */
import type { Gateway } from "../../crds/mod.ts";
import type { Key, Read, Table } from "../runtime/graph.ts";
import { type AllowedNamespaces, modelNamespaces } from "./allowed_namespaces.ts";
import type { Class } from "./classes.ts";
import type { Config } from "./config.ts";
import { bug, type Fault } from "./conditions.ts";
import { type Fleet, mergeFleet } from "./fleet.ts";
import { type FleetModel, resolveParameters } from "./fleets.ts";
import { type Frontend, type Listener, modelListeners, type ObjectRef, secretRef } from "./listeners.ts";

/** A Gateway that is ours. Row key: `namespace/name`. */
export interface GatewayModel {
  readonly uid: string;
  readonly generation: number;
  readonly className: string;
  /** Its deletion has begun: nothing is programmed and nothing is created any more. */
  readonly terminating: boolean;
  readonly listeners: readonly Listener[];
  /** Where ListenerSets may come from. */
  readonly allowedListeners: AllowedNamespaces;
  /** What is asked of clients, on the ports of ListenerSets too. */
  readonly frontend: Frontend;
  /** Where the certificate is that backends are shown. */
  readonly clientCertificate?: ObjectRef;
  /** IP addresses that the spec asks for. */
  readonly requested: readonly string[];
  readonly infrastructure: {
    readonly labels: { readonly [name: string]: string };
    readonly annotations: { readonly [name: string]: string };
  };
  /** How its proxies are run. */
  readonly fleet: Fleet;
  /** The EnvoyFleets that it and its class name. */
  readonly fleets: readonly Key[];
  /** Why the whole of it is not Accepted. */
  readonly refused?: Fault;
  /**
   * Why it is not Accepted, since it is not known how its proxies are to be run. Nothing is created or changed then, and what
   * runs goes on serving: an EnvoyFleet that is deleted by mistake must not stop the traffic of a cluster.
   */
  readonly unmanaged?: Fault;
}

export interface GatewayTables {
  readonly classes: Table<Class>;
  readonly fleets: Table<FleetModel>;
}

/** Reads a Gateway; `undefined` if its class is not ours. */
export function modelGateway(
  gateway: Gateway,
  read: Read,
  { classes, fleets }: GatewayTables,
  config: Config,
): GatewayModel | undefined {
  const { metadata, spec } = gateway;
  const ownClass = read(classes, spec.gatewayClassName);
  if (ownClass === undefined) return undefined;
  const namespace = metadata.namespace ?? "";
  const reference = spec.infrastructure?.parametersRef;
  const own = resolveParameters(
    "spec.infrastructure.parametersRef",
    reference && { ...reference, namespace },
    read,
    fleets,
  );
  const refused = refusal(gateway);
  const unmanaged = own.fault ?? unacceptedClass(spec.gatewayClassName, ownClass);
  const frontend: Frontend = { tls: spec.tls?.frontend, namespace };
  const clientCertificate = spec.tls?.backend?.clientCertificateRef;
  return {
    uid: metadata.uid ?? "",
    generation: metadata.generation ?? 0,
    className: spec.gatewayClassName,
    terminating: metadata.deletionTimestamp !== undefined,
    listeners: modelListeners(`Gateway/${namespace}/${metadata.name}`, spec.listeners, frontend),
    allowedListeners: modelNamespaces(spec.allowedListeners?.namespaces, "None"),
    frontend,
    ...clientCertificate && { clientCertificate: secretRef(clientCertificate, namespace) },
    requested: requestedAddresses(spec),
    infrastructure: {
      labels: spec.infrastructure?.labels ?? {},
      annotations: spec.infrastructure?.annotations ?? {},
    },
    fleet: mergeFleet([ownClass.source, own.source].filter((source) => source !== undefined), config),
    fleets: [...new Set([ownClass.fleet, own.key].filter((key) => key !== undefined))],
    ...refused && { refused },
    ...unmanaged && { unmanaged },
  };
}

/** The IP addresses that a Gateway asks for. One without a value is for any address, which it gets anyway. */
export function requestedAddresses({ addresses = [] }: Gateway["spec"]): readonly string[] {
  return addresses.flatMap(({ type = "IPAddress", value }) => type === "IPAddress" && value ? [value] : []);
}

/** What stands for a Gateway that could not be read because of a bug: it is refused, and says so. */
export function unreadableGateway(
  { metadata, spec }: Gateway,
  error: unknown,
  config: Config,
): GatewayModel {
  return {
    uid: metadata.uid ?? "",
    generation: metadata.generation ?? 0,
    className: spec.gatewayClassName,
    terminating: metadata.deletionTimestamp !== undefined,
    listeners: [],
    allowedListeners: { from: "None" },
    frontend: { tls: undefined, namespace: metadata.namespace ?? "" },
    requested: [],
    infrastructure: { labels: {}, annotations: {} },
    fleet: mergeFleet([], config),
    fleets: [],
    refused: bug("read this Gateway", error),
  };
}

/** What makes a Gateway as a whole unacceptable. */
function refusal({ spec }: Gateway): Fault | undefined {
  const odd = spec.addresses?.find(({ type = "IPAddress" }) => type !== "IPAddress");
  if (odd) {
    return {
      reason: "UnsupportedAddress",
      message: `Cannot use an address of type "${odd.type}": only IPAddress is supported`,
    };
  }
  // To leave it out could show to everybody what was meant for the cluster.
  for (const [i, { routability }] of (spec.addresses ?? []).entries()) {
    if (!routability) continue;
    return {
      reason: "UnsupportedAddress",
      message: `spec.addresses[${i}].routability: "${routability}" is not supported, remove it; ` +
        "an EnvoyFleet's spec.service.type says who reaches the Gateway",
    };
  }
  return undefined;
}

function unacceptedClass(name: string, { refused }: Class): Fault | undefined {
  return refused && {
    reason: "InvalidParameters",
    message: `GatewayClass "${name}" is not accepted: ${refused.message}`,
  };
}
