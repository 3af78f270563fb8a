/**
 * Describes a server that runs outside of Kubernetes as a Service, so that routes can name it.
 *
 * The Service has no selector; an EndpointSlice that belongs to it by its label says where the server is. Kubernetes
 * itself refuses loopback addresses in EndpointSlices, the API server of a standalone gateway does not.
 *
 * @module
 */
import { isIP, isIPv6 } from "node:net";
import type { ApiObject } from "../crds/kind.ts";

export interface ExposeOptions {
  /** The port of the Service. */
  readonly port: number;
  /** Where the server listens, as `ADDRESS:PORT`; IPv6 addresses in brackets. */
  readonly to: string | readonly string[];
  readonly namespace?: string;
}

/** Objects to write, in this order, or what to tell the user. */
export type Exposed = { readonly objects: readonly ApiObject[] } | { readonly error: string };

/** The label `app.kubernetes.io/managed-by` of what {@linkcode exposeManifests} makes. */
export const managedBy = "gatehouse-expose";

/**
 * Makes the Service `name` and its EndpointSlices, one for each family of addresses and port number.
 *
 * @example
 * ```ts
 * import { exposeManifests } from "./expose.ts";
 *
 * const result = exposeManifests("web", { port: 80, to: "127.0.0.1:3000" });
 * if ("objects" in result) result.objects.map(({ kind }) => kind); // ["Service", "EndpointSlice"]
 * ```
 */
export function exposeManifests(name: string, options: ExposeOptions): Exposed {
  const { port, namespace = "default" } = options;
  const fail = (reason: string): Exposed => ({ error: `Cannot expose "${name}": ${reason}` });
  // A Service's name becomes a DNS label (RFC 1035), which unlike a namespace's may not start with a digit.
  if (!/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    return fail(
      "a Service's name has at most 63 lower-case letters, digits and hyphens, starts with a letter " +
        "and does not end with a hyphen",
    );
  }
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    return fail(`"${namespace}" is not a namespace's name`);
  }
  if (!isPort(port)) return fail(`port ${port} is not a number from 1 to 65535`);

  const slices = new Map<string, { readonly target: Target; readonly addresses: Set<string> }>();
  for (const text of typeof options.to === "string" ? [options.to] : options.to) {
    const target = parseTarget(text);
    if ("error" in target) return fail(target.error);
    const key = `${target.family} ${target.port}`;
    const slice = slices.get(key) ?? { target, addresses: new Set() };
    slices.set(key, slice);
    slice.addresses.add(target.address);
  }
  if (slices.size === 0) return fail("no server is named");
  const ports = new Set([...slices.values()].map(({ target }) => target.port));
  const labels = { "app.kubernetes.io/managed-by": managedBy };
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels },
    spec: {
      // What a client inside a cluster would connect to; here it only says where the servers are.
      ports: [{ name: "http", port, targetPort: ports.size === 1 ? [...ports][0] : port, protocol: "TCP" }],
    },
  };
  const single = slices.size === 1;
  const endpointSlices = [...slices.values()].map(({ target, addresses }) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: single ? name : `${name}-${target.family.toLowerCase()}-${target.port}`,
      namespace,
      labels: {
        ...labels,
        "kubernetes.io/service-name": name,
        "endpointslice.kubernetes.io/managed-by": managedBy,
      },
    },
    addressType: target.family,
    endpoints: [...addresses].map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: "http", port: target.port, protocol: "TCP" }],
  }));
  return { objects: [service, ...endpointSlices] };
}

interface Target {
  readonly address: string;
  readonly port: number;
  readonly family: "IPv4" | "IPv6";
}

function parseTarget(text: string): Target | { readonly error: string } {
  const form = 'name the server as ADDRESS:PORT, such as "127.0.0.1:3000" or "[::1]:3000"';
  const parts = /^(?:\[(?<six>[^\]]*)\]|(?<four>[^:]*)):(?<port>\d+)$/.exec(text)?.groups;
  if (!parts) return { error: `"${text}" has no port, or is not an address; ${form}` };
  const port = Number(parts.port);
  if (!isPort(port)) return { error: `"${text}": port ${port} is not a number from 1 to 65535` };
  if (parts.six !== undefined) {
    return isIPv6(parts.six)
      ? { address: parts.six, port, family: "IPv6" }
      : { error: `"${text}": "${parts.six}" is not an IPv6 address; ${form}` };
  }
  const four = parts.four!;
  if (isIP(four) === 4) return { address: four, port, family: "IPv4" };
  const hint = four === "localhost" || four === "" ? `, "127.0.0.1:${port}" is` : "";
  return {
    error: `"${text}": "${four}" is not an IP address${hint}; EndpointSlices hold addresses, not names`,
  };
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}
