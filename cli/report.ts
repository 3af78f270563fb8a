/**
 * What an operator knows about its proxies, for `gatehouse status`.
 *
 * @module
 */
import type { GatewayKey } from "../controllers/ir/mod.ts";
import type { EnvoyStatus } from "../standalone/envoy/process.ts";
import type { ProxyReport, Report } from "./admin.ts";
import type { Operator } from "./operate.ts";
import { version } from "./version.ts";

/** A proxy of which nothing has been heard. */
const unknown = { connected: false, behind: 0, silent: false, refused: [] } as const;

export function reportOf(operator: Operator, processes: ReadonlyMap<GatewayKey, EnvoyStatus>): Report {
  const { graph, world, ledger, watches } = operator;
  const gateways: { [gateway: GatewayKey]: readonly ProxyReport[] } = {};
  for (const [gateway, expected] of world.proxies.entries()) {
    const process = processes.get(gateway), known = ledger.report(gateway);
    gateways[gateway] = expected.map(({ id }): ProxyReport => {
      const { connected, behind = 0, silent, refused } = known.find(({ proxy }) => proxy === id) ?? unknown;
      return {
        proxy: id,
        connected,
        behind,
        silent,
        refused,
        ...process && { process: processReport(process) },
      };
    });
  }
  return {
    version,
    sequence: graph.sequence,
    gateways,
    watches: Object.fromEntries(
      [...watches].filter(([, { state }]) => state !== "watching").map(([plural, health]) => [
        plural,
        "error" in health ? `${health.state}: ${health.error.message}` : health.state,
      ]),
    ),
    failures: graph.tables.flatMap(({ name, failures }) =>
      [...failures].map(([key, error]) =>
        `table "${name}", row "${key}": ${error instanceof Error ? error.message : error}`
      )
    ),
  };
}

function processReport(
  { state, version, pid, restarts, lastExit }: EnvoyStatus,
): NonNullable<ProxyReport["process"]> {
  return {
    state,
    version,
    ...pid !== undefined && { pid },
    restarts,
    ...lastExit && { lastExit: `${lastExit.at.toISOString()}: ${lastExit.reason}` },
  };
}
