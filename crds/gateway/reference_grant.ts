/**
 * ReferenceGrant: who may refer to what in its namespace.
 *
 * @module
 */
import { defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import { gatewayGroup, group, kind, namespace, objectName } from "./names.ts";

const schema = resource("ReferenceGrant", {
  spec: k.required(
    k.object({
      from: k.required(
        k.list(
          k.object({
            group: k.required(group, "Group of those who refer."),
            kind: k.required(kind, "Kind of those who refer."),
            namespace: k.required(namespace, "Namespace of those who refer."),
          }),
          { minItems: 1, maxItems: 16 },
        ),
        "Who may refer.",
      ),
      to: k.required(
        k.list(
          k.object({
            group: k.required(group, "Group of what is referred to; empty for the core group."),
            kind: k.required(kind, "Kind of what is referred to."),
            name: k.optional(objectName, "Its name; any if absent."),
          }),
          { minItems: 1, maxItems: 16 },
        ),
        "What may be referred to.",
      ),
    }),
    "What is allowed.",
  ),
});

export type ReferenceGrant = ObjectOf<typeof schema>;

export const referenceGrant = defineKind<ReferenceGrant>(
  {
    group: gatewayGroup,
    kind: "ReferenceGrant",
    plural: "referencegrants",
    shortNames: ["refgrant"],
    categories: ["gateway-api"],
    hasStatus: false,
  },
  version("v1beta1", schema),
  version("v1", schema),
);
