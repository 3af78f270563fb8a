/**
 * The ledger: turns what proxies acknowledge and refuse into verdicts on the objects behind it.
 *
 * It sits between two settles: it reads what the tables say, and writes verdicts and rejections into source tables,
 * which take effect at the next settle.
 *
 * @module
 */
import type {
  Contribution,
  GatewayKey,
  Origin,
  Proxy,
  Rejection,
  ResourceId,
  Verdict,
} from "../../controllers/ir/mod.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Source, Table } from "../../controllers/runtime/graph.ts";
import { noMetrics, type XdsMetrics } from "../metrics.ts";
import { type ProxyEvent, splitResourceKey, type XdsResource } from "../types.ts";
import type { Addressee, Changes, News } from "./news.ts";
import { GatewayLedger, type ProxyReport } from "./gateway.ts";
import { silence } from "./proxy.ts";

export type { ProxyReport } from "./gateway.ts";
export type { Addressee, ContributionNews, News, ProxyNews, RejectionNews } from "./news.ts";

export interface LedgerOptions {
  readonly contributions: Table<Contribution>;
  readonly resources: Table<XdsResource>;
  /** The proxies that each Gateway is expected to have. */
  readonly proxies: Table<readonly Proxy[]>;
  readonly verdicts: Source<Verdict>;
  readonly rejections: Source<Rejection>;
  /** Whether the tables are half-way through a settle. */
  readonly settling: () => boolean;
  readonly clock: Clock;
  /** Called when verdicts or rejections change outside of {@linkcode Ledger.settled}: a settle is due. */
  readonly wake: () => void;
  readonly metrics?: XdsMetrics;
  /** Whether this replica leads from the start; it does if absent. */
  readonly leading?: boolean;
}

/** What one other replica is to be told. */
export interface Outbox extends Disposable {
  /** Takes what has changed since the last time; all there is at first. */
  take(): Generator<News, void>;
}

type Change = Origin | "proxies" | "rejections";

