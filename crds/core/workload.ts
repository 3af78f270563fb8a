/**
 * Deployment and DaemonSet, as far as the operator reads them; the rest of spec and status is kept as it is.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import { labelSelector } from "../meta.ts";
import * as k from "../schema/build.ts";
import { int32, int64 } from "./values.ts";

const template = k.required(k.anything(), "The pods that are made.");
const selector = k.required(labelSelector, "Labels of the pods that belong to it.");
const observedGeneration = k.optional(int64, "The metadata.generation that this was found out for.");

const deploymentSchema = resource("Deployment", {
  spec: k.required(
    k.object({
      replicas: k.optional(int32, "Number of pods."),
      selector,
      template,
    }, { preserveUnknownFields: true }),
    "What is desired.",
  ),
  status: k.optional(
    k.object({
      observedGeneration,
      replicas: k.optional(int32, "Pods that there are."),
      updatedReplicas: k.optional(int32, "Pods that are as the template has them."),
      readyReplicas: k.optional(int32, "Pods that are ready."),
      availableReplicas: k.optional(int32, "Pods that have been ready for long enough."),
    }, { preserveUnknownFields: true }),
    "What was found.",
  ),
});

export type Deployment = ObjectOf<typeof deploymentSchema>;

export const deployment = defineKind<Deployment>(
  {
    group: "apps",
    kind: "Deployment",
    plural: "deployments",
    shortNames: ["deploy"],
    categories: ["all"],
  },
  version("v1", deploymentSchema, {
    columns: [
      { name: "Up-To-Date", type: "integer", jsonPath: ".status.updatedReplicas" },
      { name: "Available", type: "integer", jsonPath: ".status.availableReplicas" },
      age,
    ],
  }),
);

const daemonSetSchema = resource("DaemonSet", {
  spec: k.required(
    k.object({ selector, template }, { preserveUnknownFields: true }),
    "What is desired.",
  ),
  status: k.optional(
    k.object({
      observedGeneration,
      desiredNumberScheduled: k.optional(int32, "Nodes that should run a pod."),
      updatedNumberScheduled: k.optional(int32, "Nodes whose pod is as the template has it."),
      numberReady: k.optional(int32, "Nodes whose pod is ready."),
      numberAvailable: k.optional(int32, "Nodes whose pod has been ready for long enough."),
    }, { preserveUnknownFields: true }),
    "What was found.",
  ),
});

export type DaemonSet = ObjectOf<typeof daemonSetSchema>;

export const daemonSet = defineKind<DaemonSet>(
  { group: "apps", kind: "DaemonSet", plural: "daemonsets", shortNames: ["ds"], categories: ["all"] },
  version("v1", daemonSetSchema, {
    columns: [
      { name: "Desired", type: "integer", jsonPath: ".status.desiredNumberScheduled" },
      { name: "Ready", type: "integer", jsonPath: ".status.numberReady" },
      age,
    ],
  }),
);
