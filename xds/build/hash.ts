/**
 * Versions of resources.
 *
 * @module
 */
import { createHash } from "node:crypto";

/**
 * A hash of some bytes and strings, one after the other: 128 bits of SHA-256 in base64url. Equal content has equal
 * versions on every replica and after every restart, so that a proxy that reconnects is not sent what it has.
 */
export function hashOf(...parts: readonly (Uint8Array | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url").slice(0, 22);
}
