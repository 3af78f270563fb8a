/**
 * Servers that begin to listen.
 *
 * @module
 */
import type { AddressInfo, Server } from "node:net";

/** Where to listen. */
export interface ListenOptions {
  readonly hostname: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Told of whatever goes wrong once it listens. */
  readonly failed: (error: Error) => void;
}

/** Gives the port once a server listens, or rejects if that is not possible. */
export async function startListening(
  server: Server,
  { hostname, port, failed }: ListenOptions,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, hostname, resolve);
  await promise;
  server.off("error", reject);
  server.on("error", failed);
  return (server.address() as AddressInfo).port;
}
