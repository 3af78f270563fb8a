/**
 * What is known of one proxy.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { Exceptions } from "../exceptions.ts";
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
  /** Of each resource the version that it has acknowledged: usually the current one. Absent if it has never connected. */
  acked: Exceptions<string | undefined, ResourceId> | undefined;
  readonly refused = new Map<ResourceId, Refusal>();
  /** How many contributions it keeps waiting. */
  owes = 0;
  /** Since when it owes something and has said nothing, in milliseconds. */
  quietSince = 0;

  /** `bit` is its place in sets, of which no other one of its Gateway has the same at that time. */
  constructor(readonly id: string, readonly bit: number) {}
}
