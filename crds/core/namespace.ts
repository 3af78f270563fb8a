/**
 * Namespace and ServiceAccount.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import { isQualifiedName, labelName, objectMeta } from "../meta.ts";
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import { flag, localObjectReference, objectReference, text, time } from "./values.ts";

/** Finalizers that are neither Kubernetes' own nor have a prefix. */
const strangers = (finalizers: readonly string[]): readonly Fault[] =>
  finalizers.filter((name) => name !== "kubernetes" && !(name.includes("/") && isQualifiedName(name)))
    .map((value) => ({ reason: "Invalid", value, detail: "must be a name with a DNS prefix" }));

const namespaceSchema = resource("Namespace", {
  spec: k.initially(
    k.object({
      finalizers: k.optional(
        k.list(text, { faults: strangers }),
        "Who has to agree before the Namespace goes.",
      ),
    }),
    {},
    "What is desired.",
  ),
  status: k.initially(
    k.object({
      phase: k.defaulted(
        k.enumeration("Active", "Terminating"),
        "Active",
        "Whether the Namespace is about to go.",
      ),
      conditions: k.optional(
        k.mapList(
          ["type"],
          k.object({
            type: k.required(text, "What the condition is about."),
            status: k.required(text, "Whether it holds."),
            lastTransitionTime: k.optional(time, "When the status last changed."),
            reason: k.optional(text, "Why, in one word."),
            message: k.optional(text, "Why, for people."),
          }),
        ),
        "How the Namespace fares.",
      ),
    }),
    {},
    "What was found.",
  ),
}, objectMeta(labelName));

export type Namespace = ObjectOf<typeof namespaceSchema>;

export const namespace = defineKind<Namespace>(
  { group: "", kind: "Namespace", plural: "namespaces", shortNames: ["ns"], namespaced: false },
  version("v1", namespaceSchema, {
    columns: [{ name: "Status", type: "string", jsonPath: ".status.phase" }, age],
  }),
);

const wholeServiceAccount = resource("ServiceAccount", {
  secrets: k.optional(k.mapList(["name"], objectReference), "Secrets that its pods may use."),
  imagePullSecrets: k.optional(k.list(localObjectReference), "Secrets to pull images with."),
  automountServiceAccountToken: k.optional(flag, "Whether pods get its token."),
});
const serviceAccountSchema = k.object(wholeServiceAccount.shape, {
  // Of Secrets, Kubernetes keeps the names alone.
  normalize: ({ secrets, ...account }) => ({
    ...account,
    ...secrets && { secrets: secrets.map(({ name }) => name === undefined ? {} : { name }) },
  }),
});

export type ServiceAccount = ObjectOf<typeof serviceAccountSchema>;

export const serviceAccount = defineKind<ServiceAccount>(
  { group: "", kind: "ServiceAccount", plural: "serviceaccounts", shortNames: ["sa"], hasStatus: false },
  version("v1", serviceAccountSchema, {
    columns: [age],
  }),
);
