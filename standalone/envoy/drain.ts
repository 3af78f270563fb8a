/**
 * Ends the traffic of an Envoy without cutting a request short.
 *
 * SIGTERM alone makes Envoy exit in some 50 ms, whatever it is doing.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Activity, Admin } from "./admin.ts";

export interface DrainOptions {
  readonly clock: Clock;
  /** How long it may take at most, in milliseconds. */
  readonly deadline: number;
  readonly signal?: AbortSignal;
}

/** How a drain ended: `undefined` activity means that nobody knows. */
export interface Drained {
  readonly clean: boolean;
  readonly left: Activity | undefined;
}

/** How long no request may have been under way before idle connections are given up. */
const quiet = 1_000;
const interval = 50;

/**
 * Drains, and resolves once nothing is under way any more or the deadline is reached. Rejects if Envoy stops
 * answering, and with the abort reason.
 *
 * The listening sockets go first: nobody else serves these addresses, so there is nothing to gain from taking new
 * connections, and the fewer clients connect while a socket closes, the fewer are reset in its queue. After that,
 * every response ends its connection. Idle connections of clients that keep them open do not hold it up.
 */
export async function drain(admin: Admin, options: DrainOptions): Promise<Drained> {
  const { clock, signal } = options;
  await admin.stopListening(signal);
  await admin.startDrain(signal);
  const began = clock.monotonic();
  let busy = began;
  for (;;) {
    // Workers close their sockets in their own time, and may have accepted until then.
    await clock.sleep(interval, signal ? { signal } : {});
    const left = await admin.activity(signal);
    const now = clock.monotonic();
    if (left?.connections === 0) return { clean: true, left };
    if (!left || left.requests > 0 || left.connections > left.httpConnections) busy = now;
    if (now - busy >= quiet) return { clean: true, left };
    if (now - began >= options.deadline) return { clean: false, left };
  }
}
