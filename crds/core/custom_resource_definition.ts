/**
 * CustomResourceDefinition: which kinds a cluster has.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import type { Infer } from "../schema/types.ts";
import { flag, int32, int64, text, time } from "./values.ts";

const names = k.object({
  plural: k.required(text, "Name in URLs."),
  singular: k.optional(text, "Name for one of them."),
  shortNames: k.optional(k.list(text), "Short names."),
  kind: k.required(text, "Name in objects."),
  listKind: k.optional(text, "Name of their list."),
  categories: k.optional(k.list(text), "Groups of kinds that they belong to, such as all."),
});

const crdVersion = k.object({
  name: k.required(text, "Name of the version, such as v1."),
  served: k.required(flag, "Whether clients may use it."),
  storage: k.required(flag, "Whether objects are stored in it."),
  deprecated: k.optional(flag, "Whether users are warned."),
  deprecationWarning: k.optional(text, "The warning."),
  schema: k.optional(
    k.object({ openAPIV3Schema: k.optional(k.anything(), "OpenAPI schema of the objects.") }),
    "What objects may be.",
  ),
  subresources: k.optional(
    k.object({
      status: k.optional(k.anything(), "Whether status is written on its own."),
      scale: k.optional(k.anything(), "Where replicas are counted."),
    }),
    "Parts that are written on their own.",
  ),
  additionalPrinterColumns: k.optional(
    k.list(k.object({
      name: k.required(text, "Heading."),
      type: k.required(text, "OpenAPI type."),
      format: k.optional(text, "OpenAPI format."),
      description: k.optional(text, "What it shows."),
      priority: k.optional(int32, "0 to show it always."),
      jsonPath: k.required(text, "Where its values are."),
    })),
    "Columns of kubectl get.",
  ),
  selectableFields: k.optional(
    k.list(k.object({ jsonPath: k.required(text, "Where the value is.") })),
    "Fields to select by.",
  ),
});
export type CustomResourceDefinitionVersion = Infer<typeof crdVersion>;

const schema = resource("CustomResourceDefinition", {
  spec: k.required(
    k.object({
      group: k.required(text, "Group of the kind."),
      names: k.required(names, "Its names."),
      scope: k.required(k.enumeration("Cluster", "Namespaced"), "Whether its objects are in Namespaces."),
      versions: k.required(k.list(crdVersion), "Its versions."),
      conversion: k.optional(
        k.object({
          strategy: k.required(k.enumeration("None", "Webhook"), "How versions are converted."),
          webhook: k.optional(k.anything(), "For Webhook: whom to ask."),
        }),
        "How versions are converted.",
      ),
      preserveUnknownFields: k.optional(flag, "Whether fields that the schema does not know are kept."),
    }),
    "What is desired.",
  ),
  status: k.optional(
    k.object({
      conditions: k.optional(
        k.mapList(
          ["type"],
          k.object({
            type: k.required(text, "What the condition is about."),
            status: k.required(text, "Whether it holds."),
            lastTransitionTime: k.optional(time, "When the status last changed."),
            observedGeneration: k.optional(int64, "The metadata.generation that this was found out for."),
            reason: k.optional(text, "Why, in one word."),
            message: k.optional(text, "Why, for people."),
          }),
        ),
        "How the definition fares.",
      ),
      acceptedNames: k.optional(names, "Names that are in use."),
      storedVersions: k.optional(k.list(text), "Versions that objects were ever stored in."),
      observedGeneration: k.optional(int64, "The metadata.generation that this was found out for."),
    }),
    "What was found.",
  ),
});

export type CustomResourceDefinition = ObjectOf<typeof schema>;

export const customResourceDefinition = defineKind<CustomResourceDefinition>(
  {
    group: "apiextensions.k8s.io",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
    namespaced: false,
  },
  version("v1", schema, {
    columns: [{ name: "Created At", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  }),
);
