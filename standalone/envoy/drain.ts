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

/** How long new connections are still taken, so that clients learn from responses that this server goes away. */
const linger = 500;
/** How long no request may have been under way before idle connections are given up. */
const quiet = 1_000;
const interval = 50;

/**
 * Drains, and resolves once nothing is under way any more or the deadline is reached. Rejects if Envoy stops
 * answering, and with the abort reason.
 *
 * Idle connections of clients that keep them open do not hold it up: Envoy has had every connection closed that
 * carried a request since the drain began.
 */
export async function drain(admin: Admin, options: DrainOptions): Promise<Drained> {
  const { clock, signal } = options;
  const began = clock.monotonic();
  let listening = true;
  let busy = began;
  await admin.startDrain(signal);
  for (;;) {
    const left = await admin.activity(signal);
    const now = clock.monotonic();
    if (left?.connections === 0 && !listening) return { clean: true, left };
    if (!left || left.requests > 0 || left.connections > left.httpConnections) busy = now;
    if (!listening && now - busy >= quiet) return { clean: true, left };
    if (now - began >= options.deadline) return { clean: false, left };
    if (listening && (left?.connections === 0 || now - began >= Math.min(linger, options.deadline / 4))) {
      await admin.stopListening(signal);
      listening = false;
    }
    await clock.sleep(interval, signal ? { signal } : {});
  }
}
