/**
 * Who puts what into the proxies of which Gateway: Gateways, routes, Services and Secrets.
 *
 * Contributions say what is meant. They must not depend on rejections, or a rejection would lift itself.
 *
 * @module
 */
import type { Contribution, Ir } from "../ir/mod.ts";
import type { Graph, Table } from "../runtime/graph.ts";
import { clustersByGateway } from "./clusters.ts";
import { split, within } from "./keys.ts";
import { contributionOf, type Placement, serviceContribution, serviceOrigin } from "./placements.ts";
import { type GatewayState, listenerContent, listenerPiece, meantListeners } from "./ports.ts";
import type { ResolvedRoute } from "./rules.ts";
import { secretContributions, type SecretTables } from "./secrets.ts";

export interface ContributionTables {
  readonly states: Table<GatewayState>;
  readonly secrets: SecretTables;
  readonly placements: Table<Placement>;
  readonly resolved: Table<ResolvedRoute>;
}

export function deriveContributions(graph: Graph, tables: ContributionTables): Ir["contributions"] {
  const { states, secrets, placements, resolved } = tables;
  const meant = graph.derive("meant clusters", placements, ({ gateway, origin }, read) => ({
    gateway,
    clusters: read(resolved, origin)?.rules.flatMap(({ clusters }) => clusters) ?? [],
  }));
  const byService = graph.index(
    "meant clusters by service",
    clustersByGateway(graph, "meant", meant),
    ({ gateway, cluster }) => [within(gateway, serviceOrigin(cluster))],
  );
  const all = graph.union<Contribution>("contributions by sort", [
    ["gateways ", graph.derive("contributions of gateways", states, gatewayContribution)],
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
      graph.derive("contributions of services", byService, (group, _, key) => {
        const [gateway, origin] = split(key);
        return serviceContribution(gateway, origin, [...group.values()].map(({ cluster }) => cluster));
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

function gatewayContribution(state: GatewayState): Contribution {
  const { gateway, generation } = state;
  return {
    gateway,
    origin: `Gateway/${gateway}`,
    generation,
    pieces: meantListeners(state).map((listener) => ({
      id: listenerPiece(gateway, listener.listener.name),
      content: listenerContent(state, listener),
      resources: [`listener:${listener.portKey}`, `routes:${listener.portKey}`],
    })),
  };
}
