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
  /** The last settle at which a version was current. */
  readonly #until = new Map<string, number>();

  /** Makes `version` the current one from settle `seq` on. */
  set(version: string | undefined, seq: number, now: number): void {
    if (version === this.current) return;
    if (this.current !== undefined) {
      this.#until.delete(this.current); // So that it comes last.
      this.#until.set(this.current, seq - 1);
    }
    this.current = version;
    this.at = now;
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= remembered) break;
      this.#until.delete(oldest);
    }
  }

  /** The last settle whose outcome a proxy with this version has: Infinity for the current one, -1 if unknown. */
  covers(version: string | undefined): number {
    if (version === this.current) return Infinity;
    return version === undefined ? -1 : this.#until.get(version) ?? -1;
  }
}
