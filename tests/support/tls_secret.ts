/**
 * Secrets with certificates, as people write them.
 *
 * @module
 */
import type { KeyPair } from "../../controllers/runtime/pki.ts";
import type { Draft } from "../../kube/types.ts";

export function tlsSecret(namespace: string, name: string, { certificate, key }: KeyPair) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name },
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa(certificate), "tls.key": btoa(key) },
  } satisfies Draft;
}
