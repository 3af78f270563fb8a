/**
 * What an Envoy is started with: who it is, where its configuration comes from, and how it protects itself.
 *
 * @module
 */
import type { GatewayKey } from "../controllers/ir/mod.ts";
import { reservedClusters } from "./build/route.ts";
import type { Bootstrap, OverloadManager } from "./wire/envoy/bootstrap.ts";
import type { Cluster } from "./wire/envoy/cluster.ts";
import type { Address } from "./wire/envoy/core.ts";
import type { Listener } from "./wire/envoy/listener.ts";
import type { TransportSocket } from "./wire/envoy/tls.ts";

export interface BootstrapOptions {
  /** The node id, by which the ledger knows this proxy. */
  readonly proxy: string;
  readonly gateway: GatewayKey;
  /** Where the xDS server is. */
  readonly xds: {
    /** A name to look up, or an IP address. */
    readonly host: string;
    readonly port: number;
    /** The DNS name that its certificate has to have. */
    readonly serverName: string;
  };
  /** The folder with {@linkcode sdsFiles}. */
  readonly sdsDirectory: string;
  /** The path of the unix socket of the admin interface. */
  readonly adminSocket: string;
  /** Where `/ready` answers 200 once the proxy serves, for probes that cannot use a unix socket. */
  readonly readiness?: { readonly address: string; readonly port: number };
  /** Connections from clients that are taken at a time. */
  readonly maxConnections?: number;
  /** Memory that the proxy may use, in bytes; near to it, it sheds load instead of being killed. */
  readonly maxHeap?: number;
}

/** The files that {@linkcode bootstrap} has the proxy read its TLS material from, by their names. */
const sds = { certificate: "certificate.json", authority: "authority.json" } as const;

const xdsCluster = "gatehouse/xds", adminCluster = "gatehouse/admin";

/** The bootstrap configuration, to be written out as JSON. */
export function bootstrap(options: BootstrapOptions): Bootstrap {
  const { proxy, gateway, adminSocket, readiness } = options;
  const ads = { ads: {}, resource_api_version: "V3" } as const;
  const admin: Address = { pipe: { path: adminSocket, mode: 0o600 } };
  return {
    node: { id: proxy, cluster: gateway },
    dynamic_resources: {
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        grpc_services: [{
          envoy_grpc: {
            cluster_name: xdsCluster,
            // By default it is the cluster's name, which is no valid authority.
            authority: options.xds.serverName,
            // Another replica should be found soon after one has stopped.
            retry_policy: { retry_back_off: { base_interval: "0.1s", max_interval: "5s" } },
          },
        }],
        set_node_on_first_message_only: true,
      },
      cds_config: ads,
      lds_config: ads,
    },
    static_resources: {
      clusters: [
        xdsServer(options),
        // Without hosts: whatever is sent there is answered with 503.
        { name: reservedClusters[503], type: "STATIC", connect_timeout: "1s" },
        ...(readiness ? [staticCluster(adminCluster, "STATIC", admin)] : []),
      ],
      ...(readiness ? { listeners: [readinessListener(readiness)] } : {}),
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
    stats_config: { stats_matcher: { inclusion_list: { patterns: keptStats } } },
    deferred_stat_options: { enable_deferred_creation_stats: true },
  };
}

/**
 * Contents of the files in {@linkcode BootstrapOptions.sdsDirectory}, by name. They point at `tls.crt`, `tls.key` and `ca.crt`
 * in `certificates`; the proxy reads those again when an entry of that folder is replaced by renaming, as a projected
 * volume does it.
 */
export function sdsFiles(
  certificates: string,
  { xds }: Pick<BootstrapOptions, "xds">,
): { readonly [name: string]: string } {
  const type = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
  const watched_directory = { path: certificates };
  const file = (secret: { readonly [field: string]: unknown }) =>
    JSON.stringify({ version_info: "1", resources: [{ "@type": type, ...secret }] });
  return {
    [sds.certificate]: file({
      name: "certificate",
      tls_certificate: {
        certificate_chain: { filename: `${certificates}/tls.crt` },
        private_key: { filename: `${certificates}/tls.key` },
        watched_directory,
      },
    }),
    [sds.authority]: file({
      name: "authority",
      validation_context: {
        trusted_ca: { filename: `${certificates}/ca.crt` },
        match_typed_subject_alt_names: [{ san_type: "DNS", matcher: { exact: xds.serverName } }],
        watched_directory,
      },
    }),
  };
}

function xdsServer(options: BootstrapOptions): Cluster {
  const { host, port } = options.xds;
  const address: Address = { socket_address: { address: host, port_value: port } };
  const name = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
  return {
    ...staticCluster(xdsCluster, isIpAddress(host) ? "STATIC" : "STRICT_DNS", address),
    transport_socket: transportSocket(options),
    typed_extension_protocol_options: {
      [name]: {
        "@type": `type.googleapis.com/${name}`,
        explicit_http_config: {
          http2_protocol_options: {
            // A server that has stopped without a word is left after 10 seconds.
            connection_keepalive: { interval: "5s", timeout: "5s" },
          },
        },
      },
    },
  };
}

function transportSocket({ sdsDirectory, xds }: BootstrapOptions): TransportSocket {
  const source = (file: string) => ({
    resource_api_version: "V3" as const,
    path_config_source: { path: `${sdsDirectory}/${file}` },
  });
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
      sni: xds.serverName,
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: "TLSv1_3", tls_maximum_protocol_version: "TLSv1_3" },
        alpn_protocols: ["h2"],
        tls_certificate_sds_secret_configs: [{ name: "certificate", sds_config: source(sds.certificate) }],
        validation_context_sds_secret_config: { name: "authority", sds_config: source(sds.authority) },
      },
    },
  };
}

function staticCluster(name: string, type: "STATIC" | "STRICT_DNS", address: Address): Cluster {
  return {
    name,
    type,
    connect_timeout: "2s",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}

function isIpAddress(host: string): boolean {
  return host.includes(":") || /^\d+\.\d+\.\d+\.\d+$/.test(host);
}

function readinessListener({ address, port }: { readonly address: string; readonly port: number }): Listener {
  return {
    name: "gatehouse/readiness",
    address: { socket_address: { address, port_value: port } },
    ignore_global_conn_limit: true,
    filter_chains: [{
      filters: [{
        name: "envoy.filters.network.http_connection_manager",
        typed_config: {
          "@type":
            "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
          stat_prefix: "readiness",
          route_config: {
            virtual_hosts: [{
              name: "readiness",
              domains: ["*"],
              // Nothing else of the admin interface can be reached this way.
              routes: [{ match: { path: "/ready" }, route: { cluster: adminCluster } }],
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
