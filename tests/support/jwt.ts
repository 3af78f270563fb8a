/**
 * Tokens of ServiceAccounts, good ones and others.
 *
 * @module
 */

const algorithms = {
  RS256: {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  ES384: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
} as const;

export type Algorithm = keyof typeof algorithms;

/** Somebody who makes tokens. */
export interface Issuer {
  /** The JSON Web Key Set. */
  readonly set: unknown;
  sign(claims: unknown, header?: { readonly [name: string]: unknown }): Promise<string>;
}

export async function issuerOf(algorithm: Algorithm = "RS256", kid = "key-1"): Promise<Issuer> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithms[algorithm], true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const { kty, n, e, crv, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
  return {
    set: JSON.parse(JSON.stringify({ keys: [{ kty, n, e, crv, x, y, kid, alg: algorithm, use: "sig" }] })),
    async sign(claims, header = {}) {
      const signed = [{ alg: algorithm, kid, ...header }, claims].map((part) => base64(JSON.stringify(part)))
        .join(".");
      const bytes = new TextEncoder().encode(signed);
      const signature = await crypto.subtle.sign(algorithms[algorithm], privateKey, bytes);
      return `${signed}.${base64(new Uint8Array(signature))}`;
    },
  };
}

export function base64(content: string | Uint8Array): string {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Claims of the token of a proxy's pod, as an API server makes them. `now` is in milliseconds since 1970. */
export function claimsOf(now: number, more: { readonly [claim: string]: unknown } = {}) {
  const seconds = Math.floor(now / 1000);
  return {
    aud: ["gatehouse.dev/xds"],
    exp: seconds + 3600,
    iat: seconds,
    iss: "https://kubernetes.default.svc.cluster.local",
    jti: "5a9b1c8e",
    "kubernetes.io": {
      namespace: "shop",
      node: { name: "node-1", uid: "uid-node" },
      pod: { name: "web-1", uid: "uid-pod" },
      serviceaccount: { name: "web-gatehouse", uid: "uid-account" },
    },
    nbf: seconds,
    sub: "system:serviceaccount:shop:web-gatehouse",
    ...more,
  };
}
