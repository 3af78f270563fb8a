/**
 * A translation of a few lines, for tests of everything after it: rules become virtual hosts and contributions, and a
 * rejected rule answers 500.
 *
 * @module
 */
import type {
  Cluster,
  ClusterUse,
  Contribution,
  Endpoints,
  Ir,
  Listener,
  Proxy,
  Rejection,
  ResourceId,
  Route,
  RouteAction,
  RouteMatch,
  RouteTable,
  Verdict,
  VirtualHost,
} from "../../../controllers/ir/mod.ts";
import { equal } from "../../../controllers/runtime/equal.ts";
import type { Graph, Source } from "../../../controllers/runtime/graph.ts";
import { anyPath } from "./ir.ts";

export const gateway = "default/gw";

export interface Rule {
  readonly match?: RouteMatch;
  readonly action: RouteAction;
}

/** A route of a Gateway for one hostname. Row key: its origin. */
export interface MiniRoute {
  readonly hostname: string;
  readonly generation: number;
  readonly rules: readonly Rule[];
}

export interface Mini {
  readonly routes: Source<MiniRoute>;
  readonly listeners: Source<Listener>;
  readonly clusters: Source<Cluster>;
  readonly endpoints: Source<Endpoints>;
  readonly proxies: Source<readonly Proxy[]>;
  readonly verdicts: Source<Verdict>;
  readonly rejections: Source<Rejection>;
  readonly ir: Ir;
}

/** Wires the tables. All routes are on the one listener with port `port`. */
export function mini(graph: Graph, port: number): Mini {
  const table = `${gateway}/${port}`;
  const carriers: readonly ResourceId[] = [`routes:${table}`];
  const routes = graph.source<MiniRoute>("mini routes");
  const listeners = graph.source<Listener>("ir.listeners");
  const clusters = graph.source<Cluster>("ir.clusters");
  const endpoints = graph.source<Endpoints>("ir.endpoints");
  const proxies = graph.source<readonly Proxy[]>("proxies");
  const verdicts = graph.source<Verdict>("verdicts");
  const rejections = graph.source<Rejection>("rejections");

  const virtualHosts = graph.derive("ir.virtualHosts", routes, (route, read, origin): VirtualHost => ({
    routes: table,
    hostname: route.hostname,
    entries: route.rules.map((rule, i): Route => {
      const rejection = read(rejections, `${gateway}|${origin}/rule/${i}`);
      const rejected = rejection !== undefined && equal(rejection.content, rule);
      return {
        name: `${origin}/rule/${i}`,
        origin,
        match: rejected ? anyPath : rule.match ?? anyPath,
        action: rejected ? { kind: "respond", status: 500 } : rule.action,
      };
    }),
  }));
  const routeTables = graph.derive("ir.routeTables", listeners, ({ routes }): RouteTable => ({
    gateway,
    name: routes,
  }));
  const ofRoutes = graph.derive("contributions of routes", routes, (route, _, origin): Contribution => ({
    gateway,
    origin,
    generation: route.generation,
    pieces: route.rules.map((rule, i) => ({
      id: `${origin}/rule/${i}`,
      content: rule,
      resources: carriers,
    })),
  }));
  const ofClusters = graph.derive("contributions of clusters", clusters, ({ name }, read): Contribution => ({
    gateway,
    origin: `Service/${name}`,
    generation: 0,
    pieces: [{ id: `Service/${name}`, content: read(clusters, name), resources: [`cluster:${name}`] }],
  }));
  const byOrigin = graph.index(
    "contributions by origin",
    graph.union<Contribution>("contributions", [["r ", ofRoutes], ["c ", ofClusters]]),
    ({ origin }) => [`${gateway}|${origin}`],
  );
  const contributions = graph.derive("ir.contributions", byOrigin, (group) => [...group.values()][0]);
  const uses = graph.derive("uses", clusters, ({ name }): ClusterUse => ({ gateway, cluster: name }));
  const byKey = graph.index("uses by key", uses, ({ cluster }) => [`${gateway}|${cluster}`]);
  const clusterUses = graph.derive("ir.clusterUses", byKey, (group) => [...group.values()][0]);
  return {
    routes,
    listeners,
    clusters,
    endpoints,
    proxies,
    verdicts,
    rejections,
    ir: {
      listeners,
      chains: graph.source("chains"),
      routeTables,
      virtualHosts,
      clusters,
      clusterUses,
      endpoints,
      secrets: graph.source("secrets"),
      secretUses: graph.source("secret uses"),
      contributions,
    },
  };
}
