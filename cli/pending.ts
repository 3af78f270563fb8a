/**
 * What an operator still waits for before it can say how things are.
 *
 * @module
 */
import type { Translation, World } from "../controllers/translate/mod.ts";

/** What has no address, no proxy or no answer from its proxies yet, for people. */
export function pendingIn(
  { world, translation }: { readonly world: World; readonly translation: Translation },
): readonly string[] {
  const pending: string[] = [];
  for (const [key, { refused, terminating }] of translation.gateways.entries()) {
    if (refused !== undefined || terminating) continue;
    if (!world.addresses.get(key)) pending.push(`an address for Gateway "${key}"`);
    if (!world.proxies.get(key)) pending.push(`a proxy for Gateway "${key}"`);
  }
  for (const [key, { generation }] of translation.ir.contributions.entries()) {
    const verdict = world.verdicts.get(key);
    if (!verdict || verdict.state === "pending" || verdict.generation < generation) {
      pending.push(key.slice(key.indexOf("|") + 1));
    }
  }
  return pending;
}
