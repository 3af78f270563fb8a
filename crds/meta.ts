/**
 * What all kinds share: metadata, conditions and label selectors.
 *
 * @module
 */
import type { z } from "zod";
import type { Condition, ObjectMeta } from "./kind.ts";
import * as k from "./schema/build.ts";
import type { Fault } from "./schema/facts.ts";
import { isLabel, isSubdomain, subdomainPattern } from "./schema/formats.ts";
import type { Infer } from "./schema/types.ts";

const invalid = (detail: string, value: unknown, ...path: readonly (string | number)[]): Fault => ({
  reason: "Invalid",
  detail,
  value,
  path,
});

const segment = /^([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$/;

/** `name` or `example.com/name`: keys of labels and annotations, and finalizers. */
export function isQualifiedName(text: string): boolean {
  const slash = text.indexOf("/");
  return segment.test(text.slice(slash + 1)) && (slash < 0 || isSubdomain(text.slice(0, slash)));
}

export const isLabelValue = (text: string): boolean => labelValue.test(text);

/** How the objects of a kind may be named. */
export interface NameFormat {
  readonly holds: (name: string) => boolean;
  readonly detail: string;
}

export const subdomainName: NameFormat = {
  holds: isSubdomain,
  detail: 'must be a lowercase RFC 1123 subdomain of at most 253 characters, such as "example.com"',
};
export const labelName: NameFormat = {
  holds: isLabel,
  detail: 'must be a lowercase RFC 1123 label of at most 63 characters, such as "my-name"',
};
const qualified =
  'must be a name of at most 63 characters, perhaps with a DNS prefix, such as "example.com/name"';

function* metadataFaults(meta: ObjectMeta, format: NameFormat): Generator<Fault> {
  if (!format.holds(meta.name)) yield invalid(format.detail, meta.name, "name");
  if (meta.generateName !== undefined && !format.holds(`${meta.generateName.slice(0, 58)}x`)) {
    yield invalid(format.detail, meta.generateName, "generateName");
  }
  if (meta.namespace !== undefined && !isLabel(meta.namespace)) {
    yield invalid(labelName.detail, meta.namespace, "namespace");
  }
  for (const [key, value] of Object.entries(meta.labels ?? {})) {
    if (!isQualifiedName(key)) yield invalid(`label keys ${qualified}`, key, "labels");
    if (!isLabelValue(value)) {
      const detail =
        "label values must have at most 63 characters of A-Z, a-z, 0-9, '-', '_' or '.', and start and " +
        "end with a letter or digit";
      yield invalid(detail, value, "labels");
    }
  }
  let size = 0;
  for (const [key, value] of Object.entries(meta.annotations ?? {})) {
    size += key.length + value.length;
    if (!isQualifiedName(key.toLowerCase())) {
      yield invalid(`annotation keys ${qualified}`, key, "annotations");
    }
  }
  if (size > 256 * 1024) {
    yield {
      reason: "TooLong",
      detail: "may not be more than 262144 bytes",
      omitted: true,
      path: ["annotations"],
    };
  }
  for (const [i, finalizer] of (meta.finalizers ?? []).entries()) {
    if (!isQualifiedName(finalizer)) yield invalid(`finalizers ${qualified}`, finalizer, "finalizers", i);
  }
  const controllers = meta.ownerReferences?.filter((owner) => owner.controller) ?? [];
  if (controllers.length > 1) {
    yield invalid("only one owner may have controller set to true", meta.ownerReferences, "ownerReferences");
  }
}

const ownerReference = k.object({
  apiVersion: k.required(k.string({ minLength: 1 }), "Group and version of the owner."),
  kind: k.required(k.string({ minLength: 1 }), "Kind of the owner."),
  name: k.required(k.string({ minLength: 1 }), "Name of the owner."),
  uid: k.required(k.string({ minLength: 1 }), "UID of the owner."),
  controller: k.optional(k.boolean(), "Whether this owner manages the object."),
  blockOwnerDeletion: k.optional(
    k.boolean(),
    "Whether the owner stays, in a foreground deletion, until this is gone.",
  ),
});

const time = k.string({ format: "date-time" });

/** `metav1.ObjectMeta`, for names of one format. */
export function objectMeta(format: NameFormat = subdomainName): z.ZodType<ObjectMeta> {
  const schema = k.object({
    name: k.required(k.string(), "Name, unique among the objects of the kind in the namespace."),
    generateName: k.optional(k.string(), "Start of the name that the server makes up where none is given."),
    namespace: k.optional(k.string(), "Namespace that the object lives in."),
    uid: k.optional(k.string(), "Made by the server; no other object ever has it."),
    resourceVersion: k.optional(k.string(), "Version of the stored object, to notice changes in between."),
    generation: k.optional(k.integer({ format: "int64" }), "Counts the changes of what is desired."),
    creationTimestamp: k.optional(time, "When the object was created."),
    deletionTimestamp: k.optional(time, "When the object is due to go; set by the server."),
    deletionGracePeriodSeconds: k.optional(k.integer({ format: "int64" }), "Seconds for an orderly end."),
    finalizers: k.optional(k.set(k.string()), "Who has to agree before the object goes."),
    labels: k.optional(k.map(k.string()), "Names and values to select by."),
    annotations: k.optional(k.map(k.string()), "Names and values for tools."),
    ownerReferences: k.optional(k.mapList(["uid"], ownerReference), "Objects that this one goes with."),
    managedFields: k.optional(k.list(k.anything()), "Who set which fields."),
    selfLink: k.optional(k.string(), "No longer set."),
  }, { faults: (meta) => [...metadataFaults(meta, format)] });
  return schema as unknown as z.ZodType<ObjectMeta>;
}

/** `metav1.Condition`. */
export const condition = k.object({
  type: k.required(
    k.string({
      maxLength: 316,
      pattern: `^(${subdomainPattern.slice(1, -1)}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
    }),
    "What the condition is about.",
  ),
  status: k.required(k.enumeration("True", "False", "Unknown"), "Whether it holds."),
  observedGeneration: k.optional(
    k.integer({ format: "int64", minimum: 0 }),
    "The metadata.generation that this was found out for.",
  ),
  lastTransitionTime: k.required(time, "When the status last changed."),
  reason: k.required(
    k.string({ minLength: 1, maxLength: 1024, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
    "Why, in one word.",
  ),
  message: k.required(k.string({ maxLength: 32768 }), "Why, for people."),
}) as unknown as z.ZodType<Condition>;

/** Conditions, one of a type. */
export const conditions = k.mapList(["type"], condition, { maxItems: 8 });

/** The condition that an object has until a controller looks at it, as upstream's schemas set it. */
export function pending(type: string): Condition {
  return {
    type,
    status: "Unknown",
    lastTransitionTime: "1970-01-01T00:00:00Z",
    reason: "Pending",
    message: "Waiting for controller",
  };
}

export const labelSelector = k.object({
  matchLabels: k.optional(k.map(k.string()), "Labels that have to be there with these values."),
  matchExpressions: k.optional(
    k.list(k.object({
      key: k.required(k.string(), "Name of a label."),
      operator: k.required(k.string(), "In, NotIn, Exists or DoesNotExist."),
      values: k.optional(k.list(k.string()), "Values to compare with, for In and NotIn."),
    })),
    "Requirements that all have to hold.",
  ),
}, { mapType: "atomic" });
export type LabelSelector = Infer<typeof labelSelector>;
