/**
 * Addresses and node ports of Services, given out as a cluster's allocator would.
 *
 * They lead nowhere on a single machine, but clients expect a Service to have them, and to keep them.
 *
 * @module
 */
import { isIP, isIPv6 } from "node:net";
import type { ApiObject } from "../../crds/kind.ts";
import { isHealthChecked } from "../../crds/core/service_faults.ts";
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
  readonly ipFamilies?: readonly string[];
  readonly ipFamilyPolicy?: string;
  readonly selector?: object;
  readonly ports?: readonly Port[];
  readonly [field: string]: unknown;
}

const subject = { group: "", plural: "services", kind: "Service" };
const addresses = 1 << 16; // 10.96.0.0/16 and fd00:10:96::/112
const firstNodePort = 30_000, nodePorts = 2768;

const specOf = (object: ApiObject): ServiceSpec => ((object as Unstructured)["spec"] ?? {}) as ServiceSpec;

const address = (family: string, index: number): string =>
  family === "IPv6" ? `fd00:10:96::${index.toString(16)}` : `10.96.${index >> 8}.${index & 255}`;

/** The families of a Service's addresses, as a cluster that has both would choose them. */
function familiesOf(
  spec: ServiceSpec,
  clusterIP: string | undefined,
  replaces: boolean,
): { readonly families: readonly string[]; readonly policy: string } {
  const bare = clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0;
  const policy = spec.ipFamilyPolicy ?? (bare ? "RequireDualStack" : "SingleStack");
  const [first = isIPv6(clusterIP ?? "") ? "IPv6" : "IPv4", second] = spec.ipFamilies ?? [];
  if (policy === "SingleStack") {
    return { families: second !== undefined && !replaces ? [first, second] : [first], policy };
  }
  return { families: [first, second ?? (first === "IPv4" ? "IPv6" : "IPv4")], policy };
}

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
    if (given.clusterIP || given.clusterIPs?.length) {
      throw invalid(subject, object.metadata.name, [{
        reason: "FieldValueForbidden",
        field: "spec.clusterIPs",
        message: "Forbidden: may not be set for ExternalName services",
      }]);
    }
    for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]) delete spec[field];
    return { ...object, spec } as ApiObject;
  }
  spec["internalTrafficPolicy"] ??= "Cluster";
  if (wishesPort) spec["externalTrafficPolicy"] ??= "Cluster";
  if (type === "LoadBalancer") spec["allocateLoadBalancerNodePorts"] ??= true;

  if (!old && given.clusterIPs?.length && given.clusterIPs[0] !== given.clusterIP) {
    throw invalid(subject, object.metadata.name, [{
      reason: "FieldValueInvalid",
      field: "spec.clusterIPs",
      message: `Invalid value: ${JSON.stringify(given.clusterIPs)}: first value must match clusterIP`,
    }]);
  }
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
  const taken = new Set(others().flatMap((other) => other.clusterIPs ?? []));
  if (wanted && wanted !== "None" && taken.has(wanted)) {
    throw invalid(subject, object.metadata.name, [{
      reason: "FieldValueInvalid",
      field: "spec.clusterIPs",
      message: `Invalid value: ${JSON.stringify([wanted])}: failed to allocate IP ${wanted}: ` +
        "provided IP is already allocated",
    }]);
  }
  const { families, policy } = familiesOf(given, wanted, old !== undefined);
  spec["ipFamilies"] = families;
  spec["ipFamilyPolicy"] = policy;
  const had = [wanted, given.clusterIPs?.[1] ?? before?.clusterIPs?.[1]];
  spec["clusterIPs"] = wanted === "None"
    ? ["None"]
    : families.map((family, i) =>
      had[i] ?? free(taken, addresses - 2, (index) => address(family, index + 1))
    );
  spec["clusterIP"] = (spec["clusterIPs"] as readonly string[])[0];
  if (wishesPort) {
    const elsewhere = new Set(others().flatMap((other) => (other.ports ?? []).map((port) => port.nodePort)));
    const used = new Set([...elsewhere, ...ports.map((port) => port.nodePort)]);
    if (isHealthChecked({ type, externalTrafficPolicy: String(spec["externalTrafficPolicy"]) })) {
      spec["healthCheckNodePort"] ??= before?.["healthCheckNodePort"] ??
        free(used, nodePorts, (index) => firstNodePort + index);
      used.add(spec["healthCheckNodePort"] as number);
    }
    const own = new Set<string>();
    ports.forEach(({ nodePort, protocol }, i) => {
      if (nodePort === undefined) return;
      if (!elsewhere.has(nodePort) && !own.has(`${protocol} ${nodePort}`)) {
        return own.add(`${protocol} ${nodePort}`);
      }
      throw invalid(subject, object.metadata.name, [{
        reason: "FieldValueInvalid",
        field: `spec.ports[${i}].nodePort`,
        message: `Invalid value: ${nodePort}: provided port is already allocated`,
      }]);
    });
    spec["ports"] = ports.map((port) => {
      const had = before?.ports?.find((old) =>
        old.port === port.port && (old.protocol ?? "TCP") === port.protocol
      );
      if (port.nodePort !== undefined || spec["allocateLoadBalancerNodePorts"] === false) return port;
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
