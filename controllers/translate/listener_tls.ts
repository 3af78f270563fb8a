/**
 * From a listener's references to the certificates that it shows.
 *
 * @module
 */
import type { ReferenceGrant } from "../../crds/mod.ts";
import type { Origin } from "../ir/mod.ts";
import type { Group, Read, Table } from "../runtime/graph.ts";
import { type AuthorityFacts, resolveAuthorities } from "./authorities.ts";
import { type Certificate, type Unusable, validityProblem } from "./certificates.ts";
import type { Fault } from "./conditions.ts";
import { type ClientValidation, gatewayGroup, type Listener, type ObjectRef } from "./listeners.ts";
import { granted } from "./grants.ts";
import { namespaceOf, splitOrigin } from "./keys.ts";

/**
 * What there is to know about a Secret without looking at what it keeps: this stays the same when a certificate is
 * renewed. Row key: `namespace/name`.
 */
export interface CertificateFacts {
  /** Why it cannot be served. */
  readonly problem?: string;
  /** Why clients will not trust it, though it is served: the clock that says so may be the one that is wrong. */
  readonly invalid?: string;
  readonly dnsNames: readonly string[];
}

export function factsOf(
  certificate: Certificate | Unusable,
  now: number | undefined,
): CertificateFacts {
  if ("problem" in certificate) return { problem: certificate.problem, dnsNames: [] };
  const invalid = now === undefined ? undefined : validityProblem(certificate, now);
  return { ...invalid !== undefined && { invalid }, dnsNames: certificate.dnsNames };
}

/** The certificates of a listener at whose port TLS ends. */
export interface ListenerTls {
  /** Names of those that can be served, in the order of the references. */
  readonly certificates: readonly string[];
  /** The names that they are for. */
  readonly dnsNames: readonly string[];
  /** What is asked of clients. */
  readonly clients?: { readonly authorities: string; readonly required: boolean };
  /** What is wrong with the references. */
  readonly faults: readonly Fault[];
  /** Why the listener cannot be accepted: it would let in clients that it must not. */
  readonly refused?: Fault;
}

export interface TlsTables {
  /** Of the Secrets that Gateways and ListenerSets refer to. */
  readonly certificates: Table<CertificateFacts>;
  /** Of the ConfigMaps that Gateways refer to. */
  readonly authorities: Table<AuthorityFacts>;
  /** ReferenceGrants by their namespace. */
  readonly grants: Table<Group<ReferenceGrant>>;
}

/** Whom a reference to a certificate is made by. */
export interface Referrer {
  readonly kind: "Gateway" | "ListenerSet";
  readonly namespace: string;
}

/** Whom a reference in the object with this origin is made by. */
export function referrerOf(owner: Origin): Referrer {
  const [kind, key] = splitOrigin(owner);
  return { kind: kind === "ListenerSet" ? kind : "Gateway", namespace: namespaceOf(key) };
}

/**
 * Resolves what a listener refers to; `undefined` if TLS does not end there. Its owner refers to certificates, the
 * Gateway to the authorities of clients: what is granted to one is not granted to the other.
 */
export function resolveListenerTls(
  { certificates: refs, clients, owner }: Listener,
  gateway: Referrer,
  read: Read,
  tables: TlsTables,
): ListenerTls | undefined {
  if (refs === undefined) return undefined;
  const from = referrerOf(owner);
  const certificates = new Set<string>(), dnsNames = new Set<string>();
  const faults: Fault[] = [];
  if (refs.length === 0) {
    faults.push({ reason: "InvalidCertificateRef", message: "tls.certificateRefs is empty, name a Secret" });
  }
  for (const [i, ref] of refs.entries()) {
    const where = `tls.certificateRefs[${i}]`;
    const facts = resolveCertificate(ref, from, read, tables);
    if ("reason" in facts) {
      faults.push({ reason: facts.reason, message: `${where}: ${facts.message}` });
      continue;
    }
    const key = `${ref.namespace}/${ref.name}`;
    certificates.add(key);
    for (const name of facts.dnsNames) dnsNames.add(name);
    if (facts.invalid !== undefined) {
      faults.push({
        reason: "InvalidCertificateRef",
        message: `${where}: Secret "${key}": ${facts.invalid}; it is served all the same`,
      });
    }
  }
  const asked = clients && resolveClients(clients, gateway, read, tables);
  return {
    certificates: [...certificates],
    dnsNames: [...dnsNames].sort(),
    ...asked?.clients && { clients: asked.clients },
    faults: [...faults, ...asked?.faults ?? []],
    ...asked?.refused && { refused: asked.refused },
  };
}

function resolveClients(
  { authorities, required }: ClientValidation,
  from: Referrer,
  read: Read,
  tables: TlsTables,
): Pick<ListenerTls, "clients" | "faults" | "refused"> {
  const { name, faults } = resolveAuthorities(
    authorities,
    "spec.tls.frontend: caCertificateRefs",
    { invalid: "InvalidCACertificateRef", kind: "InvalidCACertificateKind" },
    { permitted: (ref) => isPermitted(ref, from, read, tables), pinned: false },
    read,
    tables.authorities,
  );
  if (name !== undefined) return { clients: { authorities: name, required }, faults };
  const message = faults.map(({ message }) => message).join("; ");
  return { faults, refused: { reason: "NoValidCACertificate", message } };
}

/** Whether an object may be referred to: it is in the same namespace, or its own grants it. */
function isPermitted(
  { group, kind, namespace, name }: ObjectRef,
  from: Referrer,
  read: Read,
  { grants }: TlsTables,
): boolean {
  return namespace === from.namespace ||
    granted({ from: { group: gatewayGroup, ...from }, to: { group, kind, name } }, read(grants, namespace));
}

/** What a reference leads to. Whether a Secret exists, and what is in it, is told only to those who may refer to it. */
export function resolveCertificate(
  ref: ObjectRef,
  from: Referrer,
  read: Read,
  tables: TlsTables,
  invalid = "InvalidCertificateRef",
): CertificateFacts | Fault {
  const { group, kind, namespace, name } = ref;
  const title = `Cannot use Secret "${namespace}/${name}"`;
  if (group !== "" || kind !== "Secret") {
    const full = group === "" ? kind : `${group}/${kind}`;
    return {
      reason: invalid,
      message: `Cannot use ${full} "${namespace}/${name}": this kind is not supported, use a Secret`,
    };
  }
  if (!isPermitted(ref, from, read, tables)) {
    const message = `${title}: no ReferenceGrant in namespace "${namespace}" allows ${from.kind} ` +
      `of namespace "${from.namespace}" to refer to this Secret`;
    return { reason: "RefNotPermitted", message };
  }
  const facts = read(tables.certificates, `${namespace}/${name}`);
  if (facts === undefined) return { reason: invalid, message: `${title}: secret not found` };
  if (facts.problem !== undefined) return { reason: invalid, message: `${title}: ${facts.problem}` };
  return facts;
}

/** The Secret with the certificate that a Gateway shows to backends, or why there is none. */
export function resolveClientCertificate(
  ref: ObjectRef,
  from: Referrer,
  read: Read,
  tables: TlsTables,
): string | Fault {
  const facts = resolveCertificate(ref, from, read, tables, "InvalidClientCertificateRef");
  if (!("reason" in facts)) return `${ref.namespace}/${ref.name}`;
  return { reason: facts.reason, message: `spec.tls.backend.clientCertificateRef: ${facts.message}` };
}
