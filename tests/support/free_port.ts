/**
 * Ports for servers that have to be told theirs.
 *
 * @module
 */

/**
 * A port that was free a moment ago, and that the system gives to nobody by itself: between Envoy's bind and its listen, another
 * server could else be given the same one.
 */
export function freePort(hostname = "127.0.0.1"): number {
  while (true) {
    const port = 20_000 + Math.floor(12_000 * Math.random());
    try {
      using _ = Deno.listen({ hostname, port });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
