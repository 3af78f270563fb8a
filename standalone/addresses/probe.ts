/**
 * Finds out whether a port may be bound, by binding it.
 *
 * Nothing else tells: capabilities, `net.ipv4.ip_unprivileged_port_start`, containers and security modules all have a
 * say.
 *
 * @module
 */
import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";
import type { Transport } from "./assign.ts";

/**
 * - `free`: it could be bound;
 * - `denied`: privileges are missing (EACCES, EPERM);
 * - `used`: another socket has it (EADDRINUSE);
 * - `unavailable`: the address is not this machine's (EADDRNOTAVAIL).
 */
export type Probed = "free" | "denied" | "used" | "unavailable";

/** Binds and lets go again. Port 0 asks about the address alone. Rejects if the system says something else. */
export type Probe = (address: string, port: number, transport: Transport) => Promise<Probed>;

/** Asks the operating system. */
export const probe: Probe = async (address, port, transport) => {
  try {
    await (transport === "tcp" ? bindTcp(address, port) : bindUdp(address, port));
    return "free";
  } catch (error) {
    const probed = meaning(error);
    if (probed) return probed;
    throw new Error(`Cannot find out whether ${address} port ${port} is free`, { cause: error });
  }
};

function meaning(error: unknown): Probed | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  if (error instanceof Deno.errors.AddrInUse || code === "EADDRINUSE") return "used";
  if (error instanceof Deno.errors.PermissionDenied || code === "EACCES" || code === "EPERM") return "denied";
  if (error instanceof Deno.errors.AddrNotAvailable || code === "EADDRNOTAVAIL") return "unavailable";
  // A machine without IPv6 has none of its addresses.
  return code === "EAFNOSUPPORT" || code === "EINVAL" || /os error (97|22)\b/.test(error.message)
    ? "unavailable"
    : undefined;
}

function bindTcp(hostname: string, port: number): Promise<void> {
  // Sets SO_REUSEADDR, as Envoy does: connections of the last run that linger do not count as use.
  Deno.listen({ hostname, port, transport: "tcp" }).close();
  return Promise.resolve();
}

function bindUdp(address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
    socket.once("error", (error) => socket.close(() => reject(error)));
    socket.bind(port, address, () => socket.close(() => resolve()));
  });
}
