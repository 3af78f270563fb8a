/**
 * ListenerSet: listeners that others than its owner add to a Gateway (GEP-1713).
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import type { Column } from "../kind.ts";
import { conditions, pending } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Infer } from "../schema/types.ts";
import { listenerRules, listenerShape, listenerStatus } from "./listener.ts";
import { gatewayGroup, group, kind, namespace, objectName } from "./names.ts";

const columns: readonly Column[] = [
  { name: "Accepted", type: "string", jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
  { name: "Programmed", type: "string", jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
  age,
];

const parentGatewayReference = k.object({
  group: k.defaulted(group, gatewayGroup, "Group of the parent."),
  kind: k.defaulted(kind, "Gateway", "Kind of the parent."),
  name: k.required(objectName, "Name of the parent."),
  namespace: k.optional(namespace, "Namespace of the parent; that of the ListenerSet if absent."),
});
export type ParentGatewayReference = Infer<typeof parentGatewayReference>;

const listenerEntry = k.object(listenerShape);
export type ListenerEntry = Infer<typeof listenerEntry>;

const start = [pending("Accepted"), pending("Programmed")];

const schema = resource("ListenerSet", {
  spec: k.required(
    k.object({
      parentRef: k.required(parentGatewayReference, "The Gateway to add to."),
      listeners: k.required(
        k.mapList(["name"], listenerEntry, { minItems: 1, maxItems: 64, rules: listenerRules }),
        "Ports, hostnames and protocols that traffic comes in by.",
      ),
    }),
    "What is desired.",
  ),
  status: k.initially(
    k.object({
      conditions: k.initially(conditions, start, "How the ListenerSet fares."),
      listeners: k.optional(k.mapList(["name"], listenerStatus, { maxItems: 64 }), "How its listeners fare."),
    }),
    { conditions: start },
    "What controllers found.",
  ),
});

export type ListenerSet = ObjectOf<typeof schema>;

export const listenerSet = defineKind<ListenerSet>(
  {
    group: gatewayGroup,
    kind: "ListenerSet",
    plural: "listenersets",
    shortNames: ["lset"],
    categories: ["gateway-api"],
  },
  version("v1", schema, { columns }),
);
