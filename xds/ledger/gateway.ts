/**
 * What the proxies of one Gateway have taken, and what that means for those who wrote it.
 *
 * A contribution that changed at a settle is programmed at a proxy once that proxy has, of each resource that carries it, a
 * version which was current at that settle or later. Only contributions that wait are looked at again, so the cost of an
 * acknowledgement follows what changed.
 *
 * @module
 */
import type {
  Contribution,
  Origin,
  Proxy,
  Rejection,
  ResourceId,
  Verdict,
} from "../../controllers/ir/mod.ts";
import type { Key } from "../../controllers/runtime/graph.ts";
import type { ProxyEvent } from "../types.ts";
import { Arrival } from "./arrival.ts";
import { Culprits } from "./culprits.ts";
import { Entries, type Entry } from "./entries.ts";
import type { Addressee, Changes, ContributionNews, News } from "./news.ts";
import { Peers } from "./peers.ts";
import { Progress } from "./progress.ts";
import { type ProxyState, silence } from "./proxy.ts";
import { verdictOn } from "./verdict.ts";

/** Where the ledger of a Gateway writes its results. */
export interface Sinks {
  readonly verdict: (origin: Origin, verdict: Verdict | undefined) => void;
  readonly rejection: (piece: Key, rejection: Rejection | undefined) => void;
  /** Other replicas are to be told anew of a contribution, of the proxies, or of what is refused. */
  readonly news: (about: Origin | "proxies" | "rejections") => void;
}

/** How far one proxy is, for people and for metrics. */
export interface ProxyReport {
  readonly proxy: string;
  readonly expected: boolean;
  readonly connected: boolean;
  /** Resources that it does not have in their current version; absent if only another replica knows. */
  readonly behind?: number;
  /** How long it has had a later version of something and has not acknowledged it, in milliseconds; absent if it is not connected here. */
  readonly unacknowledged?: number;
  /** It owes an answer for too long. */
  readonly silent: boolean;
  readonly refused: readonly { readonly id: ResourceId; readonly message: string }[];
}

export class GatewayLedger {
  readonly #sinks: Sinks;
  readonly #progress = new Progress();
  readonly #culprits: Culprits;
  readonly #entries = new Entries(() => this.#progress.none());
  /** Origins whose entries are to be opened again at the end of that settle, with which what was decided has its effect. */
  readonly #reopened = new Map<Origin, number>();
  readonly #peers = new Peers();
  /** The proxies that the Gateway should have, and of these the ones that entries wait for. */
  #wanted: readonly Proxy[] = [];
  #expected: readonly ProxyState[] = [];
  /** Those that have owed something and said nothing for too long. */
  readonly #silent = this.#progress.none();
  #leading: boolean;
  #seq = 0;

