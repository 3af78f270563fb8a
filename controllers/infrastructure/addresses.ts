/**
 * Where a Gateway is reached: the addresses of its Service.
 *
 * - Of a load balancer, they are what it lets traffic in by. The first address that `spec.addresses` asks for becomes the
 *   Service's `loadBalancerIP`: the field is deprecated but is what load balancers follow. `externalIPs` is not used for
 *   it: with those, who may make a Gateway could draw the traffic of others to any address to himself (CVE-2020-8554).
 * - Of the types ClusterIP and NodePort they are the cluster's own, since on these the listeners' ports are to be had; on
 *   nodes they are others. The first address that is asked for becomes the `clusterIP` (GEP-1762), when the Service is made.
 *
 * @module
 */
import type { Gateway, Service } from "../../crds/mod.ts";
import type { Graph, Table } from "../runtime/graph.ts";
import type { Addresses } from "../translate/mod.ts";
import { requestedAddresses } from "../translate/gateways.ts";
import { childName, ownerOf } from "./child_names.ts";

/** Derives the addresses of Gateways that have a Service. To be called before `deriveIr`, whose world they are part of. */
export function deriveAddresses(
  graph: Graph,
  { objects }: {
    readonly objects: { readonly Gateway: Table<Gateway>; readonly Service: Table<Service> };
  },
): Table<Addresses> {
  const wants = graph.derive("wanted addresses", objects.Gateway, wantOf);
  return graph.derive("addresses", wants, ({ service, uid, requested }, read) => {
    const found = read(objects.Service, service);
    if (found === undefined || ownerOf(found.metadata)?.uid !== uid) return undefined;
    return addressesOf(found, service, requested);
  });
}

function wantOf({ metadata, spec }: Gateway) {
  const { namespace, name, uid } = metadata;
  return {
    service: `${namespace}/${childName(name, spec.gatewayClassName)}`,
    uid,
    requested: requestedAddresses(spec),
  };
}

function addressesOf({ spec, status }: Service, name: string, requested: readonly string[]): Addresses {
  const assigned = spec.type === "LoadBalancer" ? ingressOf(status) : clusterAddresses(spec);
  const had = new Set(assigned.map(({ value }) => canonical(value)));
  const unusable = requested.filter((value) => !had.has(canonical(value)));
  const [first] = requested;
  const reason = (value: string) =>
    value !== first
      ? `a Service can be asked for one address, which is ${first}; remove it from spec.addresses`
      : spec.type === "LoadBalancer"
      ? `the load balancer of Service "${name}" has not given it; ask for one that it can give, or for none`
      : `Service "${name}" has been made with another one; delete it to have it made anew, or ask for none`;
  return {
    assigned,
    bind: [],
    ...unusable.length > 0 && { unusable: unusable.map((value) => ({ value, message: reason(value) })) },
  };
}

function ingressOf(status: Service["status"]): Addresses["assigned"] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }): Addresses["assigned"] => {
    if (ip) return [{ type: "IPAddress", value: ip }];
    return hostname ? [{ type: "Hostname", value: hostname }] : [];
  });
}

function clusterAddresses({ clusterIP, clusterIPs }: Service["spec"]): Addresses["assigned"] {
  const all = clusterIPs ?? (clusterIP ? [clusterIP] : []);
  return all.filter((value) => value !== "None").map((value) => ({ type: "IPAddress", value }));
}

/** An IPv6 address may be written in many ways. */
export function canonical(address: string): string {
  const url = `http://[${address}]`;
  return address.includes(":") && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : address;
}
