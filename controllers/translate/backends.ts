/**
 * From a reference to a backend to the cluster that a proxy sends traffic to.
 *
 * @module
 */
import type { BackendObjectReference, ReferenceGrant, Service } from "../../crds/mod.ts";
import type { BackendTls, Cluster } from "../ir/mod.ts";
import type { Group, Read, Table } from "../runtime/graph.ts";
import { policiesFor, type Policy } from "./backend_tls.ts";
import type { Fault } from "./conditions.ts";
import { gatewayGroup } from "./listeners.ts";
import { granted } from "./grants.ts";

/** A cluster that is wanted, and the port of the Service that it stands for. */
export interface ClusterSpec {
  readonly name: string;
  readonly protocol: "http1" | "h2c";
  /** `namespace/name` of the Service. */
  readonly service: string;
  readonly port: number;
  /** How TLS is spoken with it. */
  readonly tls?: BackendTls;
  readonly address?: never;
  /** TLS is demanded and cannot be spoken as demanded: every connection has to fail. */
  readonly cut?: Fault;
  /** Who says what is sent again. */
  readonly retries?: Cluster["retries"];
}

/** The same backend for rules that say themselves what is sent again. No name of an object has the plus in it. */
export function retriedByRoutes(cluster: ClusterSpec): ClusterSpec {
  return { ...cluster, name: `${cluster.name}+retries`, retries: "routes" };
}

export interface BackendTables {
  readonly services: Table<Service>;
  /** ReferenceGrants by their namespace. */
  readonly grants: Table<Group<ReferenceGrant>>;
  /** BackendTLSPolicies by the Service that they are for. */
  readonly policies: Table<Group<Policy>>;
}

/** What a rule asks of its backends. */
export interface BackendNeeds {
  readonly routeKind: string;
  readonly namespace: string;
  readonly transport: "TCP" | "UDP";
}

/**
 * The values of `appProtocol` that proxies can speak, with what they are spoken as: Kubernetes' own names (KEP-3726)
 * and the registered ones in use.
 */
const appProtocols: { readonly [name: string]: ClusterSpec["protocol"] } = {
  "http": "http1",
  "http1": "http1",
  "http1.1": "http1",
  "ws": "http1",
  "kubernetes.io/ws": "http1",
  "https": "http1",
  "kubernetes.io/wss": "http1",
  "h2c": "h2c",
  "http2": "h2c",
  "grpc": "h2c",
  "kubernetes.io/h2c": "h2c",
};

/** Those that say that TLS is spoken; how is for a BackendTLSPolicy to say. */
const encrypted: readonly string[] = ["https", "kubernetes.io/wss"];

/**
 * Resolves a reference; one whose BackendTLSPolicy cannot be met to a cluster that is cut. Whether a Service exists is told only
 * to those who may refer to it.
 */
export function resolveBackend(
  ref: BackendObjectReference,
  needs: BackendNeeds,
  read: Read,
  tables: BackendTables,
): ClusterSpec | Fault {
  const { group = "", kind = "Service", namespace = needs.namespace, name, port } = ref;
  const title = `Cannot resolve backend "${namespace}/${name}"`;
  if (group !== "" || kind !== "Service") {
    const full = group === "" ? kind : `${group}/${kind}`;
    return { reason: "InvalidKind", message: `${title}: kind ${full} is not supported, use a Service` };
  }
  if (namespace !== needs.namespace) {
    const from = { group: gatewayGroup, kind: needs.routeKind, namespace: needs.namespace };
    const allowed = granted({ from, to: { group, kind, name } }, read(tables.grants, namespace));
    if (!allowed) {
      const message = `${title}: no ReferenceGrant in namespace "${namespace}" allows ${needs.routeKind} ` +
        `of namespace "${needs.namespace}" to refer to this Service`;
      return { reason: "RefNotPermitted", message };
    }
  }
  const key = `${namespace}/${name}`;
  const service = read(tables.services, key);
  if (service === undefined) return { reason: "BackendNotFound", message: `${title}: service not found` };
  if (service.spec.type === "ExternalName") {
    return {
      reason: "InvalidKind",
      message: `${title}: a Service of type ExternalName may lead anywhere and is not supported`,
    };
  }
  if (port === undefined) {
    return { reason: "BackendNotFound", message: `${title}: the reference has no port` };
  }
  const ports = service.spec.ports ?? [];
  const found = ports.find((p) => p.port === port && (p.protocol ?? "TCP") === needs.transport);
  if (found === undefined) {
    const other = ports.find((p) => p.port === port);
    if (other) {
      return {
        reason: "UnsupportedProtocol",
        message:
          `${title}: port ${port} speaks ${other.protocol}, ${needs.routeKind} needs ${needs.transport}`,
      };
    }
    const known = ports.length > 0 ? `its ports are ${ports.map((p) => p.port).join(", ")}` : "it has none";
    return { reason: "BackendNotFound", message: `${title}: service has no port ${port}, ${known}` };
  }
  const appProtocol = found.appProtocol?.toLowerCase() ?? "http";
  const protocol = Object.hasOwn(appProtocols, appProtocol) ? appProtocols[appProtocol] : undefined;
  if (protocol === undefined) {
    const names = Object.keys(appProtocols).join(", ");
    return {
      reason: "UnsupportedProtocol",
      message:
        `${title}: appProtocol "${found.appProtocol}" of port ${port} is not supported, use one of ${names}`,
    };
  }
  const spec = { name: `${key}/${port}`, protocol, service: key, port };
  const [policy] = policiesFor(key, found.name ?? "", read(tables.policies, key));
  if (policy === undefined) {
    if (!encrypted.includes(appProtocol)) return spec;
    const message = `${title}: appProtocol "${found.appProtocol}" of port ${port} wants TLS, ` +
      "write a BackendTLSPolicy for it";
    return { reason: "UnsupportedProtocol", message };
  }
  // A name of its own: routes move to it once it is there, and not a request is sent as plain text after that.
  const own = { ...spec, name: `${spec.name}/${policy.key.slice(policy.key.indexOf("/") + 1)}` };
  if (policy.tls) return { ...own, tls: policy.tls };
  const message =
    `${title}: TLS cannot be spoken as BackendTLSPolicy "${policy.key}" demands, see its status`;
  return { ...own, cut: { reason: "UnsupportedProtocol", message } };
}
