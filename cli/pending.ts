/**
 * What an operator still waits for before it can say how things are.
 *
 * @module
 */
import type { Key } from "../controllers/runtime/graph.ts";
import type { Translation, World } from "../controllers/translate/mod.ts";

export interface Observed {
  readonly world: World;
  readonly translation: Translation;
}

/**
 * Tells one by one what has no address, no proxy or no answer from its proxies yet, for people; but for Gateways that are not
 * expected to have an address or a proxy.
 */
export function* pendingIn(
  { world, translation }: Observed,
  unexpected: (gateway: Key) => boolean = () => false,
): Generator<string, void> {
  const lacking = new Set<Key>();
  for (const [key, { refused, terminating }] of translation.gateways.entries()) {
    if (unexpected(key)) lacking.add(key);
    if (refused !== undefined || terminating || lacking.has(key)) continue;
    if (!world.addresses.get(key)) yield `an address for Gateway "${key}"`;
    if (!world.proxies.get(key)) yield `a proxy for Gateway "${key}"`;
  }
  for (const [key, { gateway, generation }] of translation.ir.contributions.entries()) {
    if (lacking.has(gateway) && !world.proxies.get(gateway)) continue;
    const verdict = world.verdicts.get(key);
    if (!verdict || verdict.state === "pending" || verdict.generation < generation) {
      yield key.slice(key.indexOf("|") + 1);
    }
  }
}

/**
 * Whether the status of a Gateway says that it is not programmed, as it is now, and nothing else is to be said. If something keeps
 * it without proxies or without an address, that is known, and news of it may be long in coming.
 */
export function isKnownToLack({ world, translation }: Observed, gateway: Key): boolean {
  if (translation.due.get(`Gateway/${gateway}`)) return false;
  const { metadata, status } = world.objects.Gateway.get(gateway) ?? {};
  const programmed = status?.conditions?.find(({ type }) => type === "Programmed");
  return programmed?.status === "False" && programmed.observedGeneration === metadata?.generation;
}