export class Ledger implements Disposable {
  readonly #options: LedgerOptions;
  readonly #gateways = new Map<GatewayKey, GatewayLedger>();
  readonly #outboxes = new Set<
    { readonly changed: Map<GatewayKey, Set<Change> | undefined>; readonly wake: () => void }
  >();
  /** What has been told in the midst of a settle. */
  readonly #told: (() => void)[] = [];
  #leading: boolean;
  #seq = 0;
  #timer: Disposable | undefined;
  #changed = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#leading = options.leading ?? true;
  }

  /**
   * Whether this replica leads: then verdicts are about all proxies, wherever they are connected, else about its own. They begin
   * anew, so who leads now has to hear from the others first.
   */
  lead(leading: boolean): void {
    if (leading === this.#leading) return;
    this.#leading = leading;
    this.#take(() => {
      const now = this.#options.clock.monotonic();
      for (const ledger of this.#gateways.values()) ledger.lead(leading, now);
    });
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Takes in what another replica tells. */
  hear(source: string, news: News): void {
    this.#take(() => this.#of(news.gateway).hear(source, news, this.#options.clock.monotonic()));
  }

  /** Another replica is gone, and what it has told with it. */
  leave(source: string): void {
    this.#take(() => {
      for (const [gateway, ledger] of this.#gateways) {
        ledger.leave(source);
        if (ledger.idle) this.#gateways.delete(gateway);
      }
    });
  }

  /** Collects what another replica is to be told; `wake` says that there is something. */
  outbox(addressee: Addressee, wake: () => void): Outbox {
    const changed = new Map<GatewayKey, Set<Change> | undefined>(), box = { changed, wake };
    for (const gateway of this.#gateways.keys()) changed.set(gateway, undefined);
    this.#outboxes.add(box);
    const gateways = this.#gateways;
    return {
      *take() {
        for (const [gateway, changes] of changed) {
          changed.delete(gateway);
          const news = gateways.get(gateway)?.news(changes, addressee) ?? gone(changes);
          for (const part of inParts(news)) yield { gateway, ...part };
        }
      },
      [Symbol.dispose]: () => void this.#outboxes.delete(box),
    };
  }

  /**
   * Takes in what the last settle changed; it may change sources. To be called after each, and to be gone through before the next
   * one and before any proxy is sent what has changed. It is in steps of next to no time, so that others may have the thread in
   * between: what is told meanwhile is about what there was before, and each contribution is of this settle or not yet.
   */
  *settled(): Generator<void, void> {
    const { contributions, resources, proxies, clock } = this.#options;
    const now = clock.monotonic(), seq = ++this.#seq;
    // All versions at once: between some and others nobody could tell what an answer is about.
    for (const ledger of this.#gateways.values()) ledger.begin(seq);
    const changed = new Map<GatewayKey, ResourceId[]>();
    for (const key of resources.changed) {
      const { gateway, id } = splitResourceKey(key);
      this.#of(gateway).resource(id, resources.get(key)?.version, now);
      const ids = changed.get(gateway);
      if (ids) ids.push(id);
      else changed.set(gateway, [id]);
    }
    for (const gateway of proxies.changed) this.#of(gateway).expect(proxies.get(gateway) ?? [], now);
    yield* this.#takeTold();
    for (const key of contributions.changed) {
      const { gateway, id: origin } = splitResourceKey(key);
      this.#of(gateway).contribution(origin, contributions.get(key), now);
      yield;
    }
    for (const [gateway, ledger] of this.#gateways) {
      ledger.end(changed.get(gateway) ?? [], now);
      if (ledger.idle) this.#gateways.delete(gateway);
      yield;
    }
    this.#changed = false; // Whoever settles sees for himself.
    this.#watchSilence();
  }

  /** Takes in what a proxy says. */
  observe(event: ProxyEvent): void {
    const { clock, metrics = noMetrics } = this.#options;
    const now = clock.monotonic();
    this.#take(() => {
      const ledger = this.#of(event.gateway);
      if (event.type === "acked") {
        const age = ledger.age(event.proxy, event.id, event.version, now);
        if (age !== undefined) metrics.acked(event.id, age);
      } else if (event.type === "nacked") metrics.nacked(event.id);
      ledger.observe(event, now);
      if (ledger.idle) this.#gateways.delete(event.gateway);
    });
  }

  /**
   * Takes in what was told in the midst of a settle that has changed nothing, in steps as {@linkcode Ledger.settled}. A settle
   * that has changed something does so there.
   */
  *resume(): Generator<void, void> {
    yield* this.#takeTold();
    this.#done();
  }

  *#takeTold(): Generator<void, void> {
    // What is told between two steps comes after what was told before.
    for (const take of this.#told) {
      take();
      yield;
    }
    this.#told.length = 0;
  }

  /**
   * Takes in what is told, unless the tables are half-way: whatever it leads to would have an effect only with the settle after
   * that one, whose answers would be taken for answers to it.
   */
  #take(take: () => void): void {
    if (this.#options.settling() || this.#told.length > 0) return void this.#told.push(take);
    take();
    this.#done();
  }

  /** How far the proxies of a Gateway are. */
  report(gateway: GatewayKey): readonly ProxyReport[] {
    return this.#gateways.get(gateway)?.report(this.#options.clock.monotonic()) ?? [];
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #of(gateway: GatewayKey): GatewayLedger {
    let ledger = this.#gateways.get(gateway);
    if (!ledger) {
      const { verdicts, rejections } = this.#options;
      ledger = new GatewayLedger({
        verdict: (origin, verdict) => this.#write(verdicts, `${gateway}|${origin}`, verdict),
        rejection: (piece, rejection) => this.#write(rejections, `${gateway}|${piece}`, rejection),
        news: (about) => this.#note(gateway, about),
      }, { leading: this.#leading });
      ledger.begin(this.#seq);
      this.#gateways.set(gateway, ledger);
    }
    return ledger;
  }

  #note(gateway: GatewayKey, about: Change): void {
    for (const { changed, wake } of this.#outboxes) {
      const changes = changed.get(gateway);
      if (changes) changes.add(about);
      else if (!changed.has(gateway)) changed.set(gateway, new Set([about]));
      wake();
    }
  }

  /** After a change outside of a settle. */
  #done(): void {
    this.#watchSilence();
    if (this.#changed) this.#options.wake();
    this.#changed = false;
  }

  #write<V>(source: Source<V>, key: string, value: V | undefined): void {
    this.#changed = true;
    if (value === undefined) source.delete(key);
    else source.set(key, value);
  }

  /** Keeps a timer running for as long as a proxy owes an answer. */
  #watchSilence(): void {
    if (this.#timer) return;
    for (const ledger of this.#gateways.values()) {
      if (ledger.owing) return this.#tickIn(silence);
    }
  }

  #tickIn(ms: number): void {
    const { clock, wake } = this.#options;
    this.#timer = clock.timer(ms, () => {
      this.#timer = undefined;
      const now = clock.monotonic();
      let next: number | undefined;
      for (const ledger of this.#gateways.values()) {
        const due = ledger.tick(now);
        if (due !== undefined) next = Math.min(next ?? Infinity, due);
      }
      if (next !== undefined) this.#tickIn(next - now);
      if (this.#changed) wake();
      this.#changed = false;
    });
  }
}

/** How many contributions are told at a time, so that nobody is busy with them for long. */
const slice = 1_000;

/** The news of a Gateway in parts. A proxy counts for having arrived once all that it lacks has been told: with the last of them. */
function* inParts(
  { contributions, proxies, ...rest }: ReturnType<GatewayLedger["news"]>,
): Generator<Omit<News, "gateway">, void> {
  const parts = Math.max(1, Math.ceil(contributions.length / slice));
  for (let i = 0; i < parts; i++) {
    const some = contributions.slice(i * slice, (i + 1) * slice), last = i === parts - 1;
    yield {
      ...i === 0 && rest,
      ...some.length > 0 && { contributions: some },
      ...proxies && last && { proxies },
      ...proxies && i === 0 && !last && { proxies: proxies.map((proxy) => ({ ...proxy, arriving: true })) },
    };
  }
}

/** What is to be told of a Gateway of which nothing is known any more. */
function gone(changes: Changes): ReturnType<GatewayLedger["news"]> {
  const origins = [...changes ?? []].filter((about) => about !== "proxies" && about !== "rejections");
  return {
    proxies: [],
    software: [],
    rejections: [],
    contributions: origins.map((origin) => ({ origin, waiting: [] })),
  };
}
