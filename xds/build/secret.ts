/**
 * Secrets, which proxies are given by SDS so that a renewed certificate changes nothing else.
 *
 * @module
 */
import type { Secret } from "../../controllers/ir/mod.ts";
import type * as envoy from "../wire/envoy/tls.ts";

export function buildSecret({ name, chain, key }: Secret): envoy.Secret {
  return {
    name,
    tls_certificate: { certificate_chain: { inline_string: chain }, private_key: { inline_string: key } },
  };
}
