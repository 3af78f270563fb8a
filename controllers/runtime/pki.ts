/**
 * Certificates made by ourselves: an authority and the leaves that it signs.
 *
 * @module
 */
import { X509Certificate } from "node:crypto";
import type { JsonGeneralNames, X509Certificate as Made } from "@peculiar/x509";

/** Read once something is made: it takes a tenth of a second, and most starts find their certificates where they left them. */
async function library(): Promise<typeof import("@peculiar/x509")> {
  await import("reflect-metadata");
  return await import("@peculiar/x509");
}

/** A certificate (PEM) and its private key (PKCS #8, PEM). */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** What a leaf certificate says and is good for. */
export interface Leaf extends Validity {
  readonly commonName: string;
  /** Kubernetes reads these as groups. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly uris?: readonly string[];
  readonly usages: readonly ("server" | "client")[];
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

async function newKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as CryptoKeyPair;
}

async function pem(certificate: Made, keys: CryptoKeyPair): Promise<KeyPair> {
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificate: certificate.toString("pem") + "\n",
    key: (await library()).PemConverter.encode(key, "PRIVATE KEY") + "\n",
  };
}

/** Makes a self-signed certificate authority. */
export async function createAuthority(options: Validity & { readonly commonName: string }): Promise<KeyPair> {
  const x509 = await library(), keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [options.commonName] }],
    keys,
    signingAlgorithm: algorithm,
    notBefore: options.notBefore,
    notAfter: options.notAfter,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pem(certificate, keys);
}

/** Makes a key and a certificate for it, signed by `authority`. */
export async function issue(authority: KeyPair, leaf: Leaf): Promise<KeyPair> {
  const x509 = await library();
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await crypto.subtle.importKey(
    "pkcs8",
    x509.PemConverter.decodeFirst(authority.key),
    algorithm,
    false,
    ["sign"],
  );
  const keys = await newKeys();
  const names: JsonGeneralNames = [
    ...(leaf.dnsNames ?? []).map((value) => ({ type: "dns", value }) as const),
    ...(leaf.ipAddresses ?? []).map((value) => ({ type: "ip", value }) as const),
    ...(leaf.uris ?? []).map((value) => ({ type: "url", value }) as const),
  ];
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [
      ...(leaf.organizations ?? []).map((organization) => ({ O: [organization] })),
      { CN: [leaf.commonName] },
    ],
    issuer: issuer.subjectName.toJSON(),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    notBefore: leaf.notBefore,
    notAfter: leaf.notAfter,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(
        leaf.usages.map((usage) => usage === "server" ? serverAuth : clientAuth),
      ),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return pem(certificate, keys);
}

/** From when until when a certificate is good. Throws if the text is not a certificate. */
export function validityOf(certificate: string): Validity {
  try {
    const { validFrom, validTo } = new X509Certificate(certificate);
    return { notBefore: new Date(validFrom), notAfter: new Date(validTo) };
  } catch (cause) {
    throw new Error("Cannot read the certificate: it is not PEM of X.509", { cause });
  }
}

/** When to replace a certificate: after two thirds of its life, so that there is time left for what may go wrong. */
export function renewalTime({ notBefore, notAfter }: Validity): Date {
  return new Date(notBefore.getTime() + (notAfter.getTime() - notBefore.getTime()) * 2 / 3);
}
