/**
 * The data directory: the database, the certificates and the kubeconfig.
 *
 * @module
 */
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Clock } from "../../controllers/runtime/clock.ts";
import { createAuthority, issue, type KeyPair, type Leaf } from "../../controllers/runtime/pki.ts";
import { DataError } from "./database.ts";

export interface Certificates {
  readonly authority: KeyPair;
  readonly server: KeyPair;
  /** A client of the group `system:masters`. */
  readonly admin: KeyPair;
}

const day = 24 * 60 * 60_000;

/**
 * Reads the certificates of a data directory, or makes them; those that end within 30 days are made anew.
 *
 * @throws {DataError} if there is something else in their place
 */
export async function certificates(directory: string, clock: Clock): Promise<Certificates> {
  const folder = join(directory, "pki");
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const validity = (days: number) => ({
    notBefore: new Date(clock.now().getTime() - day), // clocks of clients may be slow
    notAfter: new Date(clock.now().getTime() + days * day),
  });
  const authority = await kept(
    folder,
    "ca",
    clock,
    () => createAuthority({ commonName: "gatehouse-apiserver", ...validity(3650) }),
  );
  const leaf = async (name: string, what: Omit<Leaf, "notBefore" | "notAfter">) =>
    await kept(
      folder,
      name,
      clock,
      () => issue(authority.pair, { ...what, ...validity(365) }),
      authority.made,
    );
  const server = await leaf("server", {
    commonName: "gatehouse-apiserver",
    dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
    ipAddresses: ["127.0.0.1", "::1"],
    usages: ["server"],
  });
  const admin = await leaf("admin", {
    commonName: "gatehouse-admin",
    organizations: ["system:masters"],
    usages: ["client"],
  });
  return { authority: authority.pair, server: server.pair, admin: admin.pair };
}

async function kept(
  folder: string,
  name: string,
  clock: Clock,
  make: () => Promise<KeyPair>,
  anew = false,
): Promise<{ readonly pair: KeyPair; readonly made: boolean }> {
  const path = join(folder, `${name}.pem`);
  if (!anew) {
    const text = await readIfThere(path);
    if (text !== undefined) {
      const pair = split(path, text);
      if (expires(path, pair) - clock.now().getTime() > 30 * day) return { pair, made: false };
    }
  }
  const pair = await make();
  await writePrivate(path, pair.certificate + pair.key);
  return { pair, made: true };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function split(path: string, text: string): KeyPair {
  const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/.exec(text)?.[0];
  const key = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/.exec(text)?.[0];
  if (certificate && key) return { certificate, key };
  throw unreadable(path);
}

function unreadable(path: string, cause?: unknown): DataError {
  return new DataError(
    `Cannot read certificate "${path}": it holds no certificate and key; delete it, and a new one is made at the next start`,
    { cause },
  );
}

function expires(path: string, pair: KeyPair): number {
  try {
    return Date.parse(new X509Certificate(pair.certificate).validTo);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Writes a file that only its owner may read, as a whole or not at all. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await Deno.writeTextFile(temporary, text, { mode: 0o600 });
  await Deno.chmod(temporary, 0o600);
  await Deno.rename(temporary, path);
}

/** A kubeconfig with everything in it, for one client. */
export function kubeconfig(url: string, authority: KeyPair, client: KeyPair): string {
  const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
  const name = "gatehouse";
  return stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      "current-context": name,
      clusters: [{
        name,
        cluster: { server: url, "certificate-authority-data": base64(authority.certificate) },
      }],
      users: [{
        name: `${name}-admin`,
        user: {
          "client-certificate-data": base64(client.certificate),
          "client-key-data": base64(client.key),
        },
      }],
      contexts: [{ name, context: { cluster: name, user: `${name}-admin`, namespace: "default" } }],
    },
    { lineWidth: 0 },
  );
}
