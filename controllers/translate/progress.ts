/**
 * How far something that is meant has come, in the words of the condition Programmed.
 *
 * @module
 */
import type { Verdict } from "../ir/mod.ts";
import type { Fault } from "./conditions.ts";

export const notAccepted = "Not programmed, since it is not accepted";

/** The state of what is not at fault, perhaps: it is only held back for a moment. */
export const heldBack: Fault = {
  reason: "Pending",
  message: "Held back to find out which part of the configuration the proxies refuse",
};

/** What there is to say about what is programmed, perhaps with proxies left out. */
export function programmed(
  verdict: Verdict | undefined,
): { readonly reason: string; readonly message: string } {
  const words = verdict?.state === "programmed" ? verdict.message : "";
  return { reason: "Programmed", message: words || "Every proxy has the current configuration" };
}

/** Why something is not programmed yet, or not any more. */
export function pendingOf(
  generation: number,
  verdict: Verdict | undefined,
  proxies: number | undefined,
): Fault | undefined {
  if (verdict?.state === "rejected") return { reason: "Invalid", message: verdict.message };
  if (verdict?.state === "programmed" && verdict.generation === generation) return undefined;
  // Proxies that have an older generation are there.
  const waiting = proxies || verdict?.state === "programmed"
    ? "Waiting for the proxies to take the configuration"
    : "Waiting for a proxy to start";
  return { reason: "Pending", message: verdict?.message || waiting };
}
