/**
 * The addresses that a standalone gateway may use.
 *
 * @module
 */
import { isIP, isIPv4 } from "node:net";

/** IP addresses in canonical form, in the order in which they are given out. */
export type Pool = readonly string[];

/** The pool where the whole of 127/8 is the machine's own, as on Linux. */
export const loopbackPool = "127.0.1.0/24";
/** The pool where only one loopback address is, as on macOS: Gateways then share it. */
export const singlePool = "127.0.0.1";

/** More addresses than any machine has Gateways, and few enough to look through. */
const most = 65_536;

/**
 * Reads `--addresses`: IP addresses and IPv4 ranges in CIDR notation, separated by commas. The first and the last
 * address of a range are left out if it has more than two, since they are not a host's.
 */
export function parsePool(text: string): { readonly pool: Pool } | { readonly problem: string } {
  const pool = new Set<string>();
  for (const part of text.split(",").map((part) => part.trim()).filter(Boolean)) {
    const addresses = part.includes("/") ? range(part) : isIP(part) ? [canonical(part)] : undefined;
    if (!addresses) {
      return {
        problem: `Cannot use address pool "${text}": "${part}" is neither an IP address nor an IPv4 range ` +
          `such as ${loopbackPool}`,
      };
    }
    for (const address of addresses) pool.add(address);
    if (pool.size > most) {
      return { problem: `Cannot use address pool "${text}": more than ${most} addresses` };
    }
  }
  if (pool.size === 0) return { problem: `Cannot use address pool "${text}": it is empty` };
  return { pool: [...pool] };
}

/** The one way to write an IP address, so that addresses can be compared as text. */
export function canonical(address: string): string {
  if (isIPv4(address)) return address;
  // The URL parser writes IPv6 as RFC 5952 asks. It knows no zones.
  return URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? address.toLowerCase();
}

function range(text: string): readonly string[] | undefined {
  const [base = "", length = "", ...rest] = text.split("/");
  const bits = Number(length);
  if (!isIPv4(base) || !/^\d{1,2}$/.test(length) || bits > 32 || rest.length > 0) return undefined;
  const size = 2 ** (32 - bits);
  const number = base.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const first = Math.floor(number / size) * size;
  const skip = size > 2 ? 1 : 0;
  // One too many is enough for the caller to refuse.
  const count = Math.min(size - 2 * skip, most + 1);
  return Array.from({ length: count }, (_, i) => dotted(first + skip + i));
}

function dotted(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}
