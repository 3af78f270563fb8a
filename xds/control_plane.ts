/**
 * How a proxy reaches the xDS server, and how each proves to the other who it is.
 *
 * What they prove it with is in files, which are read again when they are replaced: Envoy does that for what comes by SDS,
 * files included, and for nothing that is in its bootstrap.
 *
 * @module
 */
import { isIP } from "node:net";
import type { Cluster } from "./wire/envoy/cluster.ts";
import type { HttpFilter } from "./wire/envoy/listener.ts";
import type { TransportSocket } from "./wire/envoy/tls.ts";

export interface ControlPlane {
  /** Where the xDS server is. */
  readonly xds: {
    /** A name to look up, or an IP address. */
    readonly host: string;
    readonly port: number;
    /** The DNS name that its certificate has to have. */
    readonly serverName: string;
  };
  /** What the proxy proves itself with: a certificate, if nothing else is said. */
  readonly credential?: "certificate" | "token";
  /** The folder with {@linkcode sdsFiles}. */
  readonly sdsDirectory: string;
}

/** The name of the cluster of xDS servers. */
export const xdsCluster = "gatehouse/xds";

/** The files that a proxy has its secrets from, by what is in them. */
const sds = { certificate: "certificate.json", authority: "authority.json", token: "token.json" } as const;

/** The name of a secret, and where its file is. */
function source({ sdsDirectory }: ControlPlane, secret: keyof typeof sds) {
  return {
    name: secret,
    sds_config: {
      resource_api_version: "V3" as const,
      path_config_source: { path: `${sdsDirectory}/${sds[secret]}` },
    },
  };
}

/** Where what is secret lies. A folder is watched: its files are read again once one of its entries is replaced by renaming. */
export interface Material {
  /** The folder with `ca.crt`, the certificates of those who may sign the xDS server's. */
  readonly authority: string;
  /** The folder with `tls.crt` and `tls.key`, of a proxy that has a certificate. */
  readonly certificate?: string;
  /** The folder with `token`, of a proxy that has a token. */
  readonly token?: string;
}

/** Contents of the files in {@linkcode ControlPlane.sdsDirectory}, by name. They do not change when what they point at does. */
export function sdsFiles(
  { authority, certificate, token }: Material,
  { xds }: Pick<ControlPlane, "xds">,
): { readonly [name: string]: string } {
  const type = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
  const file = (name: keyof typeof sds, secret: { readonly [field: string]: unknown }) => ({
    [sds[name]]: JSON.stringify({ version_info: "1", resources: [{ "@type": type, name, ...secret }] }),
  });
  return {
    ...file("authority", {
      validation_context: {
        trusted_ca: { filename: `${authority}/ca.crt` },
        match_typed_subject_alt_names: [{ san_type: "DNS", matcher: { exact: xds.serverName } }],
        watched_directory: { path: authority },
      },
    }),
    ...certificate !== undefined && file("certificate", {
      tls_certificate: {
        certificate_chain: { filename: `${certificate}/tls.crt` },
        private_key: { filename: `${certificate}/tls.key` },
        watched_directory: { path: certificate },
      },
    }),
    ...token !== undefined && file("token", {
      generic_secret: { secret: { filename: `${token}/token`, watched_directory: { path: token } } },
    }),
  };
}

/** The cluster of xDS servers. */
export function xdsServers(options: ControlPlane): Cluster {
  const { host, port } = options.xds;
  const name = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
  return {
    name: xdsCluster,
    type: isIpAddress(host) ? "STATIC" : "STRICT_DNS",
    connect_timeout: "2s",
    load_assignment: {
      cluster_name: xdsCluster,
      endpoints: [{
        lb_endpoints: [{ endpoint: { address: { socket_address: { address: host, port_value: port } } } }],
      }],
    },
    transport_socket: transportSocket(options),
    typed_extension_protocol_options: {
      [name]: {
        "@type": `type.googleapis.com/${name}`,
        // Behind one address there are several servers: who opens a stream anew is to reach any of them, by the trust of now.
        common_http_protocol_options: { max_requests_per_connection: 1 },
        explicit_http_config: {
          http2_protocol_options: {
            // A server that has stopped without a word is left after 10 seconds.
            connection_keepalive: { interval: "5s", timeout: "5s" },
          },
        },
        ...options.credential === "token" && { http_filters: [bearer(options), codec] },
      },
    },
  };
}

/** Puts the token into a request, the way it is at that time. */
function bearer(options: ControlPlane): HttpFilter {
  return {
    name: "envoy.filters.http.credential_injector",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.credential_injector.v3.CredentialInjector",
      credential: {
        name: "envoy.http.injected_credentials.generic",
        typed_config: {
          "@type": "type.googleapis.com/envoy.extensions.http.injected_credentials.generic.v3.Generic",
          credential: source(options, "token"),
          header_value_prefix: "Bearer ",
        },
      },
    },
  };
}

const codec: HttpFilter = {
  name: "envoy.filters.http.upstream_codec",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec",
  },
};

function transportSocket(options: ControlPlane): TransportSocket {
  const { xds, credential = "certificate" } = options;
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
      sni: xds.serverName,
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: "TLSv1_3", tls_maximum_protocol_version: "TLSv1_3" },
        alpn_protocols: ["h2"],
        ...credential === "certificate" && {
          tls_certificate_sds_secret_configs: [source(options, "certificate")],
        },
        validation_context_sds_secret_config: source(options, "authority"),
      },
    },
  };
}

/** Whether a host is an address, not a name. What only looks like one is a name that nobody has: Envoy refuses bad addresses. */
export function isIpAddress(host: string): boolean {
  return isIP(host) !== 0;
}
