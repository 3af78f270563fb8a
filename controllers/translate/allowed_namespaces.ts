/**
 * Which namespaces something may come from: routes for a listener, ListenerSets for a Gateway.
 *
 * @module
 */
import type { LabelSelector, Namespace } from "../../crds/mod.ts";
import { matchesSelector, selectorFault } from "./labels.ts";

export type AllowedNamespaces =
  | { readonly from: "All" | "Same" }
  /** With the fault, if it is for one that nobody is let in, beginning with the field that has it. */
  | { readonly from: "None"; readonly fault?: string }
  | { readonly from: "Selector"; readonly selector: LabelSelector };

/** Reads what the specification calls `from` and `selector`. */
export function modelNamespaces(
  namespaces: { readonly from?: string; readonly selector?: LabelSelector | undefined } | undefined,
  byDefault: "Same" | "None",
): AllowedNamespaces {
  const { from = byDefault, selector } = namespaces ?? {};
  if (from === "Selector") {
    // Only a selector that is there and empty takes everything.
    const fault = selector === undefined
      ? ": missing, write {} for every namespace"
      : selectorFault(selector);
    if (fault !== undefined) return { from: "None", fault: `namespaces.selector${fault}` };
    if (selector !== undefined) return { from, selector };
  }
  // A value that is new to us must not let in more than its author meant.
  return { from: from === "All" || from === "Same" ? from : "None" };
}

/** Whether what is in namespace `other` may come to what is in namespace `own`. */
export function allowsNamespace(
  namespaces: AllowedNamespaces,
  own: string,
  other: string,
  namespaceOf: () => Namespace | undefined,
): boolean {
  switch (namespaces.from) {
    case "All":
      return true;
    case "Same":
      return other === own;
    case "None":
      return false;
    case "Selector":
      return matchesSelector(namespaces.selector, labelsOf(namespaceOf(), other));
  }
}

/** The label that every cluster puts on a namespace is taken for granted: files for offline use lack it. */
function labelsOf(namespace: Namespace | undefined, name: string): { readonly [name: string]: string } {
  return { "kubernetes.io/metadata.name": name, ...namespace?.metadata.labels };
}
