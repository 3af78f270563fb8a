/**
 * Contributions to a Gateway and how far each is, with those that proxies still have to take at hand.
 *
 * @module
 */
import type { Contribution, Origin, Piece, ResourceId, Verdict } from "../../controllers/ir/mod.ts";
import type { ProxySet } from "./proxy_set.ts";

/** A contribution and how far it is. */
export interface Entry {
  readonly contribution: Contribution;
  readonly resources: readonly ResourceId[];
  /** The settle whose outcome the proxies must have. */
  since: number;
  /** Whether the expected proxies had it once; what joins or restarts later does not change that. */
  latched: boolean;
  /** The expected proxies that do not have it yet. */
  readonly waiting: ProxySet;
  verdict: Verdict | undefined;
  /** Replicas whose last word may be about what it was before, since its generation is the same. They say more before long. */
  doubted: { readonly sources: Set<string>; readonly until: number } | undefined;
}

export class Entries {
  readonly #none: () => ProxySet;
  readonly #entries = new Map<Origin, Entry>();
  /** The entries that are not latched or that a proxy keeps waiting, by each of their resources. */
  readonly #open = new Set<Entry>();
  readonly #openByResource = new Map<ResourceId, Set<Entry>>();
  readonly #removals = new Set<Entry>();

  /** `none` makes an empty set of proxies. */
  constructor(none: () => ProxySet) {
    this.#none = none;
  }

  get size(): number {
    return this.#entries.size;
  }

  get origins(): Iterable<Origin> {
    return this.#entries.keys();
  }

  get all(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** Those that are not latched or that a proxy keeps waiting. */
  get open(): ReadonlySet<Entry> {
    return this.#open;
  }

  /** Of these, those that wait for proxies to have nothing any more. */
  get removals(): ReadonlySet<Entry> {
    return this.#removals;
  }

  get(origin: Origin): Entry | undefined {
    return this.#entries.get(origin);
  }

  /** Puts a contribution in the place of what was there, from settle `since` on. It is not open yet. */
  put(contribution: Contribution, since: number): Entry {
    const { origin, pieces } = contribution;
    const entry: Entry = {
      contribution,
      resources: resourcesOf(pieces),
      since,
      latched: false,
      waiting: this.#none(),
      verdict: this.#entries.get(origin)?.verdict,
      doubted: undefined,
    };
    this.#entries.set(origin, entry);
    return entry;
  }

  delete(origin: Origin): void {
    this.#entries.delete(origin);
  }

  /** The open entries that a resource carries. */
  carriedBy(id: ResourceId): Iterable<Entry> {
    return this.#openByResource.get(id) ?? [];
  }

  openUp(entry: Entry): void {
    this.#open.add(entry);
    if (entry.contribution.removal) this.#removals.add(entry);
    for (const id of entry.resources) {
      const entries = this.#openByResource.get(id);
      if (entries) entries.add(entry);
      else this.#openByResource.set(id, new Set([entry]));
    }
  }

  close(entry: Entry): void {
    this.#open.delete(entry);
    this.#removals.delete(entry);
    for (const id of entry.resources) {
      const entries = this.#openByResource.get(id);
      entries?.delete(entry);
      if (entries?.size === 0) this.#openByResource.delete(id);
    }
  }
}

/** All resources that carry a contribution. Mostly one list, which is its own already. */
function resourcesOf(pieces: readonly Piece[]): readonly ResourceId[] {
  const [first, ...others] = new Set(pieces.map(({ resources }) => resources));
  return others.length === 0 ? first ?? [] : [...new Set(pieces.flatMap(({ resources }) => resources))];
}
