/**
 * Which versions of a resource were current, and until when.
 *
 * @module
 */

/** How many past versions of a resource are remembered: an acknowledgement of an older one says nothing. */
const remembered = 32;

/** The versions of one resource. Time is counted in settles. */
export class Versions {
  /** The version that proxies are to have. */
  current: string | undefined;
  /** When the current version became so, in milliseconds. */
  at = 0;
  /** The last settle at which a version was current, and when the next one became so. */
  readonly #until = new Map<string, { readonly seq: number; readonly at: number }>();
  /** When the oldest version that is remembered became current. */
  #began: number | undefined;

  /** Makes `version` the current one from settle `seq` on. */
  set(version: string | undefined, seq: number, now: number): void {
    if (version === this.current) return;
    if (this.current !== undefined) {
      this.#until.delete(this.current); // So that it comes last.
      this.#until.set(this.current, { seq: seq - 1, at: now });
    }
    this.#began ??= now;
    this.current = version;
    this.at = now;
    for (const [oldest, { at }] of this.#until) {
      if (this.#until.size <= remembered) break;
      this.#until.delete(oldest);
      this.#began = at;
    }
  }

  /** The last settle whose outcome a proxy with this version has: Infinity for the current one, -1 if unknown. */
  covers(version: string | undefined): number {
    if (version === this.current) return Infinity;
    return version === undefined ? -1 : this.#until.get(version)?.seq ?? -1;
  }

  /** Since when there is a later one than this version, which is not current, in milliseconds; no earlier than what is remembered. */
  outdatedSince(version: string | undefined): number {
    return (version === undefined ? undefined : this.#until.get(version)?.at) ?? this.#began ?? this.at;
  }
}
