/**
 * The one loop: what the watches tell goes into the source tables, the graph settles, and whoever has an
 * effect is told what changed.
 *
 * @module
 */
import type { ApiObject } from "../crds/kind.ts";
import { keyOf } from "../crds/kind.ts";
import type { WatchEvent } from "../kube/types.ts";
import type { Clock } from "./runtime/clock.ts";
import type { Graph, Settlement, Source } from "./runtime/graph.ts";
import type { Log } from "./runtime/log.ts";

/** The event loop is held up for about this long at once, in milliseconds; one row or one step of the hand-over may come on top. */
export const piece = 6;

/**
 * Between two pieces others have the thread until they want it no more: until that many turns of the event loop have each taken less
 * than `quiet` milliseconds, or others have had about as long as a piece.
 */
const breath = { turns: 4, quiet: 0.3, most: piece };

/**
 * Between two settles while events keep coming, in milliseconds: at least and at most, and for each event that the first of them
 * has taken in. So up to 200 events a second are taken in at once, and a storm of more in few large pieces: each settle that
 * changes a route table sends all of it to all proxies.
 */
const pause = { shortest: 10, longest: 100, each: 5 };

export interface LoopOptions {
  readonly graph: Graph;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Hands over what changed in a settle, in steps between which others may have the thread; nothing settles before the last. If
   * sources have changed by then, the graph settles once more.
   */
  readonly settled: (settlement: Settlement) => Iterable<void>;
  /** Told how long each settle took, hand-over included, in milliseconds. */
  readonly measured?: (milliseconds: number) => void;
}

/** How many settles in a row {@linkcode LoopOptions.settled} may cause before that is taken for a bug. */
const rounds = 16;

/** Feeds source tables and settles the graph: the first change at once, a storm of them in batches. */
export class Loop {
  readonly #options: LoopOptions;
  /** What has not told everything yet. Nothing is derived before it has. */
  readonly #awaited = new Set<string>();
  #timer: Disposable | undefined;
  #disposed = false;
  #busyUntil = 0;
  /** What is left to be handed over of the last settle. */
  #steps: Iterator<void> | undefined;
  /** How many events have come since the last settle. */
  #events = 0;
  /** How long the settle that is not through has taken so far. */
  #took = 0;
  readonly #ready = Promise.withResolvers<void>();
  #rested = Promise.withResolvers<void>();

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Resolves after the first settle: everything that was awaited is known by then. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves after the next settle. */
  get next(): Promise<void> {
    return this.#rested.promise;
  }

  /** Resolves once everything that has been told by now is handed over. */
  async current(): Promise<void> {
    await this.ready;
    if (this.#timer) await this.next;
  }

  /** Resolves once no settle is due any more. */
  async idle(): Promise<void> {
    while (this.#timer) await this.#rested.promise;
  }

  /** What is still missing before the first settle, for people. */
  get awaited(): readonly string[] {
    return [...this.#awaited];
  }

  /** Holds back the first settle until {@linkcode Loop.arrived} is called with the same name. */
  await(name: string): void {
    this.#awaited.add(name);
  }

  arrived(name: string): void {
    if (this.#awaited.delete(name)) this.changed();
  }

  /** Copies what the watch of that name tells into its source table, for as long as the watch lasts. */
  async follow<T extends ApiObject>(
    name: string,
    events: AsyncIterable<WatchEvent<T>>,
    source: Pick<Source<T>, "set" | "delete" | "replace">,
  ): Promise<void> {
    for await (const event of events) {
      if (event.type === "replace") {
        source.replace(event.objects.map((object) => [keyOf(object), object]));
        this.arrived(name);
      } else if (event.type === "set") source.set(keyOf(event.object), event.object);
      else source.delete(keyOf(event.object));
      this.#events++;
      this.changed();
    }
  }

  /** Says that a source has changed: a settle is due. */
  changed(): void {
    if (this.#timer || this.#awaited.size > 0) return;
    const { clock } = this.#options;
    this.#arm(() => clock.timer(Math.max(0, this.#busyUntil - clock.monotonic()), () => this.#settle()));
  }

  /** Goes on after others have had the thread, which they have had since `start`, and not wanted for some turns. */
  #breathe(start = this.#options.clock.monotonic(), unwanted = 0): void {
    const { clock } = this.#options, last = clock.monotonic();
    this.#arm(() =>
      clock.turn(() => {
        const now = clock.monotonic(), turns = now - last < breath.quiet ? unwanted + 1 : 0;
        if (turns < breath.turns && now - start < breath.most) this.#breathe(start, turns);
        else this.#settle();
      })
    );
  }

  /** Makes something due, instead of a settle that whoever was told has made due meanwhile. */
  #arm(timer: () => Disposable): void {
    this.#timer?.[Symbol.dispose]();
    if (!this.#disposed) this.#timer = timer();
  }

  /** Cancels a settle that is due; none will be any more. */
  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #settle(): void {
    this.#timer = undefined;
    if (this.#awaited.size > 0) return;
    const { graph, clock, log, settled, measured } = this.#options;
    const start = clock.monotonic();
    const late = () => clock.monotonic() - start >= piece;
    let round = 0;
    do {
      if (!this.#steps) {
        const settlement = graph.settle(late);
        this.#steps = settlement && settled(settlement)[Symbol.iterator]();
      }
      if (!this.#handOver(late) || graph.pending && late()) {
        this.#took += clock.monotonic() - start;
        return this.#breathe();
      }
    } while (graph.pending && ++round < rounds);
    if (round === rounds) log.error("Settling does not come to rest", { rounds });
    const took = this.#took + clock.monotonic() - start;
    this.#took = 0;
    const wanted = Math.max(pause.shortest, 2 * took, pause.each * this.#events);
    this.#busyUntil = clock.monotonic() + Math.min(pause.longest, wanted);
    this.#events = 0;
    measured?.(took);
    this.#ready.resolve();
    this.#rested.resolve();
    this.#rested = Promise.withResolvers();
  }

  /** Goes on with what is to be handed over, until it is time to stop; whether a settle is over with that. */
  #handOver(late: () => boolean): boolean {
    if (!this.#steps) return false;
    while (!this.#steps.next().done) if (late()) return false;
    this.#steps = undefined;
    return true;
  }
}
