/**
 * Addresses and node ports of Services, given out as a cluster's allocator would.
 *
 * They lead nowhere on a single machine, but clients expect a Service to have them, and to keep them.
 *
 * @module
 */
import { isIP } from "node:net";
import type { ApiObject } from "../../crds/kind.ts";
import type { Unstructured } from "./resources.ts";
import { invalid } from "./status.ts";
import type { Transaction } from "./store.ts";

interface Port {
  readonly port: number;
  readonly protocol?: string;
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

interface ServiceSpec {
  readonly type?: string;
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly ports?: readonly Port[];
  readonly [field: string]: unknown;
}

const subject = { group: "", plural: "services", kind: "Service" };
const addresses = 1 << 16; // 10.96.0.0/16
const firstNodePort = 30_000, nodePorts = 2768;

const specOf = (object: ApiObject): ServiceSpec => ((object as Unstructured)["spec"] ?? {}) as ServiceSpec;

const address = (index: number): string => `10.96.${index >> 8}.${index & 255}`;

/** Fills in defaults, `clusterIP` and node ports; those that a Service has stay with it. */
export function assignAddresses(tx: Transaction, object: ApiObject, old: ApiObject | undefined): ApiObject {
  const before = old ? specOf(old) : undefined;
  const given = specOf(object);
  const type = given.type ?? "ClusterIP";
  const others = () =>
    tx.rows("services").map((row) => row.object).filter((service) =>
      service.metadata.name !== object.metadata.name ||
      service.metadata.namespace !== object.metadata.namespace
    ).map(specOf);

  const wishesPort = type === "NodePort" || type === "LoadBalancer";
  const ports = (given.ports ?? []).map((port) => ({
    ...port,
    protocol: port.protocol ?? "TCP",
    targetPort: port.targetPort ?? port.port,
  }));
  const spec: Record<string, unknown> = { sessionAffinity: "None", ...given, type, ports };
  if (ports.length === 0) delete spec["ports"];

  if (type === "ExternalName") {
    for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]) delete spec[field];
    return { ...object, spec } as ApiObject;
  }
  spec["internalTrafficPolicy"] ??= "Cluster";
  spec["ipFamilies"] ??= ["IPv4"];
  spec["ipFamilyPolicy"] ??= "SingleStack";
  if (wishesPort) spec["externalTrafficPolicy"] ??= "Cluster";
  if (type === "LoadBalancer") spec["allocateLoadBalancerNodePorts"] ??= true;

  const kept = before?.type === "ExternalName" ? undefined : before?.clusterIP;
  const wanted = given.clusterIP || kept;
  if (kept && wanted !== kept) {
    throw invalid(subject, object.metadata.name, [{
      reason: "FieldValueInvalid",
      field: "spec.clusterIPs[0]",
      message: `Invalid value: ${JSON.stringify([wanted])}: may not change once set`,
    }]);
  }
  if (wanted && wanted !== "None" && !isIP(wanted)) {
    throw invalid(subject, object.metadata.name, [{
      reason: "FieldValueInvalid",
      field: "spec.clusterIPs[0]",
      message: `Invalid value: ${JSON.stringify(wanted)}: must be an IP address`,
    }]);
  }
  const taken = new Set(others().map((other) => other.clusterIP));
  if (wanted && wanted !== "None" && taken.has(wanted)) {
    throw invalid(subject, object.metadata.name, [{
      reason: "FieldValueInvalid",
      field: "spec.clusterIPs",
      message: `Invalid value: ${JSON.stringify([wanted])}: failed to allocate IP ${wanted}: ` +
        "provided IP is already allocated",
    }]);
  }
  const clusterIP = wanted ?? free(taken, addresses - 2, (index) => address(index + 1));
  spec["clusterIP"] = clusterIP;
  spec["clusterIPs"] = [clusterIP];
  if (wishesPort) {
    const used = new Set<number | undefined>(
      [...others().flatMap((other) => other.ports ?? []), ...ports].map((port) => port.nodePort),
    );
    spec["ports"] = ports.map((port) => {
      const had = before?.ports?.find((old) =>
        old.port === port.port && (old.protocol ?? "TCP") === port.protocol
      );
      if (port.nodePort !== undefined) return port;
      const nodePort = had?.nodePort ?? free(used, nodePorts, (index) => firstNodePort + index);
      used.add(nodePort);
      return { ...port, nodePort };
    });
  }
  return { ...object, spec } as ApiObject;
}

/** The first of `count` values, from a random one on, that is not taken. */
function free<T>(taken: ReadonlySet<T | undefined>, count: number, value: (index: number) => T): T {
  const start = crypto.getRandomValues(new Uint32Array(1))[0]! % count;
  for (let i = 0; i < count; i++) {
    const found = value((start + i) % count);
    if (!taken.has(found)) return found;
  }
  throw new Error("Cannot give a Service an address or node port: all are taken");
}
