/**
 * HorizontalPodAutoscaler and PodDisruptionBudget, as far as the operator reads them; the rest is kept as it is.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import { labelSelector } from "../meta.ts";
import * as k from "../schema/build.ts";
import { int32, text } from "./values.ts";

const autoscalerSchema = resource("HorizontalPodAutoscaler", {
  spec: k.required(
    k.object({
      scaleTargetRef: k.required(
        k.object({
          apiVersion: k.optional(text, "Group and version of what is scaled."),
          kind: k.required(text, "Kind of what is scaled."),
          name: k.required(text, "Name of what is scaled."),
        }, { mapType: "atomic" }),
        "What is scaled.",
      ),
      minReplicas: k.optional(int32, "Pods that there are at least."),
      maxReplicas: k.required(int32, "Pods that there are at most."),
    }, { preserveUnknownFields: true }),
    "What is desired.",
  ),
  status: k.optional(k.object({}, { preserveUnknownFields: true }), "What was found."),
});

export type HorizontalPodAutoscaler = ObjectOf<typeof autoscalerSchema>;

export const horizontalPodAutoscaler = defineKind<HorizontalPodAutoscaler>(
  {
    group: "autoscaling",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    shortNames: ["hpa"],
    categories: ["all"],
  },
  version("v2", autoscalerSchema, {
    columns: [
      { name: "MinPods", type: "string", jsonPath: ".spec.minReplicas" },
      { name: "MaxPods", type: "integer", jsonPath: ".spec.maxReplicas" },
      age,
    ],
  }),
);

const budgetSchema = resource("PodDisruptionBudget", {
  spec: k.required(
    k.object({
      minAvailable: k.optional(k.intOrString(), "Pods that have to stay."),
      maxUnavailable: k.optional(k.intOrString(), "Pods that may be missing."),
      selector: k.optional(labelSelector, "Labels of the pods."),
    }, { preserveUnknownFields: true }),
    "What is desired.",
  ),
  status: k.optional(k.object({}, { preserveUnknownFields: true }), "What was found."),
});

export type PodDisruptionBudget = ObjectOf<typeof budgetSchema>;

export const podDisruptionBudget = defineKind<PodDisruptionBudget>(
  { group: "policy", kind: "PodDisruptionBudget", plural: "poddisruptionbudgets", shortNames: ["pdb"] },
  version("v1", budgetSchema, {
    columns: [
      { name: "Min Available", type: "string", jsonPath: ".spec.minAvailable" },
      { name: "Max Unavailable", type: "string", jsonPath: ".spec.maxUnavailable" },
      age,
    ],
  }),
);