  /** Who leads waits for all proxies, wherever they are connected; who does not, for its own. */
  constructor(sinks: Sinks, { leading }: { readonly leading: boolean }) {
    this.#sinks = sinks;
    this.#leading = leading;
    this.#culprits = new Culprits({
      progress: this.#progress,
      reject: sinks.rejection,
      changed: (origin) => this.#reopened.set(origin, this.#seq + 1),
      others: () => this.#peers.software(),
      news: () => sinks.news("rejections"),
    });
  }

  /** This replica leads from now on, or does not any more: it waits for other proxies than before, and knows of none of others'. */
  lead(leading: boolean, now: number): void {
    this.#leading = leading;
    for (const entry of this.#entries.all) {
      entry.latched = false;
      this.#entries.openUp(entry);
    }
    this.#awaitOthers(now);
  }

  /** Takes in what another replica tells. */
  hear(source: string, news: News, now: number): void {
    const changed = this.#peers.hear(source, news);
    for (const { id, silent } of news.proxies ?? []) {
      const proxy = this.#progress.known(id);
      if (!proxy) continue;
      if (!silent) this.#heard(proxy, now);
      else if (!this.#silent.has(proxy)) {
        this.#silent.add(proxy);
        for (const entry of this.#entries.open) this.#judge(entry);
      }
    }
    const concerned = news.proxies ? this.#entries.open : (news.contributions ?? []).flatMap(({ origin }) => {
      const entry = this.#entries.get(origin);
      return entry ? [entry] : [];
    });
    for (const { origin, waiting } of news.contributions ?? []) {
      const entry = this.#entries.get(origin);
      if (!entry?.doubted?.sources.delete(source) || now > entry.doubted.until) continue;
      if (!entry.latched || waiting.length === 0) continue;
      entry.latched = false;
      this.#await(entry, now);
    }
    for (const entry of [...concerned]) {
      for (const proxy of [...entry.waiting]) this.#arrived(proxy, entry);
      if (entry.verdict) this.#judge(entry);
    }
    if (changed) this.#learn();
  }

  /** Forgets what another replica has told: its proxies are connected to it no longer. */
  leave(source: string): void {
    if (this.#peers.forget(source)) this.#learn();
  }

  /** What another replica is to be told about `changed`, all of it if that is absent; how far proxies are only if it leads. */
  news(
    changed: Changes,
    { to, leads }: Addressee,
  ): Omit<News, "gateway"> & Required<Pick<News, "contributions">> {
    const concerns = (about: "proxies" | "rejections") => changed === undefined || changed.has(about);
    const origins = !leads
      ? []
      : changed === undefined
      ? this.#entries.origins
      : [...changed].filter((about) => about !== "proxies" && about !== "rejections");
    return {
      ...concerns("proxies") && leads && {
        proxies: [...this.#progress.connected()].map((proxy) => ({
          id: proxy.id,
          arriving: proxy.arrival !== undefined,
          silent: this.#silent.has(proxy),
        })),
      },
      ...concerns("proxies") && {
        software: [
          ...new Set([
            ...[...this.#progress.connected()].map(({ software }) => software),
            ...this.#peers.software(to),
          ]),
        ],
      },
      contributions: [...origins].map((origin) => this.#newsOf(origin)),
      ...concerns("rejections") && { rejections: this.#culprits.rejections() },
    };
  }

  #newsOf(origin: Origin): ContributionNews {
    const entry = this.#entries.get(origin);
    if (!entry) return { origin, waiting: [] };
    const { generation, pieces } = entry.contribution;
    const { complaints, held } = this.#culprits.chargesAgainst(pieces);
    // While it is held back, nobody has it.
    const lacking = held ? this.#expected : [...entry.waiting];
    return {
      origin,
      generation,
      waiting: lacking.map(({ id }) => id),
      ...complaints.length > 0 && { rejected: complaints.join("; ") },
    };
  }

  #learn(): void {
    this.#culprits.learn(this.#peers.rejections);
    this.#culprits.reconsider();
    this.#sinks.news("proxies");
  }

  /** Begins to take in what settle `seq` changed. */
  begin(seq: number): void {
    this.#seq = seq;
    this.#culprits.settled(seq);
  }

  /** A resource has another version, or is gone. */
  resource(id: ResourceId, version: string | undefined, now: number): void {
    this.#progress.setCurrent(id, version, this.#seq, now);
  }

  /** A contribution has changed, or is gone. */
  contribution(origin: Origin, contribution: Contribution | undefined, now: number): void {
    const before = this.#entries.get(origin);
    if (before) this.#close(before);
    this.#culprits.replace(
      origin,
      before?.contribution.pieces ?? [],
      contribution?.pieces ?? [],
      this.#seq,
    );
    if (!contribution) {
      this.#entries.delete(origin);
      this.#sinks.verdict(origin, undefined);
      this.#sinks.news(origin);
      return;
    }
    const entry = this.#entries.put(contribution, this.#seq), { generation } = contribution;
    if (before?.contribution.generation === generation) {
      entry.doubted = { sources: this.#peers.sourcesOn(origin, generation), until: now + silence };
    }
    this.#await(entry, now);
  }

  /** Other proxies are expected. */
  expect(proxies: readonly Proxy[], now: number): void {
    this.#wanted = proxies;
    if (this.#leading) this.#awaitOthers(now);
  }

  /** Finds out anew for whom entries wait. */
  #awaitOthers(now: number): void {
    const before = this.#expected;
    this.#expected = this.#leading
      ? this.#wanted.map(({ id }) => this.#progress.proxy(id))
      : [...this.#progress.connected()].filter(({ arrival }) => !arrival);
    for (const entry of this.#entries.open) this.#await(entry, now);
    for (const proxy of before) this.#forgetUnlessNeeded(proxy);
  }

  /** Ends taking in a settle, in which the versions of `resources` have changed. */
  end(resources: Iterable<ResourceId>, now: number): void {
    for (const [origin, seq] of this.#reopened) {
      if (seq > this.#seq) continue;
      this.#reopened.delete(origin);
      const entry = this.#entries.get(origin);
      if (!entry) continue;
      entry.since = this.#seq;
      entry.latched = false;
      this.#await(entry, now);
    }
    for (const id of resources) {
      // A proxy may have the version already, from before; it will not say so again.
      for (const proxy of this.#expected) this.#covered(proxy, id);
    }
    for (const proxy of [...this.#progress.connected()]) this.#advance(proxy, now);
    this.#culprits.advance();
  }

  /** Takes in what a proxy says. */
  observe(event: ProxyEvent, now: number): void {
    const proxy = this.#progress.proxy(event.proxy);
    if (event.type === "disconnected") {
      proxy.streams--;
      this.#culprits.reconsider();
      this.#sinks.news("proxies");
      if (!this.#leading) this.#awaitOthers(now);
      return this.#forgetUnlessNeeded(proxy);
    }
    this.#heard(proxy, now);
    if (event.type === "connected") {
      proxy.streams++;
      proxy.connectedAt = now;
      proxy.software = event.software;
      this.#culprits.reconsider();
      // It may have been restarted: what it really has it says next.
      proxy.listed = false;
      this.#progress.begin(proxy);
      proxy.refused.clear();
      proxy.arrival = new Arrival(this.#progress.ids());
      this.#sinks.news("proxies");
      if (!this.#leading) this.#awaitOthers(now);
    } else if (event.type === "listed") {
      proxy.listed = true;
      this.#ended(proxy);
    } else if (event.type === "acked") {
      proxy.refused.delete(event.id);
      proxy.acked?.set(event.id, event.version);
      this.#covered(proxy, event.id);
      this.#ended(proxy);
      if (this.#culprits.concerns(event.id)) this.#culprits.advance();
    } else {
      proxy.refused.set(event.id, event);
      this.#culprits.refused(event.id, proxy);
      this.#culprits.advance();
    }
    this.#advance(proxy, now);
  }

  /** Notices when a proxy has said what it has. What it then lacks is known, whatever entries wait for. */
  #advance(proxy: ProxyState, now: number): void {
    const answered = (id: ResourceId) => {
      const current = this.#progress.current(id);
      return current === undefined || proxy.acked?.get(id) === current ||
        proxy.refused.get(id)?.version === current;
    };
    if (!proxy.arrival?.advance(answered)) return;
    proxy.arrival = undefined;
    this.#sinks.news("proxies");
    if (this.#leading) return;
    this.#awaitOthers(now);
    for (const entry of this.#entries.all) {
      if (entry.waiting.has(proxy) || this.#has(proxy, entry)) continue;
      this.#wait(proxy, entry, now);
      this.#entries.openUp(entry);
      this.#judge(entry);
    }
  }

  /** Leaves out the proxies that have kept silent for too long. Returns when the next one will have, in milliseconds. */
  tick(now: number): number | undefined {
    let next: number | undefined, changed = false;
    for (const proxy of this.#expected) {
      // Who is connected to another replica has answered there, or that one says that he has not.
      if (proxy.owes === 0 || this.#silent.has(proxy) || this.#isElsewhere(proxy)) continue;
      const due = proxy.quietSince + silence;
      if (due <= now) {
        changed = true;
        this.#silent.add(proxy);
      } else next = Math.min(next ?? Infinity, due);
    }
    if (changed) {
      this.#sinks.news("proxies");
      for (const entry of this.#entries.open) this.#judge(entry);
    }
    return next;
  }

  /** Whether an answer is owed by a proxy that is not left out yet. */
  get owing(): boolean {
    return this.#expected.some((proxy) => proxy.owes > 0 && !this.#silent.has(proxy));
  }

  /** Whether nothing is known any more. */
  get idle(): boolean {
    return this.#entries.size === 0 && this.#wanted.length === 0 && this.#progress.empty && this.#peers.empty;
  }

  /**
   * How long ago a version became the current one that a proxy acknowledges, in milliseconds; undefined if it is not. What a proxy
   * catches up with after it has connected may be of any age, which says nothing of the proxy.
   */
  age(proxy: string, id: ResourceId, version: string | undefined, now: number): number | undefined {
    const current = this.#progress.current(id);
    const counts = current !== undefined && current === version && !this.#progress.known(proxy)?.arrival;
    return counts ? now - this.#progress.currentSince(id) : undefined;
  }

  report(now: number): readonly ProxyReport[] {
    return [...this.#progress.proxies].map((proxy): ProxyReport => {
      const elsewhere = this.#isElsewhere(proxy);
      const { behind, since = now } = elsewhere ? { behind: 0 } : this.#progress.lag(proxy);
      return {
        proxy: proxy.id,
        expected: this.#expected.includes(proxy),
        connected: proxy.streams > 0 || this.#peers.know(proxy.id),
        ...!elsewhere && { behind },
        ...proxy.streams > 0 && { unacknowledged: now - since },
        silent: this.#silent.has(proxy),
        refused: [...proxy.refused].map(([id, { message }]) => ({ id, message })),
      };
    }).sort((a, b) => a.proxy < b.proxy ? -1 : 1);
  }

  #heard(proxy: ProxyState, now: number): void {
    proxy.quietSince = now;
    if (!this.#silent.delete(proxy)) return;
    this.#sinks.news("proxies");
    for (const entry of this.#entries.open) this.#judge(entry);
  }

  #forgetUnlessNeeded(proxy: ProxyState): void {
    if (proxy.streams > 0 || this.#expected.includes(proxy)) return;
    this.#silent.delete(proxy);
    this.#progress.forget(proxy);
  }

  /** Finds out anew which proxies keep an entry waiting. */
  #await(entry: Entry, now: number): void {
    const before = new Set(entry.waiting);
    this.#settleDebts(entry);
    this.#entries.openUp(entry);
    for (const proxy of this.#expected) {
      if (entry.latched && !before.has(proxy) || this.#has(proxy, entry)) continue;
      this.#wait(proxy, entry, now);
    }
    this.#judge(entry);
  }

  #wait(proxy: ProxyState, entry: Entry, now: number): void {
    entry.waiting.add(proxy);
    if (proxy.owes++ === 0) proxy.quietSince = now;
  }

  /** Whether a proxy is connected to another replica, and not to this one. */
  #isElsewhere(proxy: ProxyState): boolean {
    return proxy.streams === 0 && this.#peers.know(proxy.id);
  }

  #has(proxy: ProxyState, { contribution, resources, since }: Entry): boolean {
    if (this.#isElsewhere(proxy)) {
      return this.#peers.have(proxy.id, contribution.origin, contribution.generation);
    }
    if (contribution.removal) return this.#progress.isDown(proxy);
    for (const id of resources) if (this.#progress.covers(proxy, id) < since) return false;
    return true;
  }

  /** A proxy has another version of a resource than before. */
  #covered(proxy: ProxyState, id: ResourceId): void {
    for (const entry of this.#entries.carriedBy(id)) this.#arrived(proxy, entry);
  }

  /** A proxy may have been taken down now. */
  #ended(proxy: ProxyState): void {
    for (const entry of this.#entries.removals) this.#arrived(proxy, entry);
  }

  /** A proxy may have an entry now. */
  #arrived(proxy: ProxyState, entry: Entry): void {
    if (!entry.waiting.has(proxy) || !this.#has(proxy, entry)) return;
    entry.waiting.delete(proxy);
    this.#pay(proxy);
    this.#judge(entry);
  }

  #pay(proxy: ProxyState): void {
    proxy.owes--;
    if (proxy.owes > 0 || !this.#silent.delete(proxy)) return;
    this.#sinks.news("proxies");
  }

  #settleDebts(entry: Entry): void {
    for (const proxy of entry.waiting) this.#pay(proxy);
    entry.waiting.clear();
  }

  #judge(entry: Entry): void {
    const { contribution, waiting } = entry;
    const { state, message, latched } = this.#verdictOn(entry);
    entry.latched = latched;
    const { generation, origin } = contribution;
    const { verdict } = entry;
    this.#sinks.news(origin);
    if (verdict?.state !== state || verdict.message !== message || verdict.generation !== generation) {
      entry.verdict = { generation, state, message };
      this.#sinks.verdict(origin, entry.verdict);
    }
    if (entry.latched && waiting.size === 0) this.#close(entry);
  }

  #verdictOn(entry: Entry): ReturnType<typeof verdictOn> {
    const { contribution: { origin, generation, pieces, removal = false }, waiting, latched } = entry;
    const { complaints, held } = this.#culprits.chargesAgainst(pieces);
    return verdictOn({
      complaints: [...new Set([...complaints, ...this.#peers.complaints(origin, generation)])],
      held: held || this.#reopened.has(origin), // Then proxies have not been sent it yet.
      removal,
      expected: this.#expected.length,
      waiting: waiting.size,
      silent: waiting.common(this.#silent),
      latched,
    });
  }

  #close(entry: Entry): void {
    this.#settleDebts(entry);
    this.#entries.close(entry);
  }
}
