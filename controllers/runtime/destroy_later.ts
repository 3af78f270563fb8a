/**
 * A way around a fault of the runtime, for whoever speaks HTTP/2 by `node:http2`.
 *
 * @module
 */
import type { Http2Session } from "node:http2";
import { setImmediate } from "node:timers";

/**
 * Keeps a session from being destroyed while it reads, as the runtime does where the peer says GOAWAY: Deno 2.9.6 then reads on in
 * memory that it has freed, and dies (SIGSEGV, or SIGABRT with "closed_next == NULL").
 */
export function destroyLater(session: Http2Session): void {
  const destroy = session.destroy.bind(session);
  session.destroy = (error, code) => void setImmediate(() => destroy(error, code));
}
