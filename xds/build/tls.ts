/**
 * TLS as it is spoken with clients and with backends.
 *
 * @module
 */
import type { BackendTls, Cluster, SubjectName, TlsChain } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/tls.ts";

const prefix = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";

/** No older than TLS 1.2. */
const versions: envoy.TlsParameters = {
  tls_minimum_protocol_version: "TLSv1_2",
  tls_maximum_protocol_version: "TLSv1_3",
};

/**
 * With forward secrecy and authenticated encryption only: the intermediate level of Mozilla's
 * recommendations without its finite-field suites, which Envoy does not have.
 */
const parameters: envoy.TlsParameters = {
  ...versions,
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
export function downstreamTls({ certificates, clients }: TlsChain): envoy.TransportSocket {
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": `${prefix}.DownstreamTlsContext`,
      common_tls_context: {
        tls_params: parameters,
        tls_certificate_sds_secret_configs: certificates.map(secretConfig),
        ...(clients
          ? {
            combined_validation_context: {
              default_validation_context: clients.required
                ? {}
                : { trust_chain_verification: "ACCEPT_UNTRUSTED" as const },
              validation_context_sds_secret_config: secretConfig(clients.authorities),
            },
          }
          : {}),
        alpn_protocols: ["h2", "http/1.1"],
      },
      ...(clients?.required ? { require_client_certificate: true } : {}),
    },
  };
}

/** The protocol that a backend is told of by ALPN. */
const alpn = { http1: "http/1.1", h2c: "h2" } as const satisfies {
  readonly [P in Cluster["protocol"]]: string;
};

export interface UpstreamTlsOptions {
  /** The secret with the certificate that backends are shown. */
  readonly clientCertificate?: string | undefined;
  /**
   * The file on the proxies' machine with the authorities that its system trusts; that of Debian and of images without a
   * distribution if absent. Envoy does not look for it by itself.
   */
  readonly systemAuthorities?: string | undefined;
}

/** How TLS is spoken with a backend, perhaps with a certificate of our own. */
export function upstreamTls(
  { sni, authorities, names }: BackendTls,
  protocol: Cluster["protocol"],
  { clientCertificate, systemAuthorities = "/etc/ssl/certs/ca-certificates.crt" }: UpstreamTlsOptions,
): envoy.TransportSocket {
  const match_typed_subject_alt_names = names.map(subjectMatcher);
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": `${prefix}.UpstreamTlsContext`,
      common_tls_context: {
        tls_params: versions,
        ...(clientCertificate === undefined
          ? {}
          : { tls_certificate_sds_secret_configs: [secretConfig(clientCertificate)] }),
        ...(authorities === "system"
          ? {
            validation_context: {
              trusted_ca: { filename: systemAuthorities },
              match_typed_subject_alt_names,
            },
          }
          : {
            combined_validation_context: {
              default_validation_context: { match_typed_subject_alt_names },
              validation_context_sds_secret_config: secretConfig(authorities.secret),
            },
          }),
        alpn_protocols: [alpn[protocol]],
      },
      sni,
    },
  };
}

/** Matches a name of a certificate. For an exact DNS name Envoy knows what wildcards in certificates stand for. */
function subjectMatcher({ type, value }: SubjectName): envoy.SubjectAltNameMatcher {
  if (type === "uri") return { san_type: "URI", matcher: { exact: value } };
  const matcher = value.startsWith("*.") ? { suffix: value.slice(1) } : { exact: value };
  return { san_type: "DNS", matcher };
}
