/**
 * Leader election on a Lease, by the rules of client-go's `leaderelection`: whoever's name is in the lease leads, for as long
 * as it keeps renewing it.
 *
 * Clocks of different machines are never compared. A lease of somebody else has expired once *we* have seen it unchanged for
 * its duration; ours has once it was not renewed in time by our own monotonic clock, counted from before the request.
 *
 * @module
 */
import type { RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import {
  CoordinationV1Api,
  type CoordinationV1NamespacedApi,
  type Lease,
} from "@cloudydeno/kubernetes-apis/coordination.k8s.io/v1";
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Log, silentLog } from "../controllers/runtime/log.ts";
import { linkSignals } from "../controllers/runtime/signals.ts";
import { isStatus, SilentError } from "./errors.ts";
import { microTime } from "./micro_time.ts";

/** The right to lead, while it lasts. */
export interface Leadership {
  /** Aborted when it is lost, with the reason. */
  readonly signal: AbortSignal;
  /**
   * Whether it holds right now. To be asked before each write: after a suspended machine or a blocked thread wakes up, this is
   * false before any timer has run.
   */
  readonly valid: () => boolean;
}

export interface ElectionOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unlike that of any other candidate, and new at each start. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log?: Log;
  /**
   * What the leader does, from election until its signal is aborted; the next term begins only after it has ended. If it
   * ends by itself the lease is released and the election is over; so it is if it fails, with its failure.
   */
  readonly lead: (leadership: Leadership) => Promise<void>;
  /** Told who holds the lease, whenever that changes; empty for nobody. */
  readonly observed?: (holder: string) => void;
  /** Resolves when it seems worth while to try at once; never rejects but for `signal`. */
  readonly sooner?: (signal: AbortSignal) => Promise<void>;
  /** How long others wait for us, in milliseconds; 15 s by default. */
  readonly leaseDuration?: number;
  /** How long we go on without having renewed; 10 s by default. Less than `leaseDuration`, which is what keeps two from leading. */
  readonly renewDeadline?: number;
  /** Between two tries; 2 s by default. */
  readonly retryPeriod?: number;
  /** From 0 to 1; for tests. */
  readonly random?: () => number;
  readonly signal: AbortSignal;
}

/** How long a stopping leader tries to give the lease back, in milliseconds. */
const releaseTimeout = 5_000;

/**
 * Stands for election until `signal` is aborted. Losing the lease ends a term, not the election. When it ends, the lease is
 * released, so that another can lead at once.
 */
export async function elect(client: RestClient, options: ElectionOptions): Promise<void> {
  await new Election(client, options).run();
}

/** `late`: there was no answer in time, so that the connection is not trusted any more. */
type Outcome = "held" | "other" | "late" | "failed";

class Election {
  readonly #api: CoordinationV1NamespacedApi;
  readonly #options: ElectionOptions;
  readonly #log: Log;
  readonly #leaseDuration: number;
  readonly #renewDeadline: number;
  readonly #retryPeriod: number;
  /** The lease as last seen, and when it was first seen like that. */
  #lease: Lease | undefined;
  #seenAt = 0;
  #holder: string | undefined;
  /** Whether a write of ours has not been answered: it may have been carried out, or still be. */
  #unsure = false;
  /** When the last successful renewal was sent, by both clocks. */
  #renewed = { monotonic: 0, wall: 0 };

  constructor(client: RestClient, options: ElectionOptions) {
    const { leaseDuration = 15_000, renewDeadline = 10_000, retryPeriod = 2_000 } = options;
    if (!(leaseDuration > renewDeadline && renewDeadline > retryPeriod * 1.2)) {
      throw new RangeError("Cannot elect: leaseDuration > renewDeadline > 1.2 × retryPeriod does not hold");
    }
    this.#api = new CoordinationV1Api(client).namespace(options.namespace);
    this.#options = options;
    this.#leaseDuration = leaseDuration;
    this.#renewDeadline = renewDeadline;
    this.#retryPeriod = retryPeriod;
    this.#log = (options.log ?? silentLog).with({ lease: `${options.namespace}/${options.name}` });
  }

