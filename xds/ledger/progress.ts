/**
 * Which versions the proxies of a Gateway are to have and which they have.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import { Exceptions } from "../exceptions.ts";
import { ProxyState } from "./proxy.ts";
import { ProxySet } from "./proxy_set.ts";
import { Versions } from "./versions.ts";

/** What a proxy does not have in its current version. */
export interface Lag {
  /** How many resources. */
  readonly behind: number;
  /** Since when it could have acknowledged the first of them, in milliseconds; absent if none is left. */
  readonly since?: number;
}

export class Progress {
  readonly #versions = new Map<ResourceId, Versions>();
  readonly #proxies = new Map<string, ProxyState>();
  readonly #bits: (ProxyState | undefined)[] = [];

  /** Makes `version` the current one from settle `seq` on; undefined if the resource is gone. */
  setCurrent(id: ResourceId, version: string | undefined, seq: number, now: number): void {
    const before = this.current(id);
    let versions = this.#versions.get(id);
    if (!versions) this.#versions.set(id, versions = new Versions());
    versions.set(version, seq, now);
    // No proxy has what does not exist, and nobody asks for its past.
    if (version === undefined) this.#versions.delete(id);
    for (const { acked } of this.#proxies.values()) acked?.keep(id, before);
  }

  /** The version that proxies are to have. */
  current(id: ResourceId): string | undefined {
    return this.#versions.get(id)?.current;
  }

  /** When the current version became so, in milliseconds. */
  currentSince(id: ResourceId): number {
    return this.#versions.get(id)?.at ?? 0;
  }

  /** The last settle whose outcome a proxy has of a resource: Infinity if it is up to date, -1 if unknown. */
  covers(proxy: ProxyState, id: ResourceId): number {
    const versions = this.#versions.get(id);
    return versions ? versions.covers(proxy.acked?.get(id)) : Infinity;
  }

  /** How far a proxy is behind, since it connected. This looks at each resource. */
  lag(proxy: ProxyState): Lag {
    let behind = 0, since = Infinity;
    for (const [id, versions] of this.#versions) {
      const acked = proxy.acked?.get(id);
      if (acked === versions.current) continue;
      behind++;
      since = Math.min(since, Math.max(versions.outdatedSince(acked), proxy.connectedAt));
    }
    return { behind, ...behind > 0 && { since } };
  }

  /** All resources; those that come while this is read are told too. */
  ids(): Iterator<ResourceId> {
    return this.#versions.keys();
  }

  /** A proxy of which something is known. */
  known(id: string): ProxyState | undefined {
    return this.#proxies.get(id);
  }

  proxy(id: string): ProxyState {
    const known = this.#proxies.get(id);
    if (known) return known;
    const free = this.#bits.indexOf(undefined), bit = free < 0 ? this.#bits.length : free;
    const proxy = this.#bits[bit] = new ProxyState(id, bit);
    this.#proxies.set(id, proxy);
    return proxy;
  }

  /** Notes that a proxy has not said anything yet of what it has, or begins anew to do so. */
  begin(proxy: ProxyState): void {
    proxy.acked = new Exceptions<string | undefined, ResourceId>((id) => this.current(id));
    for (const id of this.#versions.keys()) proxy.acked.set(id, undefined);
  }

  /**
   * Whether a proxy is known to take no requests. Without a listener it does not, but it keeps routes and clusters for as long as
   * connections of a former one drain. One that is out of reach keeps whatever it had.
   */
  isDown({ acked, listed, streams }: ProxyState): boolean {
    if (streams === 0 || !listed || !acked) return false;
    for (const ids of [this.#versions.keys(), acked.names]) {
      for (const id of ids) if (id.startsWith("listener:") && acked.get(id) !== undefined) return false;
    }
    return true;
  }

  /** Forgets a proxy that is in no set any more. */
  forget(proxy: ProxyState): void {
    if (this.#proxies.delete(proxy.id)) this.#bits[proxy.bit] = undefined;
  }

  /** A set of proxies, without any. */
  none(): ProxySet {
    return new ProxySet(this.#bits);
  }

  /** The proxies that have a stream. */
  *connected(): Generator<ProxyState, void> {
    for (const proxy of this.#proxies.values()) if (proxy.streams > 0) yield proxy;
  }

  get proxies(): Iterable<ProxyState> {
    return this.#proxies.values();
  }

  get empty(): boolean {
    return this.#versions.size === 0 && this.#proxies.size === 0;
  }
}
