/**
 * Finds out from Envoy's words which resources of a response it refused.
 *
 * @module
 */
import type { ResourceType } from "../types.ts";

/**
 * The refused resources of a response with several, each with what Envoy says about it, or undefined if its words do not tell.
 *
 * Envoy applies the good ones of a response with clusters or listeners and names the others: `Error adding/updating
 * cluster(s) a: reason, b: reason`, `Error adding/updating listener(s) a: reason`. Other types stop at the first bad
 * one and name none.
 */
export function blame(
  type: ResourceType,
  names: readonly string[],
  message: string,
): ReadonlyMap<string, string> | undefined {
  if (names.length === 0) return new Map();
  if (names.length === 1) return new Map([[names[0]!, message]]);
  if (type !== "cluster" && type !== "listener") return undefined;
  const found = names.flatMap((name) => {
    const at = positionOf(name, message);
    return at === undefined ? [] : [{ name, at }];
  }).sort((a, b) => a.at - b.at);
  if (found.length === 0) return undefined;
  return new Map(found.map(({ name, at }, i) => {
    const own = message.slice(at, found[i + 1]?.at).replace(/[,\s]+$/, "");
    return [name, own.slice(name.length + 1).trim()];
  }));
}

/** Whether Envoy's words are cut off, as they are after 4,096 characters: then it may have refused more than it names. */
export function isCutOff(message: string): boolean {
  return message.endsWith("...(truncated)");
}

/** Where `NAME:` is said of just this name, which may be the beginning or the end of another. */
function positionOf(name: string, message: string): number | undefined {
  for (let at = message.indexOf(`${name}:`); at >= 0; at = message.indexOf(`${name}:`, at + 1)) {
    if (at === 0 || /[\s,]/.test(message[at - 1]!)) return at;
  }
  return undefined;
}
