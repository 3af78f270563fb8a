/**
 * The resources of all types as one table.
 *
 * @module
 */
import type { Key, Table } from "../../controllers/runtime/graph.ts";
import { type ResourceType, splitResourceKey, type XdsResource } from "../types.ts";

/** Shows tables of the single types, whose keys are `GATEWAY|RESOURCEID` already, as one. To be read after a settle. */
export class ResourceTable implements Table<XdsResource> {
  readonly name = "xds/resources";
  readonly #tables: { readonly [T in ResourceType]?: Table<XdsResource> };

  constructor(tables: { readonly [T in ResourceType]?: Table<XdsResource> }) {
    this.#tables = tables;
  }

  get size(): number {
    return this.#all.reduce((size, table) => size + table.size, 0);
  }

  get(key: Key): XdsResource | undefined {
    const { id } = splitResourceKey(key);
    return this.#tables[id.slice(0, id.indexOf(":")) as ResourceType]?.get(key);
  }

  *entries(): Generator<[Key, XdsResource], undefined> {
    for (const table of this.#all) yield* table.entries();
  }

  get changed(): ReadonlySet<Key> {
    return new Set(this.#all.flatMap((table) => [...table.changed]));
  }

  get failures(): ReadonlyMap<Key, unknown> {
    return new Map(this.#all.flatMap((table) => [...table.failures]));
  }

  get #all(): readonly Table<XdsResource>[] {
    return Object.values(this.#tables);
  }
}
