/**
 * Finds out which of several changes a proxy refuses, by group testing.
 *
 * All suspects are held back, which leaves what the proxy had accepted before. Then groups of them are released: what is
 * accepted is good, what is refused is split. So the proxy's configuration only ever grows by what it takes,
 * and k culprits among n suspects take about k · log₂ n rounds.
 *
 * @module
 */

/** Suspects that are held back together. */
interface Group {
  readonly pieces: Set<string>;
  /** What is said against one of them at least; undefined if there may be nothing against any. */
  charge: Charge | undefined;
}

/** What a proxy says against something. */
export interface Charge {
  readonly complaint: string;
  /** What that proxy runs: another version may think otherwise. */
  readonly software: string;
}

/** What to do next. */
export type Step =
  /** Let these have another try. */
  | { readonly type: "release"; readonly pieces: readonly string[] }
  /** This is one. */
  | { readonly type: "convict"; readonly piece: string; readonly charge: Charge }
  | { readonly type: "done" };

/** The search for what makes proxies refuse one resource. */
export class Search {
  readonly #groups: Group[] = [];
  /** What was not released of the group under test, and what was. */
  #rest: Group | undefined;
  #tried: ReadonlySet<string> = new Set();

  /** `witness` is the proxy that is asked, since it has refused before. */
  constructor(readonly witness: string) {}

  /** A culprit is among the suspects: all of them are held back from now on. A single one is convicted by that. */
  refused(suspects: readonly string[], charge: Charge): void {
    this.#keepRest(false);
    if (suspects.length > 1) this.#groups.push({ pieces: new Set(suspects), charge });
  }

  /**
   * A culprit is among the suspects, and likely to be `named`: only those are held back from now on. If that does not
   * do, nothing is known of them.
   */
  suspected(named: readonly string[], others: readonly string[], charge: Charge): void {
    this.#keepRest(false);
    this.#rest = { pieces: new Set(named), charge };
    this.#tried = new Set(others);
  }

  /** Everything that is not held back is fine. */
  accepted(): void {
    this.#keepRest(true);
  }

  /** A piece is no longer what it was, gone or judged elsewhere: nothing that was learnt about its group holds. */
  forget(piece: string): void {
    if (this.#rest && this.#tried.has(piece)) this.#rest.charge = undefined;
    for (const group of [...this.#groups, ...this.#rest ? [this.#rest] : []]) {
      if (group.pieces.delete(piece)) group.charge = undefined;
    }
  }

  /** The next step, to be taken once the proxy has accepted everything that is not held back. */
  next(): Step {
    for (let group = this.#groups.pop(); group; group = this.#groups.pop()) {
      const pieces = [...group.pieces].sort(), { charge } = group;
      if (pieces.length === 0) continue;
      if (charge === undefined) return { type: "release", pieces };
      if (pieces.length === 1) return { type: "convict", piece: pieces[0]!, charge };
      const half = Math.ceil(pieces.length / 2);
      const tried = pieces.slice(0, half);
      this.#rest = { pieces: new Set(pieces.slice(half)), charge };
      this.#tried = new Set(tried);
      return { type: "release", pieces: tried };
    }
    return { type: "done" };
  }

  /** With the first half accepted, the culprit is in the other; otherwise nothing is known of the other. */
  #keepRest(accepted: boolean): void {
    if (!this.#rest) return;
    if (!accepted) this.#rest.charge = undefined;
    this.#groups.push(this.#rest);
    this.#rest = undefined;
  }
}
