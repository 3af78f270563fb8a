/**
 * Who puts what into the proxies of which Gateway: Gateways, ListenerSets, routes, Services and Secrets.
 *
 * Contributions say what is meant. They must not depend on rejections, or a rejection would lift itself.
 *
 * @module
 */
import type { Contribution, Ir } from "../ir/mod.ts";
import type { Graph, Read, Table } from "../runtime/graph.ts";
import type { GatewayCluster } from "./clusters.ts";
import type { GatewayModel } from "./gateways.ts";
import type { GatewayState, OwnerState } from "./gateway_state.ts";
import { split, within } from "./keys.ts";
import { listenerContent, meantListeners, type Rejections } from "./listening.ts";
import { contributionOf, type Placement, serviceContribution, serviceOrigin } from "./placements.ts";
import type { ResolvedRoute } from "./rules.ts";
import { secretContent, secretContributions, type SecretTables } from "./secrets.ts";

export interface ContributionTables {
  readonly gateways: Table<GatewayModel>;
  readonly states: Table<GatewayState>;
  readonly owners: Table<OwnerState>;
  readonly secrets: SecretTables;
  /** The clusters that Gateways are meant to have. */
  readonly meant: Table<GatewayCluster>;
  readonly placements: Table<Placement>;
  readonly resolved: Table<ResolvedRoute>;
}

export function deriveContributions(graph: Graph, tables: ContributionTables): Ir["contributions"] {
  const { gateways, states, owners, secrets, meant, placements, resolved } = tables;
  const byService = graph.index(
    "meant clusters by service",
    meant,
    ({ gateway, cluster }) => [within(gateway, serviceOrigin(cluster))],
  );
  const contentIn = (read: Read) => (secret: string) => secretContent(secret, read, secrets);
  const all = graph.union<Contribution>("contributions by sort", [
    [
      "listeners ",
      graph.derive(
        "contributions of listeners",
        owners,
        (owner, read) => listenersContribution(owner, contentIn(read)),
      ),
    ],
    [
      "removals ",
      graph.derive(
        "contributions of removals",
        gateways,
        ({ terminating, generation }, _, gateway) =>
          terminating
            ? { gateway, origin: `Gateway/${gateway}`, generation, pieces: [], removal: true as const }
            : undefined,
      ),
    ],
    ["secrets ", secretContributions(graph, secrets, states)],
    [
      "routes ",
      graph.derive("contributions of routes", placements, (placement, read) => {
        const route = read(resolved, placement.origin);
        return route && contributionOf(placement, route);
      }),
    ],
    [
      "services ",
      graph.derive("contributions of services", byService, (group, read, key) => {
        const [gateway, origin] = split(key);
        const clusters = [...group.values()].map(({ cluster }) => cluster);
        return serviceContribution(gateway, origin, clusters, contentIn(read));
      }),
    ],
  ]);
  const byOrigin = graph.index(
    "contributions by origin",
    all,
    ({ gateway, origin }) => [within(gateway, origin)],
  );
  return graph.derive("ir.contributions", byOrigin, (group) => {
    for (const contribution of group.values()) return contribution;
  });
}

function listenersContribution(owner: OwnerState, contentOf: Rejections["contentOf"]): Contribution {
  const { gateway, origin, generation, telemetry: { tracing } } = owner;
  return {
    gateway,
    origin,
    generation,
    pieces: meantListeners(owner).map((listener) => ({
      id: listener.listener.id,
      content: listenerContent(owner, listener, contentOf),
      resources: [
        `listener:${listener.portKey}`,
        `routes:${listener.portKey}`,
        ...tracing ? [`cluster:${tracing.cluster}` as const] : [],
        ...listener.tls?.clients ? [`secret:${listener.tls.clients.authorities}` as const] : [],
      ],
    })),
  };
}
