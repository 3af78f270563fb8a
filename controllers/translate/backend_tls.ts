/**
 * BackendTLSPolicy: which policy decides how TLS is spoken with a port of a Service.
 *
 * @module
 */
import type { BackendTLSPolicy } from "../../crds/mod.ts";
import type { BackendTls, SubjectName } from "../ir/mod.ts";
import type { Group, Key, Read, Table } from "../runtime/graph.ts";
import { type AuthorityFacts, resolveAuthorities } from "./authorities.ts";
import type { Fault } from "./conditions.ts";
import { hostnameFault } from "./validate.ts";

/** What a policy is for. */
export interface PolicyTarget {
  /** `namespace/name`. */
  readonly service: Key;
  /** Name of a port; all of them if absent. */
  readonly section?: string;
}

/** A BackendTLSPolicy, without its status and with its references resolved. Row key: `namespace/name`. */
export interface Policy {
  readonly key: Key;
  readonly generation: number;
  /** Creation time, RFC 3339. */
  readonly created: string;
  readonly targets: readonly PolicyTarget[];
  /** How TLS is spoken; absent if connections must fail. */
  readonly tls?: BackendTls;
  /** Why it is not Accepted, wherever it is used. */
  readonly refused?: Fault;
  /** Why references are not resolved. */
  readonly unresolved?: Fault;
}

/** Reads a policy. */
export function modelPolicy(
  { metadata, spec }: BackendTLSPolicy,
  read: Read,
  authorities: Table<AuthorityFacts>,
): Policy {
  const namespace = metadata.namespace ?? "";
  return {
    key: `${namespace}/${metadata.name}`,
    generation: metadata.generation ?? 0,
    created: metadata.creationTimestamp ?? "",
    targets: spec.targetRefs.flatMap(({ group = "", kind, name, sectionName }): PolicyTarget[] =>
      group === "" && kind === "Service"
        ? [{ service: `${namespace}/${name}`, ...sectionName && { section: sectionName } }]
        : []
    ),
    ...validationOf(spec.validation, namespace, read, authorities),
  };
}

function validationOf(
  { hostname, subjectAltNames = [], caCertificateRefs = [], wellKnownCACertificates }:
    BackendTLSPolicy["spec"]["validation"],
  namespace: string,
  read: Read,
  tables: Table<AuthorityFacts>,
): Pick<Policy, "tls" | "refused" | "unresolved"> {
  const problem = hostnameFault(hostname);
  if (problem) return { refused: { reason: "Invalid", message: `validation.hostname: ${problem}` } };
  const names = subjectAltNames.map(({ type, hostname = "", uri = "" }): SubjectName =>
    type === "URI" ? { type: "uri", value: uri } : { type: "dns", value: hostname }
  );
  const tls = {
    sni: hostname,
    names: names.length > 0 ? names : [{ type: "dns", value: hostname } as const],
  };
  if (caCertificateRefs.length === 0) {
    if (wellKnownCACertificates === "System") return { tls: { ...tls, authorities: "system" } };
    const message = `Cannot use wellKnownCACertificates "${wellKnownCACertificates ?? ""}": use "System"`;
    return { refused: { reason: "Invalid", message } };
  }
  const { name, faults } = resolveAuthorities(
    caCertificateRefs.map(({ group = "", kind = "ConfigMap", name }) => ({ group, kind, namespace, name })),
    "validation.caCertificateRefs",
    { invalid: "InvalidCACertificateRef", kind: "InvalidKind" },
    { permitted: () => true, pinned: true },
    read,
    tables,
  );
  const [first] = faults;
  const message = faults.map(({ message }) => message).join("; ");
  return {
    ...name !== undefined && { tls: { ...tls, authorities: { secret: name } } },
    ...first && { unresolved: { reason: first.reason, message } },
    ...name === undefined && { refused: { reason: "NoValidCACertificate", message } },
  };
}

/** The policies for a port of a Service, the one that decides first. */
export function policiesFor(
  service: Key,
  portName: string,
  policies: Group<Policy> | undefined,
): readonly Policy[] {
  const fitting = [...policies?.values() ?? []].flatMap((policy) =>
    policy.targets.flatMap(({ service: target, section }) =>
      target === service && (section === undefined || section === portName) ? [{ policy, section }] : []
    )
  );
  const specific = fitting.filter(({ section }) => section !== undefined);
  return (specific.length > 0 ? specific : fitting).map(({ policy }) => policy).sort(byAge);
}

/** The policies that are for just the same as a target of another. */
export function rivalsFor(target: PolicyTarget, policies: Group<Policy> | undefined): readonly Policy[] {
  return [...policies?.values() ?? []]
    .filter(({ targets }) =>
      targets.some(({ service, section }) => service === target.service && section === target.section)
    )
    .sort(byAge);
}

/** Older ones first, then by namespace and name. */
function byAge(a: Policy, b: Policy): number {
  if (a.created !== b.created) return a.created < b.created ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
