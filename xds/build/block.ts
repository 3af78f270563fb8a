/**
 * Runs of virtual hosts, as parts of a route configuration that are made once.
 *
 * An edit among thousands of virtual hosts should neither copy nor hash all of them. Where a block ends is decided by the hosts in it
 * and not by how many come before, so whatever is added or removed moves few borders, and the blocks, like the versions made of
 * their hashes, do not depend on the past. (Content-defined chunking, as in LBFS, SOSP 2001.)
 *
 * @module
 */
import { hashOf } from "./hash.ts";
import type { EncodedVirtualHost } from "./virtual_host.ts";

export interface Block {
  /** Of the hashes of its virtual hosts. */
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** The bytes that a block has at least, unless it is the last: about what HTTP/2 is given at once. */
const leastSize = 24 * 1024;

/** One virtual host in eight may end a block: those whose hash begins with one of these. */
const ends: ReadonlySet<string> = new Set("ABCDEFGH");

interface Made {
  readonly members: readonly EncodedVirtualHost[];
  readonly block: Block;
}

/** What was made last, by the first member. */
const made = new WeakMap<EncodedVirtualHost, Made>();

/** Cuts virtual hosts into blocks. Blocks of the same values as before are the same values as before. */
export function blocksOf(hosts: readonly EncodedVirtualHost[]): readonly Block[] {
  const blocks: Block[] = [];
  let start = 0, size = 0;
  for (let i = 0; i < hosts.length; i++) {
    const { bytes, hash } = hosts[i]!;
    size += bytes.length;
    if (i + 1 < hosts.length && (size < leastSize || !ends.has(hash[0]!))) continue;
    blocks.push(blockOf(hosts, start, i + 1, size));
    start = i + 1;
    size = 0;
  }
  return blocks;
}

function blockOf(hosts: readonly EncodedVirtualHost[], start: number, end: number, size: number): Block {
  const first = hosts[start]!, before = made.get(first);
  if (
    before && before.members.length === end - start && before.members.every((m, i) => m === hosts[start + i])
  ) {
    return before.block;
  }
  const members = hosts.slice(start, end), bytes = new Uint8Array(size);
  let at = 0;
  for (const member of members) {
    bytes.set(member.bytes, at);
    at += member.bytes.length;
  }
  const block = { hash: hashOf(members.map(({ hash }) => hash).join("")), bytes };
  made.set(first, { members, block });
  return block;
}
