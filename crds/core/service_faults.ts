/**
 * What Kubernetes refuses of a Service, beyond the shape of its fields.
 *
 * @module
 */
import { isLabelValue, isQualifiedName } from "../meta.ts";
import type { Fault } from "../schema/facts.ts";
import { isIP, isIPv4, isIPv6, isSubdomain } from "../schema/formats.ts";
import { specialAddress } from "./values.ts";

/** The fields that are looked at here. */
export interface ServiceSpecFields {
  readonly type: string;
  readonly ports?: readonly { readonly name?: string; readonly nodePort?: number }[];
  readonly selector?: { readonly [label: string]: string };
  readonly clusterIP?: string;
  readonly externalIPs?: readonly string[];
  readonly externalName?: string;
  readonly externalTrafficPolicy?: string;
  readonly healthCheckNodePort?: number;
  readonly ipFamilies?: readonly string[];
  readonly ipFamilyPolicy?: string;
  readonly loadBalancerClass?: string;
  readonly loadBalancerSourceRanges?: readonly string[];
  readonly allocateLoadBalancerNodePorts?: boolean;
}

export const takesNodePorts = (type: string): boolean => type === "NodePort" || type === "LoadBalancer";

/** Whether traffic from outside of the cluster can reach a Service. */
export const isExternal = (spec: Pick<ServiceSpecFields, "type" | "externalIPs">): boolean =>
  takesNodePorts(spec.type) || spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0;

/** Whether load balancers ask a port of its own whether a node has endpoints. */
export const isHealthChecked = (spec: Pick<ServiceSpecFields, "type" | "externalTrafficPolicy">): boolean =>
  spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";

const invalid = (path: Fault["path"], value: unknown, detail: string): Fault => ({
  reason: "Invalid",
  path: path!,
  value,
  detail,
});
const forbidden = (field: string, detail: string): Fault => ({ reason: "Forbidden", path: [field], detail });

export function* serviceFaults(spec: ServiceSpecFields): Generator<Fault> {
  yield* portFaults(spec);
  yield* addressFaults(spec);
  yield* balancerFaults(spec);
  for (const [name, value] of Object.entries(spec.selector ?? {})) {
    if (!isQualifiedName(name)) yield invalid(["selector"], name, "must be the name of a label");
    if (!isLabelValue(value)) yield invalid(["selector"], value, "must be the value of a label");
  }
}

function* portFaults(spec: ServiceSpecFields): Generator<Fault> {
  const ports = spec.ports ?? [];
  if (ports.length === 0 && spec.clusterIP !== "None" && spec.type !== "ExternalName") {
    yield { reason: "Required", path: ["ports"] };
  }
  const names = new Set<string>();
  for (const [i, { name, nodePort }] of ports.entries()) {
    if (!name && ports.length > 1) yield { reason: "Required", path: ["ports", i, "name"] };
    if (name && names.has(name)) yield { reason: "Duplicate", value: name, path: ["ports", i, "name"] };
    if (name) names.add(name);
    if (nodePort && !takesNodePorts(spec.type)) {
      const detail = `may not be used when type is ${JSON.stringify(spec.type)}`;
      yield { reason: "Forbidden", path: ["ports", i, "nodePort"], detail };
    }
  }
}

function* addressFaults(spec: ServiceSpecFields): Generator<Fault> {
  if (spec.type === "ExternalName") {
    const name = spec.externalName?.replace(/\.$/, "");
    if (!name) yield { reason: "Required", path: ["externalName"] };
    else if (!isSubdomain(name)) yield invalid(["externalName"], name, "must be a DNS name");
  } else if (takesNodePorts(spec.type) && spec.clusterIP === "None") {
    yield invalid(["clusterIPs", 0], "None", `may not be None for ${spec.type} services`);
  }
  for (const [i, address] of (spec.externalIPs ?? []).entries()) {
    const detail = isIP(address) ? specialAddress(address) : "must be an IP address";
    if (detail !== undefined) yield invalid(["externalIPs", i], address, detail);
  }
  const families = spec.ipFamilies ?? [];
  for (const [i, family] of families.entries()) {
    if (families.indexOf(family) < i) yield { reason: "Duplicate", value: family, path: ["ipFamilies", i] };
  }
  const bare = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0; // any families will do
  if (!bare && new Set(families).size > 1 && (spec.ipFamilyPolicy ?? "SingleStack") === "SingleStack") {
    const detail = "must be RequireDualStack or PreferDualStack when there are several ipFamilies";
    yield invalid(["ipFamilyPolicy"], "SingleStack", detail);
  }
}

function* balancerFaults(spec: ServiceSpecFields): Generator<Fault> {
  const balancers = "may only be used when type is LoadBalancer";
  if (spec.externalTrafficPolicy && !isExternal(spec)) {
    const detail = "may only be set for services that can be reached from outside";
    yield invalid(["externalTrafficPolicy"], spec.externalTrafficPolicy, detail);
  }
  if (spec.healthCheckNodePort && !isHealthChecked(spec)) {
    const detail = "may only be set when type is LoadBalancer and externalTrafficPolicy is Local";
    yield invalid(["healthCheckNodePort"], spec.healthCheckNodePort, detail);
  }
  if (spec.type !== "LoadBalancer") {
    for (const field of ["loadBalancerClass", "allocateLoadBalancerNodePorts"] as const) {
      if (spec[field] !== undefined) yield forbidden(field, balancers);
    }
    // Kubernetes writes this one with a capital.
    if (spec.loadBalancerSourceRanges?.length) yield forbidden("LoadBalancerSourceRanges", balancers);
    return;
  }
  if (spec.loadBalancerClass !== undefined && !isQualifiedName(spec.loadBalancerClass)) {
    yield invalid(["loadBalancerClass"], spec.loadBalancerClass, "must be a name, perhaps with a DNS prefix");
  }
  for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries()) {
    if (!isRange(range.trim())) {
      yield invalid(
        ["LoadBalancerSourceRanges", i],
        range,
        "must be a range of addresses, such as 10.0.0.0/8",
      );
    }
  }
}

function isRange(text: string): boolean {
  const [address = "", length = ""] = text.split("/");
  const most = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  return /^\d{1,3}$/.test(length) && Number(length) <= most;
}
