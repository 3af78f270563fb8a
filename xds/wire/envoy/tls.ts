/**
 * TLS on either side, and secrets.
 *
 * @module
 */
import { anyOf, bool, BoolValue, enumeration, field, type Infer, message, repeated, string } from "../mod.ts";
import { ConfigSource, DataSource, WatchedDirectory } from "./core.ts";
import { StringMatcher } from "./matcher.ts";

export const SdsSecretConfig = message("envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig", {
  name: field(1, string),
  sds_config: field(2, ConfigSource),
});
export type SdsSecretConfig = Infer<typeof SdsSecretConfig>;

export const TlsProtocol = enumeration(
  "envoy.extensions.transport_sockets.tls.v3.TlsParameters.TlsProtocol",
  { TLS_AUTO: 0, TLSv1_0: 1, TLSv1_1: 2, TLSv1_2: 3, TLSv1_3: 4 },
);
export const TlsParameters = message("envoy.extensions.transport_sockets.tls.v3.TlsParameters", {
  tls_minimum_protocol_version: field(1, TlsProtocol),
  tls_maximum_protocol_version: field(2, TlsProtocol),
  cipher_suites: repeated(3, string),
  ecdh_curves: repeated(4, string),
  signature_algorithms: repeated(5, string),
});
export type TlsParameters = Infer<typeof TlsParameters>;

export const TlsCertificate = message("envoy.extensions.transport_sockets.tls.v3.TlsCertificate", {
  certificate_chain: field(1, DataSource),
  private_key: field(2, DataSource),
  watched_directory: field(7, WatchedDirectory),
  ocsp_staple: field(4, DataSource),
});
export type TlsCertificate = Infer<typeof TlsCertificate>;

export const SanType = enumeration(
  "envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher.SanType",
  { SAN_TYPE_UNSPECIFIED: 0, EMAIL: 1, DNS: 2, URI: 3, IP_ADDRESS: 4, OTHER_NAME: 5 },
);
export const SubjectAltNameMatcher = message(
  "envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher",
  {
    san_type: field(1, SanType),
    matcher: field(2, StringMatcher),
  },
);
export type SubjectAltNameMatcher = Infer<typeof SubjectAltNameMatcher>;

export const SystemRootCerts = message(
  "envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext.SystemRootCerts",
  {},
);
export type SystemRootCerts = Infer<typeof SystemRootCerts>;

export const TrustChainVerification = enumeration(
  "envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext.TrustChainVerification",
  { VERIFY_TRUST_CHAIN: 0, ACCEPT_UNTRUSTED: 1 },
);
export const CertificateValidationContext = message(
  "envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext",
  {
    trusted_ca: field(1, DataSource),
    watched_directory: field(11, WatchedDirectory),
    system_root_certs: field(17, SystemRootCerts),
    verify_certificate_spki: repeated(3, string),
    verify_certificate_hash: repeated(2, string),
    match_typed_subject_alt_names: repeated(15, SubjectAltNameMatcher),
    crl: field(7, DataSource),
    trust_chain_verification: field(10, TrustChainVerification),
  },
);
export type CertificateValidationContext = Infer<typeof CertificateValidationContext>;

export const GenericSecret = message("envoy.extensions.transport_sockets.tls.v3.GenericSecret", {
  secret: field(1, DataSource),
});
export type GenericSecret = Infer<typeof GenericSecret>;

export const Secret = message("envoy.extensions.transport_sockets.tls.v3.Secret", {
  name: field(1, string),
  tls_certificate: field(2, TlsCertificate),
  validation_context: field(4, CertificateValidationContext),
  generic_secret: field(5, GenericSecret),
}, { oneofs: [["tls_certificate", "validation_context", "generic_secret"]], memo: true });
export type Secret = Infer<typeof Secret>;

export const CombinedValidationContext = message(
  "envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext",
  {
    default_validation_context: field(1, CertificateValidationContext),
    validation_context_sds_secret_config: field(2, SdsSecretConfig),
  },
);
export type CombinedValidationContext = Infer<typeof CombinedValidationContext>;

export const CommonTlsContext = message("envoy.extensions.transport_sockets.tls.v3.CommonTlsContext", {
  tls_params: field(1, TlsParameters),
  tls_certificates: repeated(2, TlsCertificate),
  tls_certificate_sds_secret_configs: repeated(6, SdsSecretConfig),
  validation_context: field(3, CertificateValidationContext),
  validation_context_sds_secret_config: field(7, SdsSecretConfig),
  combined_validation_context: field(8, CombinedValidationContext),
  alpn_protocols: repeated(4, string),
}, {
  oneofs: [["validation_context", "validation_context_sds_secret_config", "combined_validation_context"]],
});
export type CommonTlsContext = Infer<typeof CommonTlsContext>;

export const UpstreamTlsContext = message("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", {
  common_tls_context: field(1, CommonTlsContext),
  sni: field(2, string),
  auto_host_sni: field(6, bool),
  auto_sni_san_validation: field(7, bool),
});
export type UpstreamTlsContext = Infer<typeof UpstreamTlsContext>;

export const DownstreamTlsContext = message(
  "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
  {
    common_tls_context: field(1, CommonTlsContext),
    require_client_certificate: field(2, BoolValue),
  },
);
export type DownstreamTlsContext = Infer<typeof DownstreamTlsContext>;

export const TransportSocket = message("envoy.config.core.v3.TransportSocket", {
  name: field(1, string),
  typed_config: field(3, anyOf(UpstreamTlsContext, DownstreamTlsContext)),
});
export type TransportSocket = Infer<typeof TransportSocket>;