  async run(): Promise<void> {
    const { signal, random = Math.random } = this.#options;
    while (!signal.aborted) {
      const held = await this.#try(false, signal) === "held";
      if (signal.aborted) break;
      if (held) {
        if (await this.#term() === "over") return;
        continue;
      }
      // So spread that candidates who start together do not collide for ever.
      await this.#pause(this.#retryPeriod * (1 + 1.2 * random()), signal);
    }
    // Perhaps stopped at the very moment of winning.
    await this.#release();
  }

  /** Waits, but no longer than until the lease of somebody else expires. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock, sooner } = this.#options;
    const left = this.#lease?.spec?.holderIdentity ? this.#expiry() - clock.monotonic() : 0;
    const woken = new AbortController();
    using linked = linkSignals(signal, woken.signal);
    sooner?.(linked.signal).then(() => woken.abort(), () => {});
    await this.#sleep(left > 0 ? Math.min(ms, left) : ms, linked.signal);
    woken.abort();
  }

  /** When the lease as last seen expires, unless it is renewed, by our monotonic clock. */
  #expiry(): number {
    const seconds = this.#lease?.spec?.leaseDurationSeconds;
    return this.#seenAt + (seconds == null ? this.#leaseDuration : seconds * 1000);
  }

  /** One term. Resolves when it is lost, or with `over` when the election is. */
  async #term(): Promise<"lost" | "over"> {
    const { lead, signal } = this.#options;
    this.#log.info("Leading");
    const term = new AbortController();
    const stop = () => term.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    let failure: { readonly error: unknown } | undefined;
    let lost = false;
    const leadership = { signal: term.signal, valid: () => !term.signal.aborted && this.#isCurrent() };
    const work = Promise.try(() => lead(leadership))
      .catch((error) => {
        // What a term that was stopped fails with is how it stopped.
        if (!term.signal.aborted) failure = { error };
      })
      .finally(() => term.abort(new Error("The leader has ended")));
    try {
      lost = await this.#renew(term);
      await work;
    } finally {
      signal.removeEventListener("abort", stop);
    }
    if (failure) {
      await this.#release();
      throw failure.error;
    }
    if (lost) return "lost";
    await this.#release();
    return "over";
  }

  /** Keeps renewing until the term ends; if that is because the lease is lost, ends it and resolves with `true`. */
  async #renew(term: AbortController): Promise<boolean> {
    let lost = false;
    const lose = (reason: string) => {
      if (term.signal.aborted) return;
      lost = true;
      this.#log.warn("No longer leading", { reason });
      term.abort(new Error(`Lost the lease: ${reason}`));
    };
    let pause = this.#retryPeriod;
    while (!term.signal.aborted) {
      const { clock } = this.#options;
      const left = Math.max(0, this.#renewed.monotonic + this.#renewDeadline - clock.monotonic());
      // Runs out in the middle of a request that hangs, too.
      using _timer = clock.timer(left, () => lose(`not renewed within ${this.#renewDeadline / 1000} s`));
      await this.#sleep(pause, term.signal);
      if (term.signal.aborted) break;
      const outcome = await this.#try(true, term.signal);
      if (outcome === "other") lose(`"${this.#holder}" has it`);
      // The rest of the deadline is for another connection.
      pause = outcome === "late" ? 0 : this.#retryPeriod;
    }
    return lost;
  }

