/**
 * Listeners, set up for the edge: what Envoy's own advice for an edge proxy asks for.
 *
 * @module
 */
import type { Listener, TlsChain } from "../../controllers/ir/mod.ts";
import type { Key } from "../../controllers/runtime/graph.ts";
import type { Address } from "../wire/envoy/core.ts";
import * as envoy from "../wire/envoy/listener.ts";
import { encode } from "../wire/mod.ts";
import { buildAccessLog } from "./access_log.ts";
import { chainHeader } from "./chain_header.ts";
import { hashOf } from "./hash.ts";
import { httpFilters } from "./http_filters.ts";
import { seconds } from "./retry.ts";
import { streamIdleTimeout } from "./timeouts.ts";
import { downstreamTls } from "./tls.ts";
import { buildTracing } from "./tracing.ts";

/** The address that stands for all of them: `::` takes in IPv4 too, but needs a kernel with IPv6. */
export type EveryAddress = "0.0.0.0" | "::";

/** How the proxies of an installation listen; all of it applies to every listener. */
export interface ListenerOptions {
  /** By default `0.0.0.0`. */
  readonly everyAddress?: EveryAddress;
  /**
   * Whether each worker has a socket of its own. Faster, but two proxies of one user on one machine could then share a
   * port without noticing.
   */
  readonly reusePort?: boolean;
}

const hcm =
  "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";

/** A filter chain as a part of a serialized Listener. */
export interface EncodedChain {
  readonly listener: Key;
  /** Of the bytes. */
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** Encodes a chain of a listener. `filter_chains` is a repeated field, whose parts may be written one after the other. */
export function encodeChain(listener: Listener, chain: TlsChain): EncodedChain {
  const bytes = encode(envoy.Listener, { filter_chains: [buildChain(listener, chain)] });
  return { listener: chain.listener, hash: hashOf(bytes), bytes };
}

/** A serialized Listener, in pieces. */
export interface EncodedListener {
  readonly version: string;
  readonly body: readonly Uint8Array[];
}

/** Puts a listener and its chains, if TLS ends at it, together. */
export function encodeListener(
  listener: Listener,
  chains: readonly EncodedChain[],
  options: ListenerOptions,
): EncodedListener {
  const head = encode(envoy.Listener, buildListener(listener, options));
  return {
    version: hashOf(head, chains.map(({ hash }) => hash).join("")),
    body: [head, ...chains.map(({ bytes }) => bytes)],
  };
}

/** Builds a listener that takes its routes from RDS; without its chains, if TLS ends at it. */
export function buildListener(listener: Listener, options: ListenerOptions): envoy.Listener {
  const encrypted = listener.protocol === "https";
  const [first, ...others] = listener.addresses.length > 0
    ? listener.addresses
    : [options.everyAddress ?? "0.0.0.0"];
  return {
    name: listener.name,
    address: addressOf(first!, listener.port),
    ...(others.length > 0
      ? { additional_addresses: others.map((ip) => ({ address: addressOf(ip, listener.port) })) }
      : {}),
    ...(encrypted
      ? { listener_filters: [tlsInspector] }
      : { filter_chains: [{ filters: [httpFilter(connectionManager(listener))] }] }),
    per_connection_buffer_limit_bytes: 32_768,
    traffic_direction: "INBOUND",
    enable_reuse_port: options.reusePort ?? true,
  };
}

/** Reads the name that a client asks for, which picks the chain. */
const tlsInspector: envoy.ListenerFilter = {
  name: "envoy.filters.listener.tls_inspector",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector",
  },
};

/** One chain; its name tells Envoy which connections may stay when others change. */
function buildChain(listener: Listener, chain: TlsChain): envoy.FilterChain {
  const { hostname } = chain;
  return {
    name: `${listener.name}/${hostname}`,
    ...(hostname === "*" ? {} : { filter_chain_match: { server_names: [hostname] } }),
    filters: [
      httpFilter({
        ...connectionManager(listener),
        early_header_mutation_extensions: [chainHeader(hostname)],
      }),
    ],
    transport_socket: downstreamTls(chain),
    transport_socket_connect_timeout: "10s",
  };
}

type ConnectionManager = envoy.HttpConnectionManager & { readonly "@type": typeof hcm };

function httpFilter(manager: ConnectionManager): envoy.Filter {
  return { name: "envoy.filters.network.http_connection_manager", typed_config: manager };
}

function addressOf(address: string, port: number): Address {
  return {
    socket_address: { address, port_value: port, ...(address === "::" ? { ipv4_compat: true } : {}) },
  };
}

function connectionManager(listener: Listener): ConnectionManager {
  return {
    "@type": hcm,
    stat_prefix: listener.name,
    rds: {
      route_config_name: listener.routes,
      config_source: { ads: {}, resource_api_version: "V3" },
    },
    http_filters: httpFilters,
    // The client is whoever connects: an X-Forwarded-For that it brings along is not believed.
    use_remote_address: true,
    generate_request_id: true,
    // The backend's own `server` header, or none.
    server_header_transformation: "PASS_THROUGH",
    // Routes are chosen by the path that the backend will understand it to be.
    normalize_path: true,
    path_with_escaped_slashes_action: "UNESCAPE_AND_REDIRECT",
    // Underscores in names of headers are let through; see `lookalikes.ts` for those that are not.
    common_http_protocol_options: { idle_timeout: "3600s" },
    http2_protocol_options: {
      max_concurrent_streams: 100,
      initial_stream_window_size: 65_536,
      initial_connection_window_size: 1_048_576,
      allow_connect: true, // WebSockets over HTTP/2, RFC 8441.
    },
    request_headers_timeout: "10s",
    stream_idle_timeout: seconds(streamIdleTimeout),
    upgrade_configs: [{ upgrade_type: "websocket" }],
    ...(listener.accessLog ? { access_log: [buildAccessLog(listener.accessLog, listener.gateway)] } : {}),
    ...(listener.tracing ? { tracing: buildTracing(listener.tracing) } : {}),
  };
}
