/**
 * Measures how far what is programmed is behind what is desired, for each Gateway.
 *
 * @module
 */
import type { GatewayKey, Proxy, Verdict } from "../controllers/ir/mod.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Key, Table } from "../controllers/runtime/graph.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";

export interface DriftOptions {
  readonly metrics: Pick<
    Metrics,
    "contributions" | "driftTime" | "unacknowledgedTime" | "proxies" | "timeToProgrammed" | "beforeScrape"
  >;
  /** Row key: `GATEWAY|ORIGIN`. */
  readonly verdicts: Table<Verdict>;
  readonly proxies: Table<readonly Proxy[]>;
  /** How far the proxies of a Gateway are. */
  readonly report: (gateway: GatewayKey) => readonly {
    readonly proxy: string;
    readonly connected: boolean;
    /** Absent if only another replica knows. */
    readonly behind?: number;
    /** In milliseconds; absent if it is not connected to this replica. */
    readonly unacknowledged?: number;
    readonly silent: boolean;
    readonly refused: readonly unknown[];
  }[];
  /** Whether this replica leads: only then it tells what is about all proxies. How far its own ones are each replica tells. */
  readonly leading: () => boolean;
  readonly clock: Clock;
}

/** How many Gateways are told apart: each is a handful of series. */
const mostGateways = 1000;

const states = ["programmed", "pending", "rejected"] as const;

/** Starts to measure; the result is to be called after each settle. */
export function watchDrift({ metrics, verdicts, proxies, report, leading, clock }: DriftOptions): () => void {
  /** Since when a contribution has been pending. */
  const pending = new Map<Key, number>();
  const shown = new Set<GatewayKey>(), before = { leading: false };

  metrics.beforeScrape(() => {
    const leads = leading(), counts = new Map<GatewayKey, { [S in Verdict["state"]]: number }>();
    for (const [key, { state }] of leads ? verdicts.entries() : []) {
      const gateway = gatewayOf(key),
        count = counts.get(gateway) ?? { programmed: 0, pending: 0, rejected: 0 };
      count[state]++;
      counts.set(gateway, count);
    }
    const oldest = new Map<GatewayKey, number>();
    for (const [key, since] of pending) {
      const gateway = gatewayOf(key);
      oldest.set(gateway, Math.min(since, oldest.get(gateway) ?? since));
    }
    const gateways = new Set([...counts.keys(), ...[...proxies.entries()].map(([gateway]) => gateway)]);
    for (const gateway of shown) if (!gateways.has(gateway)) forget(gateway);
    for (const gateway of gateways) {
      if (shown.size >= mostGateways && !shown.has(gateway)) continue;
      shown.add(gateway);
      const expected = new Set((proxies.get(gateway) ?? []).map(({ id }) => id));
      const known = report(gateway).filter(({ proxy }) => expected.has(proxy));
      const longest = Math.max(0, ...known.map(({ unacknowledged = 0 }) => unacknowledged));
      metrics.unacknowledgedTime.set({ gateway }, longest / 1000);
      const synced = known.filter((p) => p.connected && p.behind === 0 && p.refused.length === 0);
      metrics.proxies.set({ gateway, state: "synced" }, synced.length);
      if (!leads) {
        forgetAll(gateway);
        continue;
      }
      for (const state of states) {
        metrics.contributions.set({ gateway, state }, counts.get(gateway)?.[state] ?? 0);
      }
      const since = oldest.get(gateway);
      metrics.driftTime.set({ gateway }, since === undefined ? 0 : (clock.monotonic() - since) / 1000);
      metrics.proxies.set({ gateway, state: "expected" }, expected.size);
      metrics.proxies.set({ gateway, state: "left_out" }, known.filter(({ silent }) => silent).length);
    }
  });

  /** A Gateway that is gone must not be reported for ever. */
  const forget = (gateway: GatewayKey) => {
    shown.delete(gateway);
    metrics.unacknowledgedTime.remove({ gateway });
    metrics.proxies.remove({ gateway, state: "synced" });
    forgetAll(gateway);
  };
  /** Nor what is about all proxies, by a replica that does not lead any more. */
  const forgetAll = (gateway: GatewayKey) => {
    for (const state of states) metrics.contributions.remove({ gateway, state });
    metrics.driftTime.remove({ gateway });
    for (const state of ["expected", "left_out"]) metrics.proxies.remove({ gateway, state });
  };

  return () => {
    if (!leading()) {
      before.leading = false;
      return pending.clear();
    }
    const keys = before.leading ? verdicts.changed : [...verdicts.entries()].map(([key]) => key);
    before.leading = true;
    for (const key of keys) {
      const state = verdicts.get(key)?.state, since = pending.get(key);
      if (state === "pending") {
        if (since === undefined) pending.set(key, clock.monotonic());
        continue;
      }
      pending.delete(key);
      if (state !== "programmed" || since === undefined) continue;
      metrics.timeToProgrammed.observe({ kind: kindOf(key) }, (clock.monotonic() - since) / 1000);
    }
  };
}

function gatewayOf(key: Key): GatewayKey {
  return key.slice(0, key.indexOf("|"));
}

/** `HTTPRoute` of `default/web|HTTPRoute/default/a`. */
function kindOf(key: Key): string {
  return key.slice(key.indexOf("|") + 1).split("/", 1)[0]!;
}
