/**
 * Lease: who leads.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import { microTime, text } from "./values.ts";

const atLeast = (minimum: number, detail: string) =>
  k.integer({
    format: "int32",
    faults: (value): readonly Fault[] => value >= minimum ? [] : [{ reason: "Invalid", detail }],
  });

const schema = resource("Lease", {
  spec: k.initially(
    k.object({
      holderIdentity: k.optional(text, "Who holds it."),
      leaseDurationSeconds: k.optional(
        atLeast(1, "must be greater than 0"),
        "Seconds after which others may take it, unless it is renewed.",
      ),
      acquireTime: k.optional(microTime, "Since when the holder holds it."),
      renewTime: k.optional(microTime, "When the holder last renewed it."),
      leaseTransitions: k.optional(
        atLeast(0, "must be greater than or equal to 0"),
        "How often the holder changed.",
      ),
      strategy: k.optional(text, "How the holder is chosen, with coordinated leader election."),
      preferredHolder: k.optional(text, "Who should hold it, with coordinated leader election."),
    }),
    {},
    "What is desired.",
  ),
});

export type Lease = ObjectOf<typeof schema>;

export const lease = defineKind<Lease>(
  { group: "coordination.k8s.io", kind: "Lease", plural: "leases", hasStatus: false },
  version("v1", schema, {
    columns: [{ name: "Holder", type: "string", jsonPath: ".spec.holderIdentity" }, age],
  }),
);
