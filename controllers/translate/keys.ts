/**
 * Keys that are made of others: of a Gateway's and something else, of a kind and an object's.
 *
 * @module
 */
import type { GatewayKey, Origin } from "../ir/mod.ts";
import type { Key } from "../runtime/graph.ts";

/** `GATEWAY|REST`, as for contributions, verdicts, rejections and uses of clusters. */
export function within(gateway: GatewayKey, rest: string): Key {
  return `${gateway}|${rest}`;
}

/** The parts of a key made by {@linkcode within}. */
export function split(key: Key): readonly [gateway: GatewayKey, rest: string] {
  const bar = key.indexOf("|");
  return [key.slice(0, bar), key.slice(bar + 1)];
}

/** The origin of a piece: of `HTTPRoute/default/web/rule/0` it is `HTTPRoute/default/web`. */
export function originOfPiece(piece: Key): Origin {
  return piece.split("/").slice(0, 3).join("/");
}

/** The parts of an origin: `ListenerSet/default/web` is a `ListenerSet` with the key `default/web`. */
export function splitOrigin(origin: Origin): readonly [kind: string, key: Key] {
  const slash = origin.indexOf("/");
  return [origin.slice(0, slash), origin.slice(slash + 1)];
}

/** The namespace of `namespace/name`. */
export function namespaceOf(key: Key): string {
  return key.slice(0, key.indexOf("/"));
}
