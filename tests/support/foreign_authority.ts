/**
 * Authorities that others have made, with keys that ours never have.
 *
 * @module
 */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import type { KeyPair, Validity } from "../../controllers/runtime/pki.ts";

const algorithms = {
  RSA: {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    publicExponent: new Uint8Array([1, 0, 1]),
    modulusLength: 2048,
  },
  "P-256": { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  "P-384": { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
} as const;

/** Makes a self-signed authority with a key of that kind (PKCS #8). */
export async function foreignAuthority(kind: keyof typeof algorithms, validity: Validity): Promise<KeyPair> {
  const algorithm = algorithms[kind];
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=corporate",
    keys,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificate: `${certificate.toString("pem")}\n`,
    key: `${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`,
  };
}
