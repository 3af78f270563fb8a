/**
 * What an Envoy is started with: who it is, where its configuration comes from, and how it protects itself.
 *
 * @module
 */
import type { GatewayKey } from "../controllers/ir/mod.ts";
import { reservedClusters } from "./build/respond.ts";
import { type ControlPlane, xdsCluster, xdsServers } from "./control_plane.ts";
import type { Bootstrap, OverloadManager } from "./wire/envoy/bootstrap.ts";
import type { Cluster } from "./wire/envoy/cluster.ts";
import type { Address } from "./wire/envoy/core.ts";
import type { Listener } from "./wire/envoy/listener.ts";

/** An address of the proxy that answers to one path, for those who cannot use a unix socket. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

export interface BootstrapOptions extends ControlPlane {
  /**
   * The node id, by which the ledger knows this proxy. Without it, the argument `--service-node` says it, and many proxies can have
   * one bootstrap.
   */
  readonly proxy?: string;
  readonly gateway: GatewayKey;
  /** The path of the unix socket of the admin interface. */
  readonly adminSocket: string;
  /** Where `/ready` answers 200 once the proxy serves, for probes. */
  readonly readiness?: Endpoint;
  /** Where `/stats/prometheus` tells the proxy's statistics. */
  readonly metrics?: Endpoint;
  /** Statistics besides those that somebody looks at: all of them, or those whose names begin so. */
  readonly stats?: { readonly all: boolean; readonly prefixes: readonly string[] };
  /** Connections from clients that are taken at a time. */
  readonly maxConnections?: number;
  /** Memory that the proxy may use, in bytes; near to it, it sheds load instead of being killed. */
  readonly maxHeap?: number;
}

const adminCluster = "gatehouse/admin";

/** The bootstrap configuration, to be written out as JSON. */
export function bootstrap(options: BootstrapOptions): Bootstrap {
  const { proxy, gateway, adminSocket, readiness, metrics, stats = { all: false, prefixes: [] } } = options;
  const ads = { ads: {}, resource_api_version: "V3" } as const;
  const admin: Address = { pipe: { path: adminSocket, mode: 0o600 } };
  const listeners = [
    ...readiness ? [adminListener("readiness", readiness, "/ready")] : [],
    ...metrics ? [adminListener("metrics", metrics, "/stats/prometheus")] : [],
  ];
  return {
    node: { ...proxy !== undefined && { id: proxy }, cluster: gateway },
    dynamic_resources: {
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        grpc_services: [{
          envoy_grpc: {
            cluster_name: xdsCluster,
            // By default it is the cluster's name, which is no valid authority.
            authority: options.xds.serverName,
            // Another replica is to be found soon after one has stopped, and one that starts soon after it is ready. Each wait is a
            // random part of the interval.
            retry_policy: { retry_back_off: { base_interval: "0.1s", max_interval: "0.25s" } },
          },
        }],
        set_node_on_first_message_only: true,
      },
      cds_config: ads,
      lds_config: ads,
    },
    static_resources: {
      clusters: [
        xdsServers(options),
        // Without hosts: whatever is sent there is answered with 503.
        { name: reservedClusters[503], type: "STATIC", connect_timeout: "1s" },
        ...listeners.length > 0 ? [adminServer(admin)] : [],
      ],
      ...listeners.length > 0 && { listeners },
    },
    admin: { address: admin, ignore_global_conn_limit: true },
    layered_runtime: {
      layers: [
        // Whether a regular expression is too large is decided where the user can be told.
        { name: "gatehouse", static_layer: { "re2.max_program_size.error_level": 4_294_967_295 } },
        { name: "admin", admin_layer: {} },
      ],
    },
    overload_manager: overloadManager(options),
    ...stats.all
      ? {}
      : { stats_config: { stats_matcher: { inclusion_list: { patterns: kept(stats.prefixes) } } } },
    deferred_stat_options: { enable_deferred_creation_stats: true },
  };
}

function adminServer(address: Address): Cluster {
  return {
    name: adminCluster,
    type: "STATIC",
    connect_timeout: "2s",
    load_assignment: {
      cluster_name: adminCluster,
      endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }],
    },
  };
}

/** Gives one path of the admin interface to whoever asks, and nothing else of it. */
function adminListener(name: string, { address, port }: Endpoint, path: string): Listener {
  return {
    name: `gatehouse/${name}`,
    address: {
      socket_address: { address, port_value: port, ...address === "::" && { ipv4_compat: true } },
    },
    ignore_global_conn_limit: true,
    filter_chains: [{
      filters: [{
        name: "envoy.filters.network.http_connection_manager",
        typed_config: {
          "@type":
            "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
          stat_prefix: name,
          route_config: {
            virtual_hosts: [{
              name,
              domains: ["*"],
              routes: [{
                match: {
                  path,
                  headers: [{ name: ":method", string_match: { exact: "GET" } }],
                },
                route: { cluster: adminCluster },
              }],
            }],
          },
          http_filters: [{
            name: "envoy.filters.http.router",
            typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
          }],
        },
      }],
    }],
  };
}

function overloadManager({ maxConnections = 50_000, maxHeap }: BootstrapOptions): OverloadManager {
  const heap = "envoy.resource_monitors.fixed_heap";
  const when = (value: number) => [{ name: heap, threshold: { value } }];
  return {
    resource_monitors: [
      {
        name: "envoy.resource_monitors.global_downstream_max_connections",
        typed_config: {
          "@type":
            "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
          max_active_downstream_connections: maxConnections,
        },
      },
      ...(maxHeap === undefined ? [] : [{
        name: heap,
        typed_config: {
          "@type":
            "type.googleapis.com/envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig" as const,
          max_heap_size_bytes: maxHeap,
        },
      }]),
    ],
    ...(maxHeap === undefined ? {} : {
      actions: [
        { name: "envoy.overload_actions.shrink_heap", triggers: when(0.9) },
        { name: "envoy.overload_actions.disable_http_keepalive", triggers: when(0.95) },
        { name: "envoy.overload_actions.stop_accepting_requests", triggers: when(0.98) },
      ],
    }),
  };
}

/** Statistics of a cluster that somebody looks at. Envoy has a hundred of each, most of them always zero. */
const clusterStats = [
  "upstream_rq_(total|[1-5]xx|time|active|retry|retry_success|timeout|pending_overflow|rx_reset|tx_reset)",
  "upstream_cx_(total|active|connect_fail|connect_timeout|rx_bytes_total|tx_bytes_total)",
  "membership_(total|healthy)",
];

const keptStats = [
  ...[
    "cluster_manager.",
    "control_plane.",
    "filesystem.",
    "http.",
    "listener.",
    "listener_manager.",
    "main_thread.",
    "overload.",
    "sds.",
    "server.",
    "tcp.",
    "udp.",
    "workers.",
  ].map((prefix) => ({ prefix })),
  { safe_regex: { regex: `cluster\\..+\\.(${clusterStats.join("|")})` } },
];

function kept(prefixes: readonly string[]) {
  return [...keptStats, ...prefixes.map((prefix) => ({ prefix }))];
}
