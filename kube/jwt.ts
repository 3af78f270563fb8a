/**
 * JSON Web Tokens as API servers make them for ServiceAccounts: what they say, and whether it is true.
 *
 * RFC 7515 (the form), RFC 7517 (keys), RFC 7518 (algorithms), RFC 7519 (claims).
 *
 * @module
 */
import { z } from "zod";

/** A token that can be read. That it is true has yet to be shown. */
export interface Jwt {
  readonly algorithm: string;
  /** Names the key that signed it. */
  readonly key: string | undefined;
  readonly claims: Claims;
  /** What is signed. */
  readonly signed: Uint8Array<ArrayBuffer>;
  readonly signature: Uint8Array<ArrayBuffer>;
}

/** In seconds since 1970, so that a Date can have it. */
const time = z.number().min(0).max(8.64e12);
const reference = z.object({ name: z.string(), uid: z.string() });

/** Claims of the token of a ServiceAccount. */
const claims = z.object({
  iss: z.string(),
  aud: z.union([z.string().transform((one) => [one]), z.array(z.string())]),
  exp: time,
  nbf: time.optional(),
  sub: z.string(),
  "kubernetes.io": z.object({
    namespace: z.string(),
    serviceaccount: reference,
    /** The pod that the token is bound to. */
    pod: reference.optional(),
  }),
});

export type Claims = z.infer<typeof claims>;

const header = z.object({ alg: z.string(), kid: z.string().optional() });

/** Reads a token; undefined if it is none of a ServiceAccount. */
export function readJwt(token: string): Jwt | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  const [head, body, signature] = parts as [string, string, string];
  const { data: read } = header.safeParse(decodeJson(head)), { data } = claims.safeParse(decodeJson(body));
  const bytes = decodeBase64Url(signature);
  if (!read || !data || !bytes) return undefined;
  return {
    algorithm: read.alg,
    key: read.kid,
    claims: data,
    signed: new TextEncoder().encode(`${head}.${body}`),
    signature: bytes,
  };
}

function decodeJson(part: string): unknown {
  const bytes = decodeBase64Url(part);
  try {
    return bytes && JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined; // It is no JSON, which is all there is to say.
  }
}

function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch {
    return undefined; // Of no length that base64 has.
  }
}

/** The algorithms that are trusted. What a token says of its own must be that of the key: `none` and HMAC are for forgers. */
const algorithms = {
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  ES384: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
} as const;

interface Key {
  readonly algorithm: keyof typeof algorithms;
  readonly key: CryptoKey;
}

const jwk = z.object({
  kty: z.string(),
  alg: z.string().optional(),
  use: z.string().optional(),
  kid: z.string().optional(),
  n: z.string().optional(),
  e: z.string().optional(),
  crv: z.string().optional(),
  x: z.string().optional(),
  y: z.string().optional(),
});
const jwks = z.object({ keys: z.array(z.unknown()) });

/** The public keys of an issuer, by their names. */
export type Keys = ReadonlyMap<string, Key>;

/** Reads a JSON Web Key Set. Keys that are of no use here are left out; throws if there are no others. */
export async function readKeys(set: unknown): Promise<Keys> {
  const keys = new Map<string, Key>();
  for (const one of jwks.parse(set).keys) {
    const { data } = jwk.safeParse(one);
    const algorithm = data && algorithmOf(data);
    if (!algorithm || data.kid === undefined || data.use === "enc") continue;
    const { kty, n, e, crv, x, y } = data;
    const material = Object.entries({ kty, n, e, crv, x, y }).filter(([, value]) => value !== undefined);
    try {
      const key = await crypto.subtle.importKey(
        "jwk",
        Object.fromEntries(material) as JsonWebKey,
        algorithms[algorithm],
        false,
        ["verify"],
      );
      keys.set(data.kid, { algorithm, key });
    } catch {
      continue; // Others may be better, and that there is one at all is checked below.
    }
  }
  if (keys.size === 0) {
    throw new Error("Cannot use the keys of the API server: none is of RS256, ES256 or ES384");
  }
  return keys;
}

function algorithmOf({ kty, alg, crv }: z.infer<typeof jwk>): Key["algorithm"] | undefined {
  const [only] = kty === "RSA"
    ? ["RS256" as const]
    : kty === "EC" && crv === "P-256"
    ? ["ES256" as const]
    : kty === "EC" && crv === "P-384"
    ? ["ES384" as const]
    : [];
  return alg === undefined || alg === only ? only : undefined;
}

/** Whether the signature is that of one of the keys; undefined if the key is not among them. */
export async function isSigned(token: Jwt, keys: Keys): Promise<boolean | undefined> {
  const found = keys.get(token.key ?? "");
  if (!found) return undefined;
  if (found.algorithm !== token.algorithm) return false;
  return await crypto.subtle.verify(algorithms[found.algorithm], found.key, token.signature, token.signed);
}
