/**
 * Where pods may run, as in a PodSpec.
 *
 * @module
 */
import { labelSelector } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Infer } from "../schema/types.ts";

const text = k.string();
const weight = k.integer({ format: "int32", minimum: 1, maximum: 100 });

const requirement = k.object({
  key: k.required(text, "Name of a label or a field."),
  operator: k.required(
    k.enumeration("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    "How values are compared.",
  ),
  values: k.optional(k.list(text), "Values to compare with."),
});

const nodeSelectorTerm = k.object({
  matchExpressions: k.optional(k.list(requirement), "Requirements of labels that all have to hold."),
  matchFields: k.optional(k.list(requirement), "Requirements of fields that all have to hold."),
}, { mapType: "atomic" });

const nodeAffinity = k.object({
  requiredDuringSchedulingIgnoredDuringExecution: k.optional(
    k.object({
      nodeSelectorTerms: k.required(k.list(nodeSelectorTerm), "Terms of which one has to hold."),
    }, { mapType: "atomic" }),
    "What a node has to be.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: k.optional(
    k.list(k.object({
      weight: k.required(weight, "How much it is wanted."),
      preference: k.required(nodeSelectorTerm, "What is wanted of a node."),
    })),
    "What a node should be.",
  ),
});

const podAffinityTerm = k.object({
  labelSelector: k.optional(labelSelector, "Labels of the other pods."),
  namespaceSelector: k.optional(labelSelector, "Labels of the namespaces of the other pods."),
  namespaces: k.optional(k.list(text), "Namespaces of the other pods."),
  topologyKey: k.required(text, "Label of nodes that says which of them count as one place."),
  matchLabelKeys: k.optional(k.list(text), "Labels that the other pods have to share with this one."),
  mismatchLabelKeys: k.optional(k.list(text), "Labels that the other pods may not share with this one."),
});

const podAffinity = k.object({
  requiredDuringSchedulingIgnoredDuringExecution: k.optional(
    k.list(podAffinityTerm),
    "Terms that all have to hold.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: k.optional(
    k.list(k.object({
      weight: k.required(weight, "How much it is wanted."),
      podAffinityTerm: k.required(podAffinityTerm, "What is wanted."),
    })),
    "Terms that should hold.",
  ),
});

export const affinity = k.object({
  nodeAffinity: k.optional(nodeAffinity, "Nodes to run on."),
  podAffinity: k.optional(podAffinity, "Pods to run near to."),
  podAntiAffinity: k.optional(podAffinity, "Pods to keep away from."),
});
export type Affinity = Infer<typeof affinity>;

export const toleration = k.object({
  key: k.optional(text, "Key of the taint; every key if absent."),
  operator: k.optional(
    k.enumeration("Exists", "Equal", "Lt", "Gt"),
    "How values are compared; Equal if absent.",
  ),
  value: k.optional(text, "Value of the taint."),
  effect: k.optional(
    k.enumeration("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "Effect of the taint; every effect if absent.",
  ),
  tolerationSeconds: k.optional(
    k.integer({ format: "int64" }),
    "For NoExecute: how long the taint is tolerated; for good if absent.",
  ),
});
export type Toleration = Infer<typeof toleration>;

export const topologySpreadConstraint = k.object({
  maxSkew: k.required(k.integer({ format: "int32", minimum: 1 }), "How uneven the spread may be."),
  topologyKey: k.required(text, "Label of nodes that says which of them count as one place."),
  whenUnsatisfiable: k.required(
    k.enumeration("DoNotSchedule", "ScheduleAnyway"),
    "What to do with a pod that would make the spread too uneven.",
  ),
  labelSelector: k.optional(
    labelSelector,
    "Pods that are counted; the proxies of the same Gateway if absent.",
  ),
  minDomains: k.optional(
    k.integer({ format: "int32", minimum: 1 }),
    "How many places there have to be at least.",
  ),
  nodeAffinityPolicy: k.optional(
    k.enumeration("Honor", "Ignore"),
    "Whether nodes count that affinity and selector rule out.",
  ),
  nodeTaintsPolicy: k.optional(k.enumeration("Honor", "Ignore"), "Whether nodes count that have taints."),
  matchLabelKeys: k.optional(k.list(text), "Labels by which pods are told apart besides."),
});
export type TopologySpreadConstraint = Infer<typeof topologySpreadConstraint>;
