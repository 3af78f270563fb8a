/**
 * What one proxy wants, has and is being sent of one type of resource.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { Needs, ResourceType } from "../types.ts";

/** A version that the proxy has. */
export interface Held {
  readonly version: string;
  /** What that version needs; unknown if another server sent it. */
  readonly needs: Needs | undefined;
}

/** The bookkeeping of one type on one stream. Names are those of resources of that type. */
export class Subscription {
  /** Whether the proxy has asked for this type at all. */
  started = false;
  /** Whether it wants whatever there is. */
  wildcard = false;
  readonly names = new Set<string>();
  readonly held = new Map<string, Held>();
  /** The version that was sent last, or that the proxy came with. */
  readonly given = new Map<string, string>();
  /** The nonce of the response that carries a resource or its removal, until that is acknowledged. */
  readonly inFlight = new Map<string, string>();
  /** The version that the proxy refused last. */
  readonly refused = new Map<string, string>();
  /** To be looked at: perhaps there is something to send. */
  readonly dirty = new Set<string>();
  /** To be sent even if the proxy has it. */
  readonly owed = new Set<string>();
  /** To be sent in a response of its own, so that a refusal says whom it means. */
  readonly alone = new Set<string>();
  /** Whether the first request is still to be answered, be it with an empty response. */
  unanswered = false;

  constructor(readonly type: ResourceType) {}

  id(name: string): ResourceId {
    return `${this.type}:${name}`;
  }

  wants(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }

  /** Notes that a name is to be looked at. */
  touch(name: string): void {
    if (!this.inFlight.has(name)) this.dirty.add(name);
  }

  /** The proxy has not taken the version that it was given last, and keeps what it had. */
  keepsHeld(name: string): void {
    const held = this.held.get(name);
    if (held) this.given.set(name, held.version);
    else this.given.delete(name);
  }

  /** Forgets a resource that the proxy is no longer interested in. */
  forget(name: string): void {
    this.names.delete(name);
    this.held.delete(name);
    this.given.delete(name);
    this.refused.delete(name);
    this.owed.delete(name);
    this.alone.delete(name);
    this.dirty.delete(name);
  }
}

/** The bookkeeping of all types on one stream. */
export type Subscriptions = { readonly [T in ResourceType]: Subscription };
