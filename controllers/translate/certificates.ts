/**
 * What a Secret or a ConfigMap holds: certificates with their keys, and authorities; checked for all that proxies would
 * refuse, since a listener waits for its certificates in vain otherwise.
 *
 * No message quotes the data, which may be a private key.
 *
 * @module
 */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { ConfigMap, Secret } from "../../crds/mod.ts";
import { pemBlocks, textOf } from "./pem.ts";

/** A certificate that can be served. */
export interface Certificate {
  /** PEM: the certificate itself, then those that lead to its authority. */
  readonly chain: string;
  /** PEM. */
  readonly key: string;
  /** Stands for chain and key where these must not be shown. */
  readonly fingerprint: string;
  /** DNS names, wildcards included. */
  readonly dnsNames: readonly string[];
  /** From when until when it is valid, in milliseconds since 1970. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Why there is nothing to serve; completes "Cannot use …: ". */
export interface Unusable {
  readonly problem: string;
}

/** Takes a Secret as it is, for tests of what happens when proxies refuse it. */
export function takeCertificate({ data = {} }: Secret): Certificate {
  const chain = textOf(data["tls.crt"] ?? "") ?? "", key = textOf(data["tls.key"] ?? "") ?? "";
  return {
    chain,
    key,
    fingerprint: fingerprintOf(chain, key),
    dnsNames: [],
    notBefore: 0,
    notAfter: Infinity,
  };
}

/** In how many certificates that of a key is looked for, to say where it is: a Secret has room for thousands, each of which takes its time. */
const longestChain = 16;

/** Reads a Secret of type `kubernetes.io/tls`. */
export function readCertificate({ type, data = {} }: Secret): Certificate | Unusable {
  if (type !== "kubernetes.io/tls") {
    return { problem: `its type is "${type}", it has to be "kubernetes.io/tls"` };
  }
  const chain = certificatesIn(decoded(data["tls.crt"], "tls.crt"), "tls.crt");
  if ("problem" in chain) return chain;
  const key = keyIn(decoded(data["tls.key"], "tls.key"));
  if ("problem" in key) return key;
  const [leaf] = chain.certificates;
  if (!leaf!.checkPrivateKey(key.key)) {
    const at = chain.certificates.slice(0, longestChain).findIndex((one) => one.checkPrivateKey(key.key));
    return {
      problem: at < 0
        ? "the key in tls.key is not that of the certificate in tls.crt"
        : `tls.crt is in the wrong order: the certificate of the key in tls.key is number ${at + 1}, ` +
          "it has to come first",
    };
  }
  return {
    chain: chain.text,
    key: key.text,
    fingerprint: fingerprintOf(chain.text, key.text),
    dnsNames: dnsNamesOf(leaf!),
    notBefore: Date.parse(leaf!.validFrom),
    notAfter: Date.parse(leaf!.validTo),
  };
}

/** Certificates of authorities to trust. */
export interface Authorities {
  /** PEM. */
  readonly certificates: string;
  readonly fingerprint: string;
}

/** Reads the authorities of a ConfigMap, which Gateway API wants under the key `ca.crt`. */
export function readAuthorities({ data = {} }: ConfigMap): Authorities | Unusable {
  const found = certificatesIn(present(data["ca.crt"], "ca.crt"), "ca.crt");
  if ("problem" in found) return found;
  return {
    certificates: found.text,
    fingerprint: fingerprintOf(found.text),
  };
}

function fingerprintOf(...texts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(text);
  return hash.digest("base64url");
}

interface Chain {
  readonly text: string;
  readonly certificates: readonly X509Certificate[];
}

function certificatesIn(text: string | Unusable, field: string): Chain | Unusable {
  if (typeof text !== "string") return text;
  const blocks = pemBlocks(text).filter(({ label }) => label === "CERTIFICATE");
  if (blocks.length === 0) return { problem: `${field} holds no certificate in PEM` };
  const certificates: X509Certificate[] = [];
  for (const [i, block] of blocks.entries()) {
    try {
      certificates.push(new X509Certificate(block.text));
    } catch {
      return { problem: `certificate number ${i + 1} in ${field} cannot be read` };
    }
  }
  return { text: blocks.map(({ text }) => text).join(""), certificates };
}

interface Key {
  readonly text: string;
  readonly key: KeyObject;
}

/** A key in PEM; what other blocks there are, such as the parameters that OpenSSL puts in front, is left out. */
function keyIn(text: string | Unusable): Key | Unusable {
  if (typeof text !== "string") return text;
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text)) {
    return { problem: "the key in tls.key is encrypted, decrypt it" };
  }
  const block = pemBlocks(text).find(({ label }) => label.endsWith("PRIVATE KEY"));
  if (block === undefined) return { problem: "tls.key holds no private key in PEM" };
  try {
    const key = createPrivateKey(block.text);
    const problem = keyProblem(key);
    return problem === undefined ? { text: block.text, key } : { problem };
  } catch {
    return { problem: "the private key in tls.key cannot be read" };
  }
}

const curves = ["prime256v1", "secp384r1", "secp521r1"];

/** What proxies do not take. */
function keyProblem(
  { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject,
): string | undefined {
  switch (type) {
    case "rsa": {
      const bits = details?.modulusLength ?? 0;
      return bits >= 2048 ? undefined : `its RSA key has ${bits} bits, at least 2048 are needed`;
    }
    case "ec": {
      const curve = details?.namedCurve ?? "";
      return curves.includes(curve)
        ? undefined
        : `its key is on the curve ${curve || "of explicit parameters"}, use P-256, P-384 or P-521`;
    }
    case "ed25519":
      return undefined;
    default:
      return `its key is of type ${type ?? "unknown"}, use RSA, ECDSA or Ed25519`;
  }
}

/** A value of a Secret, as text. */
function decoded(value: string | undefined, field: string): string | Unusable {
  if (value === undefined) return present(value, field);
  return present(textOf(value), field, "is not base64");
}

function present(text: string | undefined, field: string, otherwise = "is missing"): string | Unusable {
  if (text === undefined) return { problem: `${field} ${otherwise}` };
  return text.trim() === "" ? { problem: `${field} is empty` } : text;
}

function dnsNamesOf({ subjectAltName }: X509Certificate): readonly string[] {
  return (subjectAltName ?? "").split(", ").flatMap((name) =>
    name.startsWith("DNS:") ? [name.slice("DNS:".length).toLowerCase()] : []
  );
}

/** How often the time is told, in milliseconds: it may be that much later by now. */
export const timeStep = 60_000;

/**
 * Why a certificate is not valid, whatever the moment between `now`, in milliseconds since 1970, and when the time is told
 * again: one that has just been issued is not taken for one of the future.
 */
export function validityProblem({ notBefore, notAfter }: Certificate, now: number): string | undefined {
  if (now > notAfter) return `it expired on ${day(notAfter)}, renew it`;
  if (now + timeStep < notBefore) return `it is not valid before ${day(notBefore)}`;
  return undefined;
}

function day(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}