  /**
   * Tries once to get the lease or to keep it. Who leads does so for half of the deadline, so that a connection that is dead leaves
   * time for another; who does not takes all of it, since he has to look first.
   */
  async #try(leading: boolean, signal: AbortSignal): Promise<Outcome> {
    const { clock } = this.#options;
    const sent = { monotonic: clock.monotonic(), wall: clock.now().getTime() };
    const late = new AbortController();
    using _timer = clock.timer(
      leading ? this.#renewDeadline / 2 : this.#renewDeadline,
      () => late.abort(new SilentError("no answer in time")),
    );
    using inTime = linkSignals(signal, late.signal);
    try {
      const outcome = await this.#exchange(leading, inTime.signal);
      if (outcome === "held") this.#renewed = sent;
      return outcome;
    } catch (error) {
      if (!signal.aborted) this.#log.debug(leading ? "Cannot renew" : "Cannot acquire", { error });
      return late.signal.aborted ? "late" : "failed";
    }
  }

  async #exchange(leading: boolean, abortSignal: AbortSignal): Promise<Outcome> {
    const { name, namespace, clock } = this.#options;
    if (leading && this.#lease) {
      try {
        await this.#write(this.#api.replaceLease(name, this.#ours(this.#lease), { abortSignal }));
        return "held";
      } catch (error) {
        // Whatever happened, the server knows better.
        if (!isStatus(error, 404, 409)) throw error;
      }
    }
    const lease = await this.#look(abortSignal);
    if (!lease) {
      const ours = this.#ours({ metadata: { name, namespace } });
      await this.#write(this.#api.createLease(ours, { abortSignal }));
      return "held";
    }
    const holder = lease.spec?.holderIdentity || "";
    if (holder !== "" && holder !== this.#options.identity) {
      if (clock.monotonic() < this.#expiry()) return "other";
    }
    await this.#write(this.#api.replaceLease(name, this.#ours(lease), { abortSignal }));
    return "held";
  }

  /** The lease as it is; undefined if there is none. */
  async #look(abortSignal: AbortSignal): Promise<Lease | undefined> {
    try {
      const lease = await this.#api.getLease(this.#options.name, { abortSignal });
      this.#observe(lease);
      return lease;
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  async #write(request: Promise<Lease>): Promise<void> {
    this.#unsure = true;
    this.#observe(await request);
  }

  #observe(lease: Lease): void {
    this.#unsure = false;
    const { resourceVersion } = lease.metadata ?? {};
    if (this.#lease === undefined || resourceVersion !== this.#lease.metadata?.resourceVersion) {
      this.#seenAt = this.#options.clock.monotonic();
    }
    this.#lease = lease;
    const holder = lease.spec?.holderIdentity ?? "";
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#options.observed?.(holder);
  }

  /** The lease with us in it. Its version comes along, so that only one of several candidates succeeds. */
  #ours(lease: Lease): Lease {
    const now = microTime(this.#options.clock);
    const { spec } = lease;
    const kept = spec?.holderIdentity === this.#options.identity;
    const transitions = spec?.leaseTransitions ?? 0;
    return {
      ...lease,
      spec: {
        ...spec,
        holderIdentity: this.#options.identity,
        leaseDurationSeconds: Math.ceil(this.#leaseDuration / 1000),
        acquireTime: kept && spec.acquireTime ? spec.acquireTime : now,
        renewTime: now,
        leaseTransitions: kept || !spec ? transitions : transitions + 1,
      },
    };
  }

  /** By the wall clock as well, since the monotonic one may stand still while a machine is suspended. */
  #isCurrent(): boolean {
    const { clock } = this.#options;
    return clock.monotonic() < this.#renewed.monotonic + this.#renewDeadline &&
      clock.now().getTime() < this.#renewed.wall + this.#renewDeadline;
  }

  /** Gives the lease back, if that can be done quickly; else it expires. */
  async #release(): Promise<void> {
    const { name, clock, identity } = this.#options;
    const late = new AbortController(), abortSignal = late.signal;
    using _timer = clock.timer(releaseTimeout, () => late.abort(new Error("no answer in time")));
    const now = microTime(clock), free = { holderIdentity: "", leaseDurationSeconds: 1 };
    try {
      let lease = this.#unsure ? await this.#look(abortSignal) : this.#lease;
      while (lease?.spec?.holderIdentity === identity) {
        const spec = { ...lease.spec, ...free, renewTime: now, acquireTime: now };
        try {
          return await this.#write(this.#api.replaceLease(name, { ...lease, spec }, { abortSignal }));
        } catch (error) {
          if (!isStatus(error, 409)) throw error;
        }
        // A renewal that was cut short has been carried out all the same.
        lease = await this.#look(abortSignal);
      }
    } catch (error) {
      this.#log.warn("Cannot release the lease; others have to wait until it expires", { error });
    }
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.clock.sleep(ms, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
