/**
 * Wires the tables of Secrets: only those that somebody refers to are ever looked at, and what they keep goes straight
 * to the proxies, past everything that depends on listeners and routes.
 *
 * @module
 */
import type { Contribution, Ir, Secret as IrSecret } from "../ir/mod.ts";
import type { Graph, Table } from "../runtime/graph.ts";
import { type Certificate, readCertificate, takeCertificate, type Unusable } from "./certificates.ts";
import { bug } from "./conditions.ts";
import type { Config } from "./config.ts";
import type { GatewayModel } from "./gateways.ts";
import { split, within } from "./keys.ts";
import { type CertificateFacts, factsOf } from "./listener_tls.ts";
import { type GatewayState, type Listening, meantListeners, secretOrigin } from "./ports.ts";
import type { World } from "./world.ts";

/** The Secrets that Gateways refer to. Row key of both: `namespace/name`. */
export interface SecretTables {
  readonly certificates: Table<Certificate | Unusable>;
  readonly facts: Table<CertificateFacts>;
}

export function deriveCertificates(
  graph: Graph,
  { objects, time }: World,
  gateways: Table<GatewayModel>,
  { validate }: Config,
): SecretTables {
  const references = graph.derive("secret references", gateways, ({ listeners }) => {
    const refs = listeners.flatMap(({ certificates }) => certificates ?? []);
    const secrets = refs.filter(({ group, kind }) => group === "" && kind === "Secret");
    return { secrets: [...new Set(secrets.map(({ namespace, name }) => `${namespace}/${name}`))] };
  });
  const bySecret = graph.index("references by secret", references, ({ secrets }) => secrets);
  const certificates = graph.derive(
    "certificates",
    bySecret,
    (_, read, key): Certificate | Unusable | undefined => {
      const secret = read(objects.Secret, key);
      return secret && (validate ? readCertificate(secret) : takeCertificate(secret));
    },
    { failed: (error) => ({ problem: bug("read it", error).message }) },
  );
  const facts = graph.derive(
    "certificate facts",
    certificates,
    (certificate, read) => factsOf(certificate, read(time, "now")),
  );
  return { certificates, facts };
}

/** Derives what is served of Secrets, and by whom. */
export function deriveSecrets(
  graph: Graph,
  { certificates }: SecretTables,
  listening: Table<Listening>,
): Pick<Ir, "secrets" | "secretUses"> {
  const needs = graph.derive("used secrets", listening, ({ served }, _, gateway) => ({
    keys: keysOf(gateway, served),
  }));
  const byUse = graph.index("secrets in use", needs, ({ keys }) => keys);
  const secretUses = graph.derive("ir.secretUses", byUse, (_, _read, key) => {
    const [gateway, secret] = split(key);
    return { gateway, secret };
  });
  const byName = graph.index("uses by secret", secretUses, ({ secret }) => [secret]);
  const secrets = graph.derive("ir.secrets", byName, (_, read, name): IrSecret | undefined => {
    const certificate = read(certificates, name);
    if (certificate === undefined || "problem" in certificate) return undefined;
    return { name, kind: "certificate", chain: certificate.chain, key: certificate.key };
  });
  return { secrets, secretUses };
}

/** What Secrets mean to put into the proxies of each Gateway. A Secret has no generation, and is not shown. */
export function secretContributions(
  graph: Graph,
  { certificates }: SecretTables,
  states: Table<GatewayState>,
): Table<Contribution> {
  const needs = graph.derive("meant secrets", states, (state, _, gateway) => ({
    keys: keysOf(gateway, meantListeners(state)),
  }));
  const byUse = graph.index("meant secrets in use", needs, ({ keys }) => keys);
  return graph.derive("contributions of secrets", byUse, (_, read, key): Contribution => {
    const [gateway, secret] = split(key);
    const origin = secretOrigin(secret);
    const content = secretContent(read(certificates, secret));
    return {
      gateway,
      origin,
      generation: 0,
      pieces: [{ id: origin, content, resources: [`secret:${secret}`] }],
    };
  });
}

/** What tells one state of a Secret from another without showing it. */
export function secretContent(certificate: Certificate | Unusable | undefined): unknown {
  return certificate && "fingerprint" in certificate ? { fingerprint: certificate.fingerprint } : undefined;
}

function keysOf(gateway: string, listeners: Listening["served"]): readonly string[] {
  const names = listeners.flatMap(({ tls }) => tls?.certificates ?? []);
  return [...new Set(names.map((name) => within(gateway, name)))];
}
