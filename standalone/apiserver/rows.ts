/**
 * Objects at one revision, and where to find them.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";

/** An object at one revision, in its storage version. */
export interface Row {
  readonly resource: string;
  readonly key: string;
  readonly revision: number;
  readonly object: ApiObject;
  readonly json: string;
}

/** Rows of one resource in order of their keys. */
export class Rows {
  readonly #keys: string[] = [];
  readonly #byKey = new Map<string, Row>();

  get(key: string): Row | undefined {
    return this.#byKey.get(key);
  }

  /** Of one namespace if it is given. */
  all(namespace?: string): Row[] {
    const from = namespace === undefined ? 0 : lowerBound(this.#keys, `${namespace}/`);
    const to = namespace === undefined ? this.#keys.length : lowerBound(this.#keys, `${namespace}0`); // "0" follows "/"
    return this.#keys.slice(from, to).map((key) => this.#byKey.get(key)!);
  }

  set(row: Row): void {
    if (!this.#byKey.has(row.key)) this.#keys.splice(lowerBound(this.#keys, row.key), 0, row.key);
    this.#byKey.set(row.key, row);
  }
  delete(key: string): void {
    if (this.#byKey.delete(key)) this.#keys.splice(lowerBound(this.#keys, key), 1);
  }
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0, high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** From the database. */
export function parse(resource: string, key: string, json: string): Row {
  const object = JSON.parse(json) as ApiObject;
  return { resource, key, revision: Number(object.metadata.resourceVersion), object, json };
}

/** A new state of an object, which is given its resourceVersion. */
export function made(resource: string, key: string, revision: number, object: ApiObject): Row {
  const versioned = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
  return { resource, key, revision, object: versioned, json: JSON.stringify(versioned) };
}

/** The same state at another revision: that of its deletion. */
export function at(row: Row, revision: number): Row {
  return made(row.resource, row.key, revision, row.object);
}
