/**
 * From references to ConfigMaps to the authorities that are trusted because of them.
 *
 * @module
 */
import type { ConfigMap } from "../../crds/mod.ts";
import type { Graph, Key, Read, Table } from "../runtime/graph.ts";
import { type Authorities, readAuthorities, type Unusable } from "./certificates.ts";
import { bug, type Fault } from "./conditions.ts";
import type { ObjectRef } from "./listeners.ts";

/** What there is to know about a ConfigMap without looking at its certificates. Row key: `namespace/name`. */
export type AuthorityFacts = { readonly problem: string } | { readonly fingerprint: string };

/** The ConfigMaps that somebody refers to. Row key of both: `namespace/name`. */
export interface AuthorityTables {
  readonly authorities: Table<Authorities | Unusable>;
  readonly facts: Table<AuthorityFacts>;
}

/** Reads the ConfigMaps that are referred to, and no others. */
export function deriveAuthorities(
  graph: Graph,
  configMaps: Table<ConfigMap>,
  references: Table<{ readonly configMaps: readonly Key[] }>,
): AuthorityTables {
  const byConfigMap = graph.index("references by ConfigMap", references, ({ configMaps }) => configMaps);
  const authorities = graph.derive(
    "authorities",
    byConfigMap,
    (_, read, key): Authorities | Unusable | undefined => {
      const configMap = read(configMaps, key);
      return configMap && readAuthorities(configMap);
    },
    { failed: (error) => ({ problem: bug("read it", error).message }) },
  );
  const facts = graph.derive(
    "authority facts",
    authorities,
    (row): AuthorityFacts => "problem" in row ? { problem: row.problem } : { fingerprint: row.fingerprint },
  );
  return { authorities, facts };
}

/** The ConfigMaps among references, `namespace/name`. */
export function configMapsIn(refs: readonly ObjectRef[]): readonly Key[] {
  const found = refs.filter(({ group, kind }) => group === "" && kind === "ConfigMap");
  return [...new Set(found.map(({ namespace, name }) => `${namespace}/${name}`))];
}

/**
 * Resolves references to authorities. `name` is that of the secret which holds what all valid ones keep together; absent
 * if there are none. A `pinned` one changes its name with its content, so that whatever names it starts anew: a
 * connection that is kept open would otherwise outlive the trust that it was made with.
 */
export function resolveAuthorities(
  refs: readonly ObjectRef[],
  field: string,
  reasons: { readonly invalid: string; readonly kind: string },
  { permitted, pinned }: { readonly permitted: (ref: ObjectRef) => boolean; readonly pinned: boolean },
  read: Read,
  facts: Table<AuthorityFacts>,
): { readonly name?: string; readonly faults: readonly Fault[] } {
  const valid = new Set<string>();
  const faults = refs.flatMap((ref, i): Fault[] => {
    const { group, kind, namespace, name } = ref, key = `${namespace}/${name}`;
    const fault = (reason: string, what: string) => [{ reason, message: `${field}[${i}]: ${what}` }];
    if (group !== "" || kind !== "ConfigMap") {
      const full = group === "" ? kind : `${group}/${kind}`;
      return fault(reasons.kind, `Cannot use ${full} "${key}": this kind is not supported, use a ConfigMap`);
    }
    const title = `Cannot use ConfigMap "${key}"`;
    if (!permitted(ref)) {
      const grant = `no ReferenceGrant in namespace "${namespace}" allows to refer to this ConfigMap`;
      return fault("RefNotPermitted", `${title}: ${grant}`);
    }
    const found = read(facts, key) ?? { problem: "config map not found" };
    if ("problem" in found) return fault(reasons.invalid, `${title}: ${found.problem}`);
    // Unlike the name of a Secret, that of authorities has three parts.
    valid.add(`${key}/ca.crt${pinned ? `@${found.fingerprint.slice(0, 16)}` : ""}`);
    return [];
  });
  return { ...valid.size > 0 && { name: [...valid].join("+") }, faults };
}

/** The ConfigMaps behind the name of a secret; `undefined` if it is not one with authorities. */
export function configMapsOf(secret: string): readonly Key[] | undefined {
  if (secret.split("/").length < 3) return undefined;
  return secret.split("+").map((part) => part.split("/").slice(0, 2).join("/"));
}

/** The certificates behind a name, PEM. */
export function bundleOf(
  configMaps: readonly Key[],
  read: Read,
  { authorities }: AuthorityTables,
): Authorities | undefined {
  const rows = configMaps.flatMap((key): Authorities[] => {
    const row = read(authorities, key);
    return row && !("problem" in row) ? [row] : [];
  });
  if (rows.length === 0) return undefined;
  return {
    certificates: rows.map(({ certificates }) => certificates).join(""),
    fingerprint: rows.map(({ fingerprint }) => fingerprint).join("+"),
  };
}
