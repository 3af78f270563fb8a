/**
 * What one proxy wants, has and is being sent of one type of resource.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { ProxyResources } from "../cache.ts";
import { Exceptions } from "../exceptions.ts";
import type { Needs, ResourceType, XdsResource } from "../types.ts";

/** A version that the proxy has. */
export interface Held {
  readonly version: string;
  /** What that version needs; unknown if another server sent it. */
  readonly needs: Needs | undefined;
}

/** What is on its way to the proxy. */
export interface InFlight {
  /** Of the response that carries it. */
  readonly nonce: string;
  /** Absent for a removal. */
  readonly version?: string;
}

/** The bookkeeping of one type on one stream. Names are those of resources of that type. */
export class Subscription {
  /** Whether the proxy has asked for this type at all. */
  started = false;
  /** Whether it wants whatever there is. */
  wildcard = false;
  /** What carries a resource or its removal, until that is acknowledged. */
  readonly inFlight = new Map<string, InFlight>();
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
  /** Whether proxies ask for all there is, without naming it. */
  readonly hasAll: boolean;
  readonly #resources: ProxyResources;
  /** What the proxy has; usually what there is. */
  readonly #held: Exceptions<Held | undefined>;
  /** Whether the proxy has named it; usually what there is, unless it asks for all. */
  readonly #named: Exceptions<boolean>;

  /** `resources` is live; each change of one of this type must be told by {@linkcode changed}. */
  constructor(readonly type: ResourceType, resources: ProxyResources) {
    this.hasAll = type === "cluster" || type === "listener";
    this.#resources = resources;
    this.#held = new Exceptions<Held | undefined>(
      (name) => resources.get(this.id(name)),
      (a, b) => a?.version === b?.version,
    );
    this.#named = new Exceptions((name) => this.#isUsuallyNamed(resources.get(this.id(name))));
  }

  id(name: string): ResourceId {
    return `${this.type}:${name}`;
  }

  wants(name: string): boolean {
    return this.wildcard || this.#named.get(name);
  }

  names(name: string): boolean {
    return this.#named.get(name);
  }

  /** Notes whether the proxy names a resource. */
  name(name: string, named: boolean): void {
    this.#named.set(name, named);
  }

  /** What the proxy has of a resource, if it has it. */
  held(name: string): Held | undefined {
    return this.#held.get(name);
  }

  /** Notes what the proxy has of a resource from now on. */
  hold(name: string, held: Held | undefined): void {
    this.#held.set(name, held);
  }

  /** All that the proxy has. This looks at each resource there is. */
  *allHeld(): Generator<readonly [name: string, Held], void> {
    const prefix = this.id("");
    const existing = this.#resources.keys().filter((id) => id.startsWith(prefix))
      .map((id) => id.slice(prefix.length));
    for (const name of new Set([...this.#held.names, ...existing])) {
      const held = this.held(name);
      if (held) yield [name, held];
    }
  }

  /** The version that was sent last, or that the proxy has. */
  given(name: string): string | undefined {
    const inFlight = this.inFlight.get(name);
    return inFlight ? inFlight.version : this.held(name)?.version;
  }

  /** Notes that a resource was added, replaced or removed, of which there was `before`: what the proxy has stays. */
  changed(name: string, before: XdsResource | undefined): void {
    this.#held.keep(name, before && { version: before.version, needs: before.needs });
    this.#named.keep(name, this.#isUsuallyNamed(before));
  }

  /** Notes that a name is to be looked at. */
  touch(name: string): void {
    if (!this.inFlight.has(name)) this.dirty.add(name);
  }

  /** Forgets a resource that the proxy is no longer interested in. */
  forget(name: string): void {
    this.name(name, false);
    this.hold(name, undefined);
    this.refused.delete(name);
    this.owed.delete(name);
    this.alone.delete(name);
    this.dirty.delete(name);
  }

  #isUsuallyNamed(resource: XdsResource | undefined): boolean {
    return !this.hasAll && resource !== undefined;
  }
}

/** The bookkeeping of all types on one stream. */
export type Subscriptions = { readonly [T in ResourceType]: Subscription };
