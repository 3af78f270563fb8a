/**
 * Who leads: a watch on the Lease, and standing for election with its help.
 *
 * @module
 */
import { lease as leaseKind } from "../crds/mod.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";
import { elect, type Leadership } from "../kube/lease.ts";
import type { Kube } from "../kube/types.ts";
import { watch } from "../kube/watch.ts";

export interface LeaseHolderOptions {
  readonly kube: Kube;
  readonly namespace: string;
  /** The name of the Lease. */
  readonly lease: string;
  /** Told who holds the Lease, whenever that changes; empty for nobody. */
  readonly changed: (holder: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who holds the Lease, by whoever has seen it last. */
export class LeaseHolder {
  readonly #options: LeaseHolderOptions;
  readonly #waiting = new Set<() => void>();
  #holder: string | undefined;

  constructor(options: LeaseHolderOptions) {
    this.#options = options;
  }

  /** Takes in who was seen to hold it. */
  observe(holder: string): void {
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#options.changed(holder);
    if (holder !== "") return;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Resolves when nobody holds it any more; rejects with the signal's reason if that is aborted first. */
  free(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    signal.addEventListener("abort", () => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    }, { once: true });
    return promise;
  }

  /** Watches it until `signal` is aborted. Where that is not allowed, what the election sees has to do. */
  async watch(signal: AbortSignal): Promise<void> {
    const { kube, namespace, lease, clock, log } = this.#options, fieldSelector = `metadata.name=${lease}`;
    for await (const event of watch(kube, leaseKind, { namespace, fieldSelector, clock, log, signal })) {
      const object = event.type === "replace"
        ? event.objects[0]
        : event.type === "set"
        ? event.object
        : undefined;
      this.observe(object?.spec?.holderIdentity ?? "");
    }
  }
}

export interface CandidacyOptions extends Omit<LeaseHolderOptions, "changed"> {
  readonly holder: LeaseHolder;
  readonly identity: string;
  /** What the leader does until it is told that it is none any more. */
  readonly lead: (leadership: Leadership) => Promise<void>;
  readonly metrics: Pick<Metrics, "leader">;
  /** Ends the candidacy and gives the Lease back. */
  readonly signal: AbortSignal;
}

/** Stands for election until `signal` is aborted. */
export async function standForElection(options: CandidacyOptions): Promise<void> {
  const { kube, namespace, lease: name, holder, identity, lead, clock, log, metrics, signal } = options;
  metrics.leader.set(0);
  await elect(kube, {
    namespace,
    name,
    identity,
    clock,
    log,
    observed: (identity) => holder.observe(identity),
    sooner: (signal) => holder.free(signal),
    async lead(leadership) {
      metrics.leader.set(1);
      leadership.signal.addEventListener("abort", () => metrics.leader.set(0), { once: true });
      await lead(leadership);
    },
    signal,
  });
}
