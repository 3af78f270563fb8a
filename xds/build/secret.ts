/**
 * Secrets, which proxies are given by SDS so that a renewed certificate changes nothing else.
 *
 * @module
 */
import type { Secret } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/tls.ts";

export function buildSecret(secret: Secret): envoy.Secret {
  const { name } = secret;
  switch (secret.kind) {
    case "certificate":
      return {
        name,
        tls_certificate: {
          certificate_chain: { inline_string: secret.chain },
          private_key: { inline_string: secret.key },
        },
      };
    case "authorities":
      return { name, validation_context: { trusted_ca: { inline_string: secret.certificates } } };
  }
}
