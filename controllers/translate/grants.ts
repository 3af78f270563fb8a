/**
 * References across namespaces, which the other namespace has to grant.
 *
 * @module
 */
import type { ReferenceGrant } from "../../crds/mod.ts";
import type { Group } from "../runtime/graph.ts";

/** Who refers to what. */
export interface Reference {
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string };
  readonly to: { readonly group: string; readonly kind: string; readonly name: string };
}

/** Whether one of the grants, all of the namespace that is referred to, allows a reference. */
export function granted({ from, to }: Reference, grants: Group<ReferenceGrant> | undefined): boolean {
  if (grants === undefined) return false;
  for (const { spec } of grants.values()) {
    const trusts = spec.from.some((f) =>
      f.group === from.group && f.kind === from.kind && f.namespace === from.namespace
    );
    const covers = spec.to.some((t) =>
      t.group === to.group && t.kind === to.kind &&
      (t.name === undefined || t.name === "" || t.name === to.name)
    );
    if (trusts && covers) return true;
  }
  return false;
}
