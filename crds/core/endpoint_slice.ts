/**
 * EndpointSlice: the addresses behind a Service.
 *
 * Loopback addresses pass, which a real cluster refuses: in standalone the backends are processes of the same machine.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import { isIPv4, isIPv6, isSubdomain } from "../schema/formats.ts";
import type { Infer } from "../schema/types.ts";
import { appProtocol, flag, int32, labelText, objectReference, specialAddress, text } from "./values.ts";

const nodeName = k.string({
  faults: (name) => isSubdomain(name) ? [] : [{ reason: "Invalid", detail: "must be the name of a node" }],
});

/** Names that come again. */
function doubles(list: readonly { readonly name: string }[]): readonly Fault[] {
  const names = list.map(({ name }) => name);
  return names.flatMap((name, i): readonly Fault[] =>
    names.indexOf(name) < i ? [{ reason: "Duplicate", value: name, path: [i, "name"] }] : []
  );
}

const endpoint = k.object({
  addresses: k.required(
    k.list(text, { maxItems: 100 }),
    "Addresses of the endpoint, which are taken for the same.",
  ),
  conditions: k.defaulted(
    k.object({
      ready: k.optional(flag, "Whether it takes traffic; yes if absent."),
      serving: k.optional(flag, "The same, even while it ends."),
      terminating: k.optional(flag, "Whether it is about to end."),
    }),
    {},
    "How the endpoint fares.",
  ),
  hostname: k.optional(labelText, "Hostname of the endpoint."),
  targetRef: k.optional(objectReference, "The object that it stands for, such as a Pod."),
  deprecatedTopology: k.optional(k.map(text), "Where it is; of v1beta1."),
  nodeName: k.optional(nodeName, "Node that it runs on."),
  zone: k.optional(text, "Zone that it runs in."),
  hints: k.optional(
    k.object({
      forZones: k.optional(
        k.list(k.object({ name: k.required(text, "Name of the zone.") }), { maxItems: 8, faults: doubles }),
        "Zones whose clients should use it.",
      ),
      forNodes: k.optional(
        k.list(k.object({ name: k.required(nodeName, "Name of the node.") }), {
          maxItems: 8,
          faults: doubles,
        }),
        "Nodes whose clients should use it.",
      ),
    }),
    "Who should use it.",
  ),
}, { normalize: ({ deprecatedTopology: _, ...endpoint }) => endpoint });
export type Endpoint = Infer<typeof endpoint>;

const endpointPort = k.object({
  name: k.defaulted(labelText, "", "Name of the port: that of the Service's port."),
  protocol: k.defaulted(k.enumeration("SCTP", "TCP", "UDP"), "TCP", "TCP, UDP or SCTP."),
  port: k.optional(int32, "Number of the port; all ports if absent."),
  appProtocol: k.optional(appProtocol, "What is spoken on the port, such as kubernetes.io/h2c."),
});
export type EndpointPort = Infer<typeof endpointPort>;

const families: { readonly [type: string]: (address: string) => boolean } = {
  IPv4: isIPv4,
  IPv6: (address) => isIPv6(address) && new URL(`http://[${address}]`).hostname === `[${address}]`,
  FQDN: (address) => isSubdomain(address.replace(/\.$/, "")) && address.replace(/\.$/, "").includes("."),
};

const others: typeof families = { IPv4: isIPv6, IPv6: isIPv4 };

function* faults(slice: {
  readonly addressType: string;
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
  readonly ports?: readonly { readonly name: string }[];
}): Generator<Fault> {
  const fits = families[slice.addressType] ?? (() => true);
  for (const [i, { addresses }] of slice.endpoints.entries()) {
    if (addresses.length === 0) {
      yield {
        reason: "Required",
        detail: "must contain at least 1 address",
        path: ["endpoints", i, "addresses"],
      };
    }
    for (const [j, address] of addresses.entries()) {
      const special = slice.addressType === "FQDN" ? undefined : specialAddress(address, { loopback: true });
      if (fits(address) && special !== undefined) {
        yield { reason: "Invalid", detail: special, value: address, path: ["endpoints", i, "addresses", j] };
      }
      if (fits(address)) continue;
      const detail = `must be of address type ${slice.addressType}`, path = ["endpoints", i, "addresses"];
      // As the API server has it: which of them it is says only what is no IP address at all.
      const otherFamily = others[slice.addressType]?.(address);
      yield { reason: "Invalid", detail, value: address, path: otherFamily ? path : [...path, j] };
    }
  }
  const names = new Set<string>();
  for (const [i, { name }] of (slice.ports ?? []).entries()) {
    if (names.has(name)) yield { reason: "Duplicate", value: name, path: ["ports", i, "name"] };
    names.add(name);
  }
}

const whole = resource("EndpointSlice", {
  addressType: k.required(k.enumerationOrEmpty("FQDN", "IPv4", "IPv6"), "What the addresses are."),
  endpoints: k.defaulted(k.list(endpoint, { maxItems: 1000 }), [], "The endpoints."),
  ports: k.optional(k.list(endpointPort, { maxItems: 20_000 }), "Ports of every endpoint."),
});
const schema = k.object(whole.shape, {
  normalize: ({ ports, ...slice }) => ({ ...slice, ...ports?.length && { ports } }),
  faults: (slice) => [...faults(slice)],
});

export type EndpointSlice = ObjectOf<typeof schema>;

export const endpointSlice = defineKind<EndpointSlice>(
  { group: "discovery.k8s.io", kind: "EndpointSlice", plural: "endpointslices", hasStatus: false },
  version("v1", schema, {
    columns: [
      { name: "AddressType", type: "string", jsonPath: ".addressType" },
      { name: "Ports", type: "string", jsonPath: ".ports[*].port" },
      { name: "Endpoints", type: "string", jsonPath: ".endpoints[*].addresses[*]" },
      age,
    ],
  }),
);
