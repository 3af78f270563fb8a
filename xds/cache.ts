/**
 * The resources that proxies are to have, by Gateway.
 *
 * @module
 */
import type { GatewayKey, ResourceId } from "../controllers/ir/mod.ts";
import type { Table } from "../controllers/runtime/graph.ts";
import { drainingOf } from "./build/draining.ts";
import { splitResourceKey, type XdsResource } from "./types.ts";

/** The resources of one Gateway now. */
export type Resources = ReadonlyMap<ResourceId, XdsResource>;

/** What changed, each with what there was before. */
export type Changes = ReadonlyMap<ResourceId, XdsResource | undefined>;

/** Told what changed, once per settle. */
export type ChangeListener = (changes: Changes) => void;

/** What one proxy is to have; live. */
export type ProxyResources = Pick<Resources, "get" | "has" | "keys">;

/** A proxy that follows its resources until disposed of. */
export interface Follower extends Disposable {
  readonly resources: ProxyResources;
}

interface Entry {
  readonly proxy: string;
  readonly listener: ChangeListener;
}

/** Holds what every stream serves from: all of them share its resources and their bytes. */
export class XdsCache {
  readonly #resources = new Map<GatewayKey, Map<ResourceId, XdsResource>>();
  readonly #followers = new Map<GatewayKey, Set<Entry>>();
  #draining: ReadonlySet<string> = new Set();

  /**
   * `complete` resolves once all that is known when it is called is there, the first configuration at least. No proxy is answered
   * before: what it has would look as if it had to go, or it would be sent what is known to be out of date.
   */
  constructor(readonly complete: () => Promise<void> = () => Promise.resolve()) {}

  /** Takes in what changed in the last settle, then wakes the streams of the Gateways concerned. */
  update(table: Table<XdsResource>): void {
    const changed = new Map<GatewayKey, Map<ResourceId, XdsResource | undefined>>();
    for (const key of table.changed) {
      const { gateway, id } = splitResourceKey(key);
      const before = this.#resources.get(gateway)?.get(id);
      this.#put(gateway, id, table.get(key));
      const changes = changed.get(gateway);
      if (changes) changes.set(id, before);
      else changed.set(gateway, new Map([[id, before]]));
    }
    for (const [gateway, changes] of changed) {
      for (const { proxy, listener } of [...this.#followers.get(gateway) ?? []]) {
        listener(this.#draining.has(proxy) ? allDraining(changes) : changes);
      }
    }
  }

  /** Takes in which proxies, by their ids, are about to end: their listeners send clients away. */
  drain(proxies: ReadonlySet<string>): void {
    const changed = proxies.symmetricDifference(this.#draining);
    this.#draining = new Set(proxies);
    for (const [gateway, followers] of this.#followers) {
      for (const { proxy, listener } of [...followers]) {
        if (!changed.has(proxy)) continue;
        const listeners = [...this.resources(gateway)].filter(([id]) => id.startsWith("listener:"));
        const changes = new Map(listeners);
        listener(this.#draining.has(proxy) ? changes : allDraining(changes));
      }
    }
  }

  /** The resources of a Gateway; the map is live. */
  resources(gateway: GatewayKey): Resources {
    // A stream keeps the map, so it has to be there before the Gateway's first resource is.
    let map = this.#resources.get(gateway);
    if (!map) this.#resources.set(gateway, map = new Map());
    return map;
  }

  /** The resources of one proxy of a Gateway. Calls `listener` after each change of them. */
  follow(gateway: GatewayKey, proxy: string, listener: ChangeListener): Follower {
    const entry: Entry = { proxy, listener };
    let followers = this.#followers.get(gateway);
    if (!followers) this.#followers.set(gateway, followers = new Set());
    followers.add(entry);
    const resources = this.resources(gateway);
    return {
      resources: {
        get: (id) => {
          const resource = resources.get(id);
          return resource && this.#draining.has(proxy) ? drainingOf(resource) : resource;
        },
        has: (id) => resources.has(id),
        keys: () => resources.keys(),
      },
      [Symbol.dispose]: () => {
        followers.delete(entry);
        if (followers.size > 0) return;
        this.#followers.delete(gateway);
        if (this.#resources.get(gateway)?.size === 0) this.#resources.delete(gateway);
      },
    };
  }

  /** How many resources there are, over all Gateways. */
  get size(): number {
    let size = 0;
    for (const resources of this.#resources.values()) size += resources.size;
    return size;
  }

  #put(gateway: GatewayKey, id: ResourceId, resource: XdsResource | undefined): void {
    const resources = this.#resources.get(gateway);
    if (resource) {
      if (resources) resources.set(id, resource);
      else this.#resources.set(gateway, new Map([[id, resource]]));
    } else if (resources) {
      resources.delete(id);
      if (resources.size === 0 && !this.#followers.has(gateway)) this.#resources.delete(gateway);
    }
  }
}

/** Changes as they are for a proxy that drained before. */
function allDraining(changes: Changes): Changes {
  return new Map([...changes].map(([id, before]) => [id, before && drainingOf(before)]));
}
