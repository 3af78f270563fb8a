/**
 * A data-plane model made by hand, and short ways to say its rows.
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
  Piece,
  Route,
  RouteAction,
  RouteMatch,
  RouteTable,
  Secret,
  SecretUse,
  TlsChain,
  VirtualHost,
  WeightedBackend,
} from "../../../controllers/ir/mod.ts";
import type { Graph, Source } from "../../../controllers/runtime/graph.ts";

/** The tables of an {@linkcode Ir}, to be filled by a test. */
export type IrSources = {
  readonly [T in keyof Ir]: Ir[T] extends { get(key: string): infer V } ? Source<NonNullable<V>>
    : never;
};

export function irSources(graph: Graph): IrSources {
  return {
    listeners: graph.source<Listener>("listeners"),
    chains: graph.source<TlsChain>("chains"),
    routeTables: graph.source<RouteTable>("routeTables"),
    virtualHosts: graph.source<VirtualHost>("virtualHosts"),
    clusters: graph.source<Cluster>("clusters"),
    clusterUses: graph.source<ClusterUse>("clusterUses"),
    endpoints: graph.source<Endpoints>("endpoints"),
    secrets: graph.source<Secret>("secrets"),
    secretUses: graph.source<SecretUse>("secretUses"),
    contributions: graph.source<Contribution>("contributions"),
  };
}

export const anyPath: RouteMatch = { path: { type: "prefix", value: "/" }, headers: [], queryParams: [] };

/** A match by path prefix, and by whatever else is given. */
export function match(prefix: string, others: Partial<RouteMatch> = {}): RouteMatch {
  return { ...anyPath, path: { type: "prefix", value: prefix }, ...others };
}

export function route(name: string, action: RouteAction, others: Partial<Route> = {}): Route {
  return { name, origin: `HTTPRoute/default/${name}`, match: anyPath, action, ...others };
}

/** Sends everything to some clusters, each with its weight. */
export function forward(...backends: readonly (string | WeightedBackend)[]): RouteAction {
  return {
    kind: "forward",
    backends: backends.map((backend) =>
      typeof backend === "string" ? { weight: 1, target: { cluster: backend } } : backend
    ),
  };
}

export function endpointsOf(
  cluster: string,
  ...ports: readonly number[]
): Endpoints {
  return {
    cluster,
    localities: ports.length === 0 ? [] : [{
      zone: "",
      endpoints: ports.map((port) => ({ address: "127.0.0.1", port, draining: false })),
    }],
  };
}

/** Edits the model of one Gateway. */
export class GatewayModel {
  readonly #hostnames = new Map<number, readonly string[]>();

  constructor(readonly ir: IrSources, readonly gateway = "default/gw") {}

  listener(port: number, others: Partial<Listener> = {}): this {
    const name = `${this.gateway}/${port}`;
    this.ir.listeners.set(name, {
      gateway: this.gateway,
      name,
      addresses: ["127.0.0.1"],
      port,
      protocol: "http",
      routes: name,
      ...others,
    });
    return this;
  }

  removeListener(port: number): this {
    this.ir.listeners.delete(`${this.gateway}/${port}`);
    this.ir.routeTables.delete(`${this.gateway}/${port}`);
    return this;
  }

  /** Sets all virtual hosts of a port. */
  routes(port: number, hosts: { readonly [hostname: string]: readonly Route[] }): this {
    const name = `${this.gateway}/${port}`;
    for (const hostname of this.#hostnames.get(port) ?? []) {
      if (!Object.hasOwn(hosts, hostname)) this.ir.virtualHosts.delete(`${name}/${hostname}`);
    }
    for (const [hostname, entries] of Object.entries(hosts)) {
      this.ir.virtualHosts.set(`${name}/${hostname}`, { routes: name, hostname, entries });
    }
    this.#hostnames.set(port, Object.keys(hosts));
    this.ir.routeTables.set(name, { gateway: this.gateway, name });
    return this;
  }

  cluster(name: string, ports: readonly number[], protocol: Cluster["protocol"] = "http1"): this {
    this.ir.clusters.set(name, { name, protocol });
    this.ir.endpoints.set(name, endpointsOf(name, ...ports));
    this.ir.clusterUses.set(`${this.gateway}|${name}`, { gateway: this.gateway, cluster: name });
    return this;
  }

  removeCluster(name: string): this {
    this.ir.clusters.delete(name);
    this.ir.endpoints.delete(name);
    this.ir.clusterUses.delete(`${this.gateway}|${name}`);
    return this;
  }

  contribution(origin: string, generation: number, pieces: readonly Piece[]): this {
    this.ir.contributions.set(`${this.gateway}|${origin}`, {
      gateway: this.gateway,
      origin,
      generation,
      pieces,
    });
    return this;
  }
}
