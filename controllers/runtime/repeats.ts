/**
 * Keeps what says the same again and again from filling a log.
 *
 * @module
 */
import type { Clock } from "./clock.ts";

export interface RepeatsOptions {
  readonly clock: Clock;
  /** How long the same is not said again, in milliseconds; a minute if absent. */
  readonly pause?: number;
  /** How many different things are remembered; beyond these nothing is said until some are forgotten. */
  readonly most?: number;
}

/** Remembers what has been said lately. */
export class Repeats {
  readonly #said = new Map<string, { readonly at: number; left: number }>();
  readonly #options: Required<RepeatsOptions>;

  constructor({ clock, pause = 60_000, most = 256 }: RepeatsOptions) {
    this.#options = { clock, pause, most };
  }

  /** Whether something is to be said now, and if so how often it has not been since it was said last. */
  say(what: string): { readonly suppressed: number } | undefined {
    const { clock, pause, most } = this.#options, now = clock.monotonic();
    const before = this.#said.get(what);
    if (before && now - before.at < pause) {
      before.left++;
      return undefined;
    }
    if (!before && this.#said.size >= most) {
      // The oldest come first.
      for (const [key, { at }] of this.#said) {
        if (now - at < pause) break;
        this.#said.delete(key);
      }
      if (this.#said.size >= most) return undefined;
    }
    this.#said.delete(what);
    this.#said.set(what, { at: now, left: 0 });
    return { suppressed: before?.left ?? 0 };
  }
}
