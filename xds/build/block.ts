/**
 * Virtual hosts of a route table in a fixed number of blocks, which are made once each.
 *
 * An edit among thousands of virtual hosts should neither copy nor hash all of them. Which block a virtual host is in follows from
 * its hostname alone, so whatever is added or removed leaves the other blocks as they are, and the blocks, like the versions made
 * of their hashes, do not depend on the past. The order of virtual hosts means nothing to Envoy.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { Group, Key } from "../../controllers/runtime/graph.ts";
import { hashOf } from "./hash.ts";
import { concatenated } from "./pack.ts";
import type { EncodedVirtualHost } from "./virtual_host.ts";

export interface Block {
  /** Of the hashes of its virtual hosts. */
  readonly hash: string;
  readonly bytes: Uint8Array;
  /** What its virtual hosts need. */
  readonly needs: ReadonlySet<ResourceId>;
}

/** So many that the blocks of 5,000 virtual hosts are about as large as what HTTP/2 is given at once. */
const count = 32;

/** The block of a virtual host. */
export function blockOf(table: Key, hostname: string): Key {
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < hostname.length; i++) hash = Math.imul(hash ^ hostname.charCodeAt(i), 0x01000193);
  return blockKey(table, (hash >>> 0) % count);
}

/** The blocks of a route table, in order; not all of them need to be there. */
export function blocksOf(table: Key): readonly Key[] {
  return Array.from({ length: count }, (_, i) => blockKey(table, i));
}

function blockKey(table: Key, number: number): Key {
  return `${table}|${number}`;
}

export function makeBlock(members: Group<EncodedVirtualHost>): Block {
  const bytes: Uint8Array[] = [], needs = new Set<ResourceId>();
  let hashes = "", size = 0;
  members.forEach((member) => {
    bytes.push(member.bytes);
    size += member.bytes.length;
    hashes += member.hash;
    for (const id of member.needs) needs.add(id);
  });
  return { hash: hashOf(hashes), bytes: concatenated(bytes, size), needs };
}
