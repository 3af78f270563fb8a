/**
 * The formats of values that rules ask about.
 *
 * @module
 */

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

/** RFC 1123 names in lower case, as patterns of a whole value. */
export const labelPattern = `^${label}$`;
export const subdomainPattern = String.raw`^${label}(\.${label})*$`;
export const hostnamePattern = String.raw`^(\*\.)?${label}(\.${label})*$`;
export const headerNamePattern = String.raw`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`;
export const durationPattern = "^([0-9]{1,5}(h|m|s|ms)){1,4}$";

const subdomain = new RegExp(subdomainPattern);

export const isLabel = (text: string): boolean => text.length <= 63 && new RegExp(labelPattern).test(text);
export const isSubdomain = (text: string): boolean => text.length <= 253 && subdomain.test(text);

const octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const ipv4 = new RegExp(String.raw`^${octet}(\.${octet}){3}$`);

/** Four decimal numbers without leading zeros, as `net/netip` reads them. */
export const isIPv4 = (text: string): boolean => ipv4.test(text);

/** RFC 4291, section 2.2, without a zone. */
export function isIPv6(text: string): boolean {
  if (text.length > 45 || !text.includes(":") || text.includes(":::")) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.map((half) => half === "" ? [] : half.split(":"));
  const last = groups.at(-1)!;
  let count = groups.flat().length;
  if (last.at(-1)?.includes(".")) {
    if (!isIPv4(last.pop()!)) return false;
    count++;
  }
  if (!groups.flat().every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? count < 8 : count === 8;
}

/** A label that no IPv4 address ends with: it has a letter. */
const lastLabel = "([a-z]|[0-9][-a-z0-9]*[a-z])([-a-z0-9]*[a-z0-9])?";

/** A DNS name, an IPv4 address, or what looks like an IPv6 address. */
export const hostPattern = String
  .raw`^(${label}\.)*${lastLabel}$|^${octet}(\.${octet}){3}$|^[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7}$`;

export const isIP = (text: string): boolean => isIPv4(text) || isIPv6(text);

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

/** A duration of Gateway API (GEP-2257), such as `1h30m`, in milliseconds; `undefined` if it is none. */
export function durationMs(text: string): number | undefined {
  if (!new RegExp(durationPattern).test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/([0-9]+)(ms|h|m|s)/g)) {
    total += Number(count) * units[unit as keyof typeof units];
  }
  return total;
}
