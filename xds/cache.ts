/**
 * The resources that proxies are to have, by Gateway.
 *
 * @module
 */
import type { GatewayKey, ResourceId } from "../controllers/ir/mod.ts";
import type { Table } from "../controllers/runtime/graph.ts";
import { splitResourceKey, type XdsResource } from "./types.ts";

/** The resources of one Gateway now. */
export type Resources = ReadonlyMap<ResourceId, XdsResource>;

/** Told what changed, once per settle. */
export type ChangeListener = (changed: ReadonlySet<ResourceId>) => void;

/** Holds what every stream serves from: all of them share its resources and their bytes. */
export class XdsCache {
  readonly #resources = new Map<GatewayKey, Map<ResourceId, XdsResource>>();
  readonly #listeners = new Map<GatewayKey, Set<ChangeListener>>();

  /**
   * `complete` resolves once the first configuration is there. No proxy is answered before: what it has would look as if it had
   * to go.
   */
  constructor(readonly complete: Promise<void> = Promise.resolve()) {}

  /** Takes in what changed in the last settle, then wakes the streams of the Gateways concerned. */
  update(table: Table<XdsResource>): void {
    const changed = new Map<GatewayKey, Set<ResourceId>>();
    for (const key of table.changed) {
      const { gateway, id } = splitResourceKey(key);
      this.#put(gateway, id, table.get(key));
      const ids = changed.get(gateway);
      if (ids) ids.add(id);
      else changed.set(gateway, new Set([id]));
    }
    for (const [gateway, ids] of changed) {
      for (const listener of [...this.#listeners.get(gateway) ?? []]) listener(ids);
    }
  }

  /** The resources of a Gateway; the map is live. */
  resources(gateway: GatewayKey): Resources {
    // A stream keeps the map, so it has to be there before the Gateway's first resource is.
    let map = this.#resources.get(gateway);
    if (!map) this.#resources.set(gateway, map = new Map());
    return map;
  }

  /** Calls `listener` after each change of a Gateway's resources until disposed of. */
  watch(gateway: GatewayKey, listener: ChangeListener): Disposable {
    let listeners = this.#listeners.get(gateway);
    if (!listeners) this.#listeners.set(gateway, listeners = new Set());
    listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        this.#listeners.delete(gateway);
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
      if (resources.size === 0 && !this.#listeners.has(gateway)) this.#resources.delete(gateway);
    }
  }
}
