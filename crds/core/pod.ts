/**
 * Pod, as far as the operator reads it; the rest of spec and status is kept as it is.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import { int64, text, time } from "./values.ts";

const schema = resource("Pod", {
  spec: k.required(
    k.object({
      nodeName: k.optional(text, "Node that it runs on."),
      serviceAccountName: k.optional(text, "Whose rights it has."),
      terminationGracePeriodSeconds: k.optional(int64, "Seconds that it has to end."),
      readinessGates: k.optional(
        k.list(k.object({ conditionType: k.required(text, "A condition that has to hold.") })),
        "Conditions besides those of its containers.",
      ),
    }, { preserveUnknownFields: true }),
    "What is desired.",
  ),
  status: k.optional(
    k.object({
      phase: k.optional(text, "Pending, Running, Succeeded, Failed or Unknown."),
      reason: k.optional(text, "Why, in one word."),
      message: k.optional(text, "Why, for people."),
      podIP: k.optional(text, "Its address."),
      podIPs: k.optional(
        k.mapList(["ip"], k.object({ ip: k.required(text, "The address.") })),
        "Its addresses, by family.",
      ),
      hostIP: k.optional(text, "Address of its node."),
      startTime: k.optional(time, "When it started."),
      conditions: k.optional(
        k.mapList(
          ["type"],
          k.object({
            type: k.required(text, "What the condition is about."),
            status: k.required(text, "Whether it holds."),
            reason: k.optional(text, "Why, in one word."),
            message: k.optional(text, "Why, for people."),
          }, { preserveUnknownFields: true }),
        ),
        "How it fares.",
      ),
    }, { preserveUnknownFields: true }),
    "What was found.",
  ),
});

export type Pod = ObjectOf<typeof schema>;

export const pod = defineKind<Pod>(
  { group: "", kind: "Pod", plural: "pods", shortNames: ["po"], categories: ["all"] },
  version("v1", schema, {
    columns: [{ name: "Status", type: "string", jsonPath: ".status.phase" }, age],
  }),
);
