/**
 * What an operator still waits for before it can say how things are.
 *
 * @module
 */
import type { Translation, World } from "../controllers/translate/mod.ts";

/** Tells one by one what has no address, no proxy or no answer from its proxies yet, for people. */
export function* pendingIn(
  { world, translation }: { readonly world: World; readonly translation: Translation },
): Generator<string, void> {
  for (const [key, { refused, terminating }] of translation.gateways.entries()) {
    if (refused !== undefined || terminating) continue;
    if (!world.addresses.get(key)) yield `an address for Gateway "${key}"`;
    if (!world.proxies.get(key)) yield `a proxy for Gateway "${key}"`;
  }
  for (const [key, { generation }] of translation.ir.contributions.entries()) {
    const verdict = world.verdicts.get(key);
    if (!verdict || verdict.state === "pending" || verdict.generation < generation) {
      yield key.slice(key.indexOf("|") + 1);
    }
  }
}
