/**
 * Standing for election, with a watch on the Lease: others learn at once that it was given back, or who has it.
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

export interface CandidacyOptions {
  readonly kube: Kube;
  readonly namespace: string;
  /** The name of the Lease. */
  readonly lease: string;
  readonly identity: string;
  /** What the leader does until it is told that it is none any more. */
  readonly lead: (leadership: Leadership) => Promise<void>;
  /** Told who holds the Lease, whenever that changes; empty for nobody. */
  readonly observed: (holder: string) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "leader">;
  /** Ends the candidacy and gives the Lease back. */
  readonly signal: AbortSignal;
}

/** Stands for election until `signal` is aborted. */
export async function standForElection(options: CandidacyOptions): Promise<void> {
  const { kube, namespace, lease, identity, lead, clock, log, metrics, signal } = options;
  const waiting = new Set<() => void>();
  const last: { holder?: string } = {};
  const observed = (holder: string) => {
    if (holder === last.holder) return;
    last.holder = holder;
    options.observed(holder);
    if (holder !== "") return;
    for (const wake of waiting) wake();
    waiting.clear();
  };
  const stop = new AbortController();
  const following = follow(options, observed, stop.signal);
  metrics.leader.set(0);
  try {
    await elect(kube, {
      namespace,
      name: lease,
      identity,
      clock,
      log,
      observed,
      sooner: (signal) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        waiting.add(resolve);
        signal.addEventListener("abort", () => {
          waiting.delete(resolve);
          reject(signal.reason);
        }, { once: true });
        return promise;
      },
      async lead(leadership) {
        metrics.leader.set(1);
        leadership.signal.addEventListener("abort", () => metrics.leader.set(0), { once: true });
        await lead(leadership);
      },
      signal,
    });
  } finally {
    stop.abort();
    await following;
  }
}

/** Tells what a watch shows. Where that is not allowed, the tries of the election have to do. */
async function follow(
  { kube, namespace, lease, clock, log }: CandidacyOptions,
  observed: (holder: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const fieldSelector = `metadata.name=${lease}`;
  for await (const event of watch(kube, leaseKind, { namespace, fieldSelector, clock, log, signal })) {
    if (event.type === "replace") observed(event.objects[0]?.spec?.holderIdentity ?? "");
    else observed(event.type === "set" ? event.object.spec?.holderIdentity ?? "" : "");
  }
}
