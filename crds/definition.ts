/**
 * The CustomResourceDefinition of a kind, as a cluster takes it.
 *
 * @module
 */
import type { CustomResourceDefinition } from "./core/custom_resource_definition.ts";
import type { Kind } from "./kind.ts";
import { openapi } from "./openapi.ts";
import { newest } from "./schema/surface.ts";

export function definitionOf(kind: Kind): CustomResourceDefinition {
  const { plural, singular, listKind, shortNames, categories } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${kind.group}` },
    spec: {
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind,
        plural,
        singular,
        ...shortNames.length > 0 && { shortNames },
        ...categories.length > 0 && { categories },
      },
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      versions: kind.versions.map((version) => ({
        name: version.name,
        served: true,
        storage: version.storage,
        ...version.deprecated && { deprecated: true },
        ...version.columns.length > 0 && { additionalPrinterColumns: version.columns },
        schema: { openAPIV3Schema: openapi(kind, version, newest, { forCrd: true }) },
        ...kind.hasStatus && { subresources: { status: {} } },
      })),
    },
  };
}
