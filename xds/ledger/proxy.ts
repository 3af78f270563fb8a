/**
 * What is known of one proxy.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { Arrival } from "./arrival.ts";

/** A version that a proxy refused, in its words. */
export interface Refusal {
  readonly version: string;
  readonly message: string;
}

/** How long a proxy may owe an answer before it is left out, in milliseconds. */
export const silence = 15_000;

export class ProxyState {
  /** Streams that are open; two for a moment while it reconnects. */
  streams = 0;
  /** When it opened the last one, in milliseconds. */
  connectedAt = 0;
  /** While it has a stream and has not said yet what it has. */
  arrival: Arrival | undefined;
  /** What it runs. */
  software = "";
  /** Since it connected, it has said which listeners it has. */
  listed = false;
  readonly acked = new Map<ResourceId, string>();
  readonly refused = new Map<ResourceId, Refusal>();
  /** How many contributions it keeps waiting. */
  owes = 0;
  /** Since when it owes something and has said nothing, in milliseconds. */
  quietSince = 0;
  /** Whether that has been too long. */
  silent = false;

  constructor(readonly id: string) {}
}

/**
 * Whether a proxy is known to take no requests. Without a listener it does not, but it keeps routes and clusters for as long as
 * connections of a former one drain. One that is out of reach keeps whatever it had.
 */
export function isDown({ acked, listed, streams }: ProxyState): boolean {
  if (streams === 0 || !listed) return false;
  for (const id of acked.keys()) if (id.startsWith("listener:")) return false;
  return true;
}
