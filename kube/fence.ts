/**
 * Keeps a replica from writing that does not lead, or does not any more.
 *
 * A request may have waited: for credentials, for a retry, for a machine that was suspended. So what counts is whether we lead
 * when it goes out, and one that is under way is cut short when leadership is lost.
 *
 * @module
 */
import type { Leadership } from "./lease.ts";

/** A request was not sent, since this replica does not lead. */
export class NotLeadingError extends Error {
  override name = "NotLeadingError";
}

export class Fence {
  #leadership: Leadership | undefined;

  /** Lets requests through for as long as a term lasts. */
  open(leadership: Leadership): Disposable {
    this.#leadership = leadership;
    return {
      [Symbol.dispose]: () => {
        if (this.#leadership === leadership) this.#leadership = undefined;
      },
    };
  }

  /** For {@linkcode KubeOptions.permit}: throws unless this replica leads right now. */
  readonly permit = (): AbortSignal => {
    const leadership = this.#leadership;
    if (!leadership?.valid()) throw new NotLeadingError("Cannot write: this replica does not lead");
    return leadership.signal;
  };
}
