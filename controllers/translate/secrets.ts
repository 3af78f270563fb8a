/**
 * Wires the tables of Secrets: only those that somebody refers to are ever looked at, and what they keep goes straight
 * to the proxies, past everything that depends on listeners and routes.
 *
 * @module
 */
import type { ClusterUse, Contribution, Ir, Secret as IrSecret } from "../ir/mod.ts";
import type { Graph, Key, Read, Table } from "../runtime/graph.ts";
import {
  type AuthorityTables,
  bundleOf,
  configMapsIn,
  configMapsOf,
  deriveAuthorities,
} from "./authorities.ts";
import { type Certificate, readCertificate, takeCertificate, type Unusable } from "./certificates.ts";
import type { AnyCluster, GatewayCluster } from "./clusters.ts";
import { bug } from "./conditions.ts";
import type { Config } from "./config.ts";
import type { GatewayState, ListenerState } from "./gateway_state.ts";
import { split, within } from "./keys.ts";
import { type CertificateFacts, factsOf } from "./listener_tls.ts";
import type { Listener, ObjectRef } from "./listeners.ts";
import { type Listening, meantListeners, secretOrigin } from "./listening.ts";
import { authoritiesOf } from "./placements.ts";
import type { World } from "./world.ts";

/** What Gateways, ListenerSets and policies refer to. Row key of all: `namespace/name`. */
export interface SecretTables extends AuthorityTables {
  readonly certificates: Table<Certificate | Unusable>;
  readonly certificateFacts: Table<CertificateFacts>;
}

/** A Gateway or a ListenerSet, as far as it refers to Secrets and ConfigMaps. */
export interface ListenerOwner {
  readonly listeners: readonly Listener[];
  readonly clientCertificate?: ObjectRef;
}

export function readSecrets(
  graph: Graph,
  { objects, time }: World,
  owners: Table<ListenerOwner>,
  { validate }: Config,
): SecretTables {
  const references = graph.derive("references of listeners", owners, ({ listeners, clientCertificate }) => {
    const refs = listeners.flatMap(({ certificates }) => certificates ?? []);
    const secrets = [...refs, ...clientCertificate ? [clientCertificate] : []]
      .filter(({ group, kind }) => group === "" && kind === "Secret");
    return {
      secrets: [...new Set(secrets.map(({ namespace, name }) => `${namespace}/${name}`))],
      configMaps: configMapsIn(listeners.flatMap(({ clients }) => clients?.authorities ?? [])),
    };
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
  const certificateFacts = graph.derive(
    "certificate facts",
    certificates,
    (certificate, read) => factsOf(certificate, read(time, "now")),
  );
  const ofPolicies = graph.derive(
    "references of policies",
    objects.BackendTLSPolicy,
    ({ metadata, spec }) => ({
      configMaps: configMapsIn(
        (spec.validation.caCertificateRefs ?? []).map(({ group = "", kind = "ConfigMap", name }) => ({
          group,
          kind,
          namespace: metadata.namespace ?? "",
          name,
        })),
      ),
    }),
  );
  const all = graph.union<{ readonly configMaps: readonly Key[] }>("references to ConfigMaps", [
    ["listeners ", references],
    ["policies ", ofPolicies],
  ]);
  return { certificates, certificateFacts, ...deriveAuthorities(graph, objects.ConfigMap, all) };
}

/** What is behind the name of a secret: a certificate with its key, or authorities. */
function secretNamed(name: string, read: Read, tables: SecretTables): IrSecret | undefined {
  const configMaps = configMapsOf(name);
  if (configMaps !== undefined) {
    const bundle = bundleOf(configMaps, read, tables);
    return bundle && { name, kind: "authorities", certificates: bundle.certificates };
  }
  const certificate = read(tables.certificates, name);
  if (certificate === undefined || "problem" in certificate) return undefined;
  return { name, kind: "certificate", chain: certificate.chain, key: certificate.key };
}

/** What tells one state of a secret from another without showing it. */
export function secretContent(name: string, read: Read, tables: SecretTables): unknown {
  const configMaps = configMapsOf(name);
  const found = configMaps ? bundleOf(configMaps, read, tables) : read(tables.certificates, name);
  return found && "fingerprint" in found ? { fingerprint: found.fingerprint } : undefined;
}

/** Derives what is served of Secrets and ConfigMaps, and by whom. */
export function deriveSecrets(
  graph: Graph,
  tables: SecretTables,
  { listening, used, clusterUses }: {
    readonly listening: Table<Listening>;
    readonly used: Table<GatewayCluster<AnyCluster>>;
    readonly clusterUses: Table<ClusterUse>;
  },
): Pick<Ir, "secrets" | "secretUses"> {
  const needs = graph.union<{ readonly keys: readonly Key[] }>("used secrets", [
    [
      "listeners ",
      graph.derive("secrets of listeners", listening, ({ served }, _, gateway) => ({
        keys: keysOf(gateway, [...served.values()].flatMap(secretsOf)),
      })),
    ],
    [
      "clusters ",
      graph.derive("secrets of clusters", used, ({ gateway, cluster }) => {
        const secret = authoritiesOf(cluster.tls);
        return { keys: secret === undefined ? [] : keysOf(gateway, [secret]) };
      }),
    ],
    [
      "clients ",
      graph.derive("secrets of clients", clusterUses, ({ gateway, clientCertificate }) => ({
        keys: clientCertificate === undefined ? [] : keysOf(gateway, [clientCertificate]),
      })),
    ],
  ]);
  const byUse = graph.index("secrets in use", needs, ({ keys }) => keys);
  const secretUses = graph.derive("ir.secretUses", byUse, (_, _read, key) => {
    const [gateway, secret] = split(key);
    return { gateway, secret };
  });
  const byName = graph.index("uses by secret", secretUses, ({ secret }) => [secret]);
  const secrets = graph.derive("ir.secrets", byName, (_, read, name) => secretNamed(name, read, tables));
  return { secrets, secretUses };
}

/**
 * What Secrets mean to put into the proxies of each Gateway. A Secret has no generation, and is not shown. Authorities are
 * a part of what is told because of listeners and backends, which must not be served without.
 */
export function secretContributions(
  graph: Graph,
  tables: SecretTables,
  states: Table<GatewayState>,
): Table<Contribution> {
  const needs = graph.derive("meant secrets", states, (state, _, gateway) => {
    const { clientCertificate: shown } = state;
    const names = [...state.owners.values()].flatMap(meantListeners).flatMap(({ tls }) =>
      tls?.certificates ?? []
    );
    return { keys: keysOf(gateway, typeof shown === "string" ? [...names, shown] : names) };
  });
  const byUse = graph.index("meant secrets in use", needs, ({ keys }) => keys);
  return graph.derive("contributions of secrets", byUse, (_, read, key): Contribution => {
    const [gateway, secret] = split(key);
    const origin = secretOrigin(secret);
    const content = secretContent(secret, read, tables);
    return {
      gateway,
      origin,
      generation: 0,
      pieces: [{ id: origin, content, resources: [`secret:${secret}`] }],
    };
  });
}

function secretsOf({ tls }: ListenerState): readonly string[] {
  return tls ? [...tls.certificates, ...tls.clients ? [tls.clients.authorities] : []] : [];
}

function keysOf(gateway: string, names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => within(gateway, name)))];
}
