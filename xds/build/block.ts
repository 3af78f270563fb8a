/**
 * Virtual hosts of a route table in a fixed number of blocks, and those of a block in a fixed number of leaves, which are
 * made once each.
 *
 * An edit among thousands of virtual hosts should neither copy nor hash all of them. Where a virtual host is follows from
 * its hostname alone, so whatever is added or removed leaves the other leaves and blocks as they are, and the blocks, like the
 * versions made of their hashes, do not depend on the past. The order of virtual hosts means nothing to Envoy.
 *
 * @module
 */
import type { ResourceId } from "../../controllers/ir/mod.ts";
import type { Group, Key } from "../../controllers/runtime/graph.ts";
import { hashOf } from "./hash.ts";
import { concatenated } from "./pack.ts";

/** Encoded virtual hosts: one, those of a leaf, or those of a block. */
export interface Block {
  /** Of the bytes, or of the hashes of its parts. */
  readonly hash: string;
  readonly bytes: Uint8Array;
  /** What its virtual hosts need. */
  readonly needs: ReadonlySet<ResourceId>;
}

/**
 * So many blocks that those of 5,000 virtual hosts are about as large as what HTTP/2 is given at once, and so many leaves
 * in each that a leaf of 10,000 virtual hosts has about ten: an edit looks at no more parts than among 1,000.
 */
const count = 32;

/** The leaf of a virtual host. */
export function leafOf(table: Key, hostname: string): Key {
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < hostname.length; i++) hash = Math.imul(hash ^ hostname.charCodeAt(i), 0x01000193);
  const number = hash >>> 0;
  return `${blockKey(table, number % count)}|${Math.floor(number / count) % count}`;
}

/** The block of a leaf. */
export function blockOf(leaf: Key): Key {
  return leaf.slice(0, leaf.lastIndexOf("|"));
}

/** The blocks of a route table, in order; not all of them need to be there. */
export function blocksOf(table: Key): readonly Key[] {
  return Array.from({ length: count }, (_, i) => blockKey(table, i));
}

function blockKey(table: Key, number: number): Key {
  return `${table}|${number}`;
}

/** Puts virtual hosts into a leaf, or leaves into a block. */
export function makeBlock(members: Group<Block>): Block {
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
