/**
 * GatewayClass: a kind of Gateway that a controller offers.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import type { Column } from "../kind.ts";
import { conditions, pending } from "../meta.ts";
import * as k from "../schema/build.ts";
import { factsOf } from "../schema/facts.ts";
import { since17, until16 } from "../schema/surface.ts";
import { controllerName, gatewayGroup } from "./names.ts";
import { objectReference } from "./references.ts";

const columns: readonly Column[] = [
  { name: "Controller", type: "string", jsonPath: ".spec.controllerName" },
  { name: "Accepted", type: "string", jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
  age,
  { name: "Description", type: "string", jsonPath: ".spec.description", priority: 1 },
];

const immutable = (self: string, old: string) => self === old;

const schema = resource("GatewayClass", {
  spec: k.required(
    k.object({
      controllerName: k.required(
        k.string({
          ...factsOf(controllerName) as object,
          rules: [
            { message: "Value is immutable", transition: immutable, in: until16 },
            { message: "field is immutable", transition: immutable, in: since17 },
          ],
        }),
        "Who looks after the Gateways of this class.",
      ),
      parametersRef: k.optional(objectReference, "How this class is set up."),
      description: k.optional(k.string({ maxLength: 64 }), "What the class is for."),
    }),
    "What is desired.",
  ),
  status: k.initially(
    k.object({
      conditions: k.initially(conditions, [pending("Accepted")], "Whether the controller takes the class."),
      supportedFeatures: k.optional(
        k.mapList(["name"], k.object({ name: k.required(k.string(), "Name of a feature.") }), {
          maxItems: 64,
        }),
        "What the implementation can do, in alphabetical order.",
      ),
    }),
    { conditions: [pending("Accepted")] },
    "What the controller found.",
  ),
});

export type GatewayClass = ObjectOf<typeof schema>;

export const gatewayClass = defineKind<GatewayClass>(
  {
    group: gatewayGroup,
    kind: "GatewayClass",
    plural: "gatewayclasses",
    shortNames: ["gc"],
    categories: ["gateway-api"],
    namespaced: false,
  },
  version("v1", schema, { columns }),
  version("v1beta1", schema, { columns }),
);
