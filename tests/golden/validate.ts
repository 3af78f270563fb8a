/**
 * Asks a real Envoy whether it would take the resources of goldens.
 *
 * @module
 */
import type { Produced } from "./harness.ts";

// deno-lint-ignore no-explicit-any -- resources of four types, taken apart and put together again
type Json = any;

/**
 * A static configuration of the resources of many goldens: route configurations move into their listeners, endpoints into
 * their clusters, and every name and port is made unique, which no golden needs but all of them together do.
 */
export function staticConfiguration(goldens: ReadonlyMap<string, Produced>): object {
  const listeners: Json[] = [], clusters: Json[] = [];
  for (const [golden, { resources }] of goldens) {
    const gateways = Map.groupBy(resources, ({ gateway }) => gateway);
    for (const [gateway, own] of gateways) {
      const prefix = `${golden}: ${gateway}: `;
      const byId = new Map<string, Json>(own.map(({ resource }) => {
        const { "@type": type, ...message } = structuredClone(resource.resource) as Json;
        return [`${type.split(".").at(-1)}/${resource.name}`, message];
      }));
      for (const [id, message] of byId) {
        if (id.startsWith("Listener/")) {
          listeners.push(staticListener(message, prefix, byId, 10_000 + listeners.length));
        }
        if (id.startsWith("Cluster/")) clusters.push(staticCluster(message, prefix, byId));
      }
    }
  }
  return {
    static_resources: { listeners, clusters },
    // Expressions may be large, as for the proxies that are run.
    layered_runtime: {
      layers: [{ name: "tests", static_layer: { "re2.max_program_size.error_level": 4_294_967_295 } }],
    },
    admin: { address: { socket_address: { address: "127.0.0.1", port_value: 9 } } },
  };
}

function staticListener(listener: Json, prefix: string, byId: ReadonlyMap<string, Json>, port: number): Json {
  listener.name = prefix + listener.name;
  for (const address of [listener.address, ...(listener.additional_addresses ?? []).map((a: Json) => a.address)]) {
    address.socket_address.port_value = port;
  }
  for (const chain of listener.filter_chains) {
    for (const { typed_config: manager } of chain.filters) {
      if (!manager.rds) continue;
      const routes = byId.get(`RouteConfiguration/${manager.rds.route_config_name}`);
      if (!routes) throw new Error(`${prefix}no routes "${manager.rds.route_config_name}"`);
      manager.route_config = { ...routes, validate_clusters: false };
      delete manager.rds;
    }
    for (const { typed_config: { tracing } } of chain.filters) {
      if (tracing) tracing.provider.typed_config.grpc_service.envoy_grpc.cluster_name = prefix + clusterOf(tracing);
    }
    if (chain.transport_socket) inlineSecrets(chain.transport_socket.typed_config.common_tls_context, prefix, byId);
  }
  return listener;
}

function clusterOf(tracing: Json): string {
  return tracing.provider.typed_config.grpc_service.envoy_grpc.cluster_name;
}

/** Puts secrets where they are named. */
function inlineSecrets(context: Json, prefix: string, byId: ReadonlyMap<string, Json>): void {
  const secret = ({ name }: Json): Json => {
    const found = byId.get(`Secret/${name}`);
    if (!found) throw new Error(`${prefix}no secret "${name}"`);
    return found;
  };
  const { tls_certificate_sds_secret_configs: own, combined_validation_context: peers } = context;
  if (own) {
    context.tls_certificates = own.map((config: Json) => secret(config).tls_certificate);
    delete context.tls_certificate_sds_secret_configs;
  }
  const system = context.validation_context?.trusted_ca;
  if (system?.filename) {
    // The machine that tests may have its authorities elsewhere.
    const [, some] = [...byId].find(([id, { validation_context }]) => id.startsWith("Secret/") && validation_context)!;
    context.validation_context.trusted_ca = some.validation_context.trusted_ca;
  }
  if (peers) {
    const { validation_context } = secret(peers.validation_context_sds_secret_config);
    context.validation_context = { ...validation_context, ...peers.default_validation_context };
    delete context.combined_validation_context;
  }
}

function staticCluster(cluster: Json, prefix: string, byId: ReadonlyMap<string, Json>): Json {
  const endpoints = cluster.load_assignment ?? byId.get(`ClusterLoadAssignment/${cluster.name}`);
  if (!endpoints) throw new Error(`${prefix}no endpoints for "${cluster.name}"`);
  const name = prefix + cluster.name;
  const { eds_cluster_config: _, type, ...rest } = cluster;
  if (rest.transport_socket) {
    inlineSecrets(rest.transport_socket.typed_config.common_tls_context, prefix, byId);
  }
  return { ...rest, name, type: type === "EDS" ? "STATIC" : type, load_assignment: { ...endpoints, cluster_name: name } };
}

/** What Envoy has to say about a configuration; `undefined` if it takes it. */
export async function refusal(envoy: string, configuration: object): Promise<string | undefined> {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(path, JSON.stringify(configuration));
    const { code, stderr } = await new Deno.Command(envoy, {
      args: ["--mode", "validate", "--log-level", "error", "--config-path", path],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    return code === 0 ? undefined : new TextDecoder().decode(stderr);
  } finally {
    await Deno.remove(path);
  }
}
