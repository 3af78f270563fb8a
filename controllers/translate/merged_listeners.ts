/**
 * The listeners of a Gateway and of the ListenerSets that add to it, as one list: where two of different owners cannot
 * both be had, the one that comes first stays.
 *
 * @module
 */
import type { Key } from "../runtime/graph.ts";
import type { Fault } from "./conditions.ts";
import {
  compatible,
  type Listener,
  protocolConflict,
  protocols,
  transport,
  withConflicts,
} from "./listeners.ts";

/** What is taken of a port by those who go first. */
interface Claims {
  readonly protocols: Map<string, Listener>;
  readonly hostnames: Map<string, Listener>;
}

/**
 * Marks the listeners that are in conflict; `owners` are in order of precedence, the Gateway first. One loses against
 * those of an owner before its own. Among those of one owner nobody wins, and all of them are refused.
 *
 * Nobody who comes later gets what those ask for: a mistake of the owner of a hostname must not hand it to another.
 *
 * No more than `most` of them all are accepted.
 */
export function mergeListeners(
  owners: readonly (readonly Listener[])[],
  most: number,
): readonly (readonly Listener[])[] {
  let left = most;
  const ports = new Map<Key, Claims>();
  const claimsOn = (listener: Listener): Claims => {
    const port = `${listener.port}/${transport(listener)}`;
    const claims = ports.get(port) ?? { protocols: new Map(), hostnames: new Map() };
    ports.set(port, claims);
    return claims;
  };
  return owners.map((listeners) => {
    const candidates = listeners.map((listener) => {
      // What nobody serves takes nothing from others, but is told of those who are there before it.
      if (listener.refused !== undefined && !isOfKnownProtocol(listener)) return listener;
      const conflict = conflictWith(claimsOn(listener), listener);
      return conflict ? { ...listener, conflict, refused: conflict } : listener;
    });
    for (const listener of candidates) {
      if (listener.refused !== undefined) continue;
      const { protocols, hostnames } = claimsOn(listener);
      if (!protocols.has(listener.protocol)) protocols.set(listener.protocol, listener);
      if (!hostnames.has(listener.hostname)) hostnames.set(listener.hostname, listener);
    }
    return withConflicts(candidates).map((listener) =>
      listener.refused === undefined && --left < 0 ? { ...listener, refused: tooMany(most) } : listener
    );
  });
}

function isOfKnownProtocol({ protocol }: Listener): boolean {
  return Object.hasOwn(protocols, protocol);
}

function conflictWith({ protocols, hostnames }: Claims, listener: Listener): Fault | undefined {
  const same = hostnames.get(listener.hostname);
  for (const [protocol, other] of protocols) {
    if (compatible(listener.protocol, protocol)) continue;
    return protocolConflict(listener, same, holder(other));
  }
  if (same === undefined) return undefined;
  const hostname = listener.hostname === "*" ? "no hostname" : `hostname "${listener.hostname}"`;
  return {
    reason: "HostnameConflict",
    message: `Cannot tell it from ${holder(same)}: same port ${listener.port} and ${hostname}`,
  };
}

function tooMany(most: number): Fault {
  return {
    reason: "TooManyListeners",
    message:
      `A Gateway has no more than ${most} listeners, with those of ListenerSets: add to another Gateway`,
  };
}

/** Names a Gateway, which those who add to it know; other ListenerSets are nobody's business. */
function holder({ owner }: Listener): string {
  return owner.startsWith("Gateway/")
    ? "a listener of the Gateway, which goes first"
    : "a listener of another ListenerSet, which goes first";
}
