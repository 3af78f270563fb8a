/**
 * Addresses of Gateways.
 *
 * @module
 */
import * as k from "../schema/build.ts";
import type { Fault, Rule } from "../schema/facts.ts";
import { hostnamePattern, isIP, isSubdomain, subdomainPattern } from "../schema/formats.ts";
import { experimentalSince17 } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";

// No parentheses around the alternatives: so it is upstream, and all but anything passes.
const typePattern = `^Hostname|IPAddress|NamedAddress|${subdomainPattern.slice(1, -1)}` +
  String.raw`\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$`;

const hostname = new RegExp(hostnamePattern);

interface Address {
  readonly type: string;
  readonly value?: string;
}

const type = k.defaulted(
  k.string({ minLength: 1, maxLength: 253, pattern: typePattern }),
  "IPAddress",
  "IPAddress, Hostname, NamedAddress or one of the implementation's.",
);

const routability = k.optional(
  k.string({
    maxLength: 253,
    rules: [{
      message:
        "Routability must be empty, Cluster, or an implementation-specific prefixed path; k8s.io and its " +
        "subdomains are reserved",
      holds: (value) => {
        if (value === "" || value === "Cluster") return true;
        const [prefix = "", ...rest] = value.split("/");
        return rest.join("/") !== "" && isSubdomain(prefix) && prefix !== "k8s.io" &&
          !prefix.endsWith(".k8s.io");
      },
    }],
  }),
  "Where the address can be reached from.",
  experimentalSince17,
);

/** The value of an IPAddress is one; this is the only `oneOf` of Gateway API. */
const oneOf = [
  {
    properties: {
      type: { enum: ["IPAddress"] },
      value: { anyOf: [{ format: "ipv4" }, { format: "ipv6" }] },
    },
  },
  { properties: { type: { not: { enum: ["IPAddress"] } } } },
];

const facts = {
  raw: { oneOf },
  faults: (address: Address): readonly Fault[] =>
    address.type !== "IPAddress" || address.value === undefined || isIP(address.value) ? [] : [{
      reason: "Invalid",
      path: ["value"],
      value: address.value,
      detail: `must be of type ipv4 or ipv6: ${JSON.stringify(address.value)}`,
      inBody: true,
    }],
};

const hostnameRule = (start: string): Rule<Address> => ({
  message: `${start} valid characters (matching ${hostnamePattern})`,
  holds: (address) =>
    address.type !== "Hostname" || address.value === undefined || hostname.test(address.value),
});

export const gatewaySpecAddress = k.object({
  type,
  value: k.optional(k.string({ maxLength: 253 }), "The address; the implementation chooses one if absent."),
  routability,
}, { ...facts, rules: [hostnameRule("Hostname value must be empty or contain only")] });
export type GatewaySpecAddress = Infer<typeof gatewaySpecAddress>;

export const gatewayStatusAddress = k.object({
  type,
  value: k.required(k.string({ minLength: 1, maxLength: 253 }), "The address."),
  routability,
}, { ...facts, rules: [hostnameRule("Hostname value must only contain")] });
export type GatewayStatusAddress = Infer<typeof gatewayStatusAddress>;
