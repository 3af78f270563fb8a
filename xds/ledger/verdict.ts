/**
 * What is to be said of a contribution, by how far the proxies are with it.
 *
 * @module
 */
import type { Verdict } from "../../controllers/ir/mod.ts";
import type { Charges } from "./culprits.ts";
import { silence } from "./proxy.ts";

/** How far the proxies are with a contribution. */
export interface Advance extends Charges {
  /** Whether they are to be taken down for it. */
  readonly removal: boolean;
  /** How many there should be, how many of them do not have it, and how many of those say nothing. */
  readonly expected: number;
  readonly waiting: number;
  readonly silent: number;
  /** Whether all had it once. */
  readonly latched: boolean;
}

/** What is to be said, and whether all have it now or have had it once. */
export function verdictOn(
  { complaints, held, removal, expected, waiting, silent, latched: before }: Advance,
): Pick<Verdict, "state" | "message"> & { readonly latched: boolean } {
  if (complaints.length > 0) return { state: "rejected", message: complaints.join("; "), latched: before };
  if (held) {
    const message = "Finding out which of several changes the proxies refuse";
    return { state: "pending", message, latched: before };
  }
  // One that says nothing may serve on: where all are to be taken down, none is left out.
  const without = removal ? 0 : silent;
  const latched = before || expected > 0 && without === waiting && without < expected;
  if (latched) return { state: "programmed", message: silent > 0 ? leftOut(silent, expected) : "", latched };
  const message = silent > 0 && silent === waiting ? mute(silent, expected) : "";
  return { state: "pending", message, latched };
}

function mute(silent: number, expected: number): string {
  const who = silent === expected ? "No proxy has" : `${silent} of ${expected} proxies have not`;
  return `${who} answered for ${silence / 1000} seconds`;
}

function leftOut(silent: number, expected: number): string {
  return `Without ${silent} of ${expected} proxies, which have not answered for ${silence / 1000} seconds`;
}
