/**
 * TLS as it is spoken with clients.
 *
 * @module
 */
import type { TlsChain } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/tls.ts";

const prefix = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";

/**
 * No older than TLS 1.2, with forward secrecy and authenticated encryption only: the intermediate level of Mozilla's
 * recommendations without its finite-field suites, which Envoy does not have.
 */
const parameters: envoy.TlsParameters = {
  tls_minimum_protocol_version: "TLSv1_2",
  tls_maximum_protocol_version: "TLSv1_3",
  cipher_suites: [
    "[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]",
    "[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
  ],
};

/** A secret by its name. */
export function secretConfig(name: string): envoy.SdsSecretConfig {
  return { name, sds_config: { ads: {}, resource_api_version: "V3" } };
}

/** How a chain of a listener speaks TLS: HTTP/2 where the client can, by ALPN. */
export function downstreamTls({ certificates }: TlsChain): envoy.TransportSocket {
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": `${prefix}.DownstreamTlsContext`,
      common_tls_context: {
        tls_params: parameters,
        tls_certificate_sds_secret_configs: certificates.map(secretConfig),
        alpn_protocols: ["h2", "http/1.1"],
      },
    },
  };
}
