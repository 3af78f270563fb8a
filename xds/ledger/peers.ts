/**
 * What other replicas have told of the proxies of one Gateway.
 *
 * @module
 */
import type { Origin } from "../../controllers/ir/mod.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import type { ContributionNews, News, ProxyNews, RejectionNews } from "./news.ts";

interface Peer {
  readonly proxies: Map<string, ProxyNews>;
  readonly contributions: Map<Origin, ContributionNews & { readonly lacking: ReadonlySet<string> }>;
  rejections: readonly RejectionNews[];
  software: readonly string[];
}

export class Peers {
  readonly #peers = new Map<string, Peer>();

  /** Takes in what a replica tells. Returns whether anybody refuses something else now, or runs something else. */
  hear(source: string, news: News): boolean {
    let peer = this.#peers.get(source);
    if (!peer) {
      this.#peers.set(
        source,
        peer = { proxies: new Map(), contributions: new Map(), rejections: [], software: [] },
      );
    }
    if (news.proxies) {
      peer.proxies.clear();
      for (const proxy of news.proxies) peer.proxies.set(proxy.id, proxy);
    }
    for (const contribution of news.contributions ?? []) {
      const { origin, generation, waiting } = contribution;
      if (generation === undefined) peer.contributions.delete(origin);
      else peer.contributions.set(origin, { ...contribution, lacking: new Set(waiting) });
    }
    const { rejections = peer.rejections, software = peer.software } = news;
    const changed = !equal(rejections, peer.rejections) || !equal(software, peer.software);
    peer.rejections = rejections;
    peer.software = software;
    if (
      [peer.proxies.size, peer.contributions.size, rejections.length, software.length].every((n) => n === 0)
    ) {
      this.#peers.delete(source);
    }
    return changed;
  }

  /** Forgets all that a replica has told. Returns whether that was anything. */
  forget(source: string): boolean {
    return this.#peers.delete(source);
  }

  /** Whether a proxy is connected to one of them. */
  know(proxy: string): boolean {
    return this.#any(({ proxies }) => proxies.has(proxy));
  }

  /** Whether a proxy of theirs has a contribution as it is in that generation. */
  have(proxy: string, origin: Origin, generation: number): boolean {
    return this.#any(({ proxies, contributions }) => {
      const news = contributions.get(origin);
      return proxies.get(proxy)?.arriving === false && news?.generation === generation &&
        !news.lacking.has(proxy);
    });
  }

  /** The replicas that have told of a contribution in that generation. */
  sourcesOn(origin: Origin, generation: number): Set<string> {
    return new Set(
      [...this.#peers].filter(([, { contributions }]) => contributions.get(origin)?.generation === generation)
        .map(([source]) => source),
    );
  }

  /** What proxies of theirs say against a contribution as it is in that generation. */
  complaints(origin: Origin, generation: number): readonly string[] {
    return [...this.#peers.values()].flatMap(({ contributions }) => {
      const news = contributions.get(origin);
      return news?.generation === generation && news.rejected !== undefined ? [news.rejected] : [];
    });
  }

  get rejections(): readonly RejectionNews[] {
    return [...this.#peers.values()].flatMap(({ rejections }) => rejections);
  }

  /** What the proxies of all of them run, but for those of one. */
  software(except?: string): readonly string[] {
    return [...this.#peers].flatMap(([source, { software }]) => source === except ? [] : software);
  }

  get empty(): boolean {
    return this.#peers.size === 0;
  }

  #any(holds: (peer: Peer) => boolean): boolean {
    for (const peer of this.#peers.values()) if (holds(peer)) return true;
    return false;
  }
}
