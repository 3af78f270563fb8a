/**
 * How objects of Gateway API point at others.
 *
 * @module
 */
import { defaulted, integer, list, object, optional, required } from "../schema/build.ts";
import type { Rule } from "../schema/facts.ts";
import { type Availability, experimental, experimentalSince17, standardOnly } from "../schema/surface.ts";
import type { Infer } from "../schema/types.ts";
import { gatewayGroup, group, kind, namespace, objectName, port, sectionName } from "./names.ts";

/** The parent of a route: a Gateway, a ListenerSet, or a part of one. */
export const parentReference = object({
  group: defaulted(group, gatewayGroup, "Group of the parent."),
  kind: defaulted(kind, "Gateway", "Kind of the parent, such as Gateway or ListenerSet."),
  namespace: optional(namespace, "Namespace of the parent; that of the route if absent."),
  name: required(objectName, "Name of the parent."),
  sectionName: optional(sectionName, "Attaches to this listener alone."),
  port: optional(port, "Attaches to listeners with this port alone."),
});
export type ParentReference = Infer<typeof parentReference>;

/** The part of a reference that rules about several references compare; `""` and 0 mean absent. */
interface Reference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly sectionName?: string;
  readonly port?: number;
}

const sameTarget = (a: Reference, b: Reference): boolean =>
  a.group === b.group && a.kind === b.kind && a.name === b.name &&
  (a.namespace || "") === (b.namespace || "");

const sameSection = (a: Reference, b: Reference): boolean => (a.sectionName || "") === (b.sectionName || "");

function noPair<T>(items: readonly T[], forbidden: (a: T, b: T) => boolean): boolean {
  return items.every((a, i) => items.every((b, j) => j <= i || !forbidden(a, b)));
}

/** The two rules for references that may name a section of their target. */
export function sectionRules(
  message: { readonly specified: string; readonly unique: string },
  available?: Availability,
): Rule<readonly Reference[]>[] {
  const when = available ? { in: available } : {};
  return [
    {
      message: message.specified,
      holds: (refs) => noPair(refs, (a, b) => sameTarget(a, b) && !a.sectionName !== !b.sectionName),
      ...when,
    },
    {
      message: message.unique,
      holds: (refs) => noPair(refs, (a, b) => sameTarget(a, b) && sameSection(a, b)),
      ...when,
    },
  ];
}

export const parentRefs = list(parentReference, {
  maxItems: 32,
  rules: [
    ...sectionRules({
      specified:
        "sectionName must be specified when parentRefs includes 2 or more references to the same parent",
      unique: "sectionName must be unique when parentRefs includes 2 or more references to the same parent",
    }, standardOnly),
    {
      message:
        "sectionName or port must be specified when parentRefs includes 2 or more references to the same parent",
      holds: (refs) =>
        noPair(
          refs,
          (a, b) => sameTarget(a, b) && (!a.sectionName !== !b.sectionName || !a.port !== !b.port),
        ),
      in: experimental,
    },
    {
      message:
        "sectionName or port must be unique when parentRefs includes 2 or more references to the same parent",
      holds: (refs) =>
        noPair(refs, (a, b) => sameTarget(a, b) && sameSection(a, b) && (a.port || 0) === (b.port || 0)),
      in: experimental,
    },
  ],
});

const backendShape = {
  group: defaulted(group, "", "Group of the backend; empty for the core group."),
  kind: defaulted(kind, "Service", "Kind of the backend."),
  name: required(objectName, "Name of the backend."),
  namespace: optional(
    namespace,
    "Namespace of the backend; another one than the route's wants a ReferenceGrant.",
  ),
  port: optional(port, "Port of the backend; a Service wants one."),
};

interface Backend {
  readonly group: string;
  readonly kind: string;
  readonly port?: number;
}

const backendRules: readonly Rule<Backend>[] = [
  {
    message: "Must have port for Service reference",
    holds: (ref) => ref.group !== "" || ref.kind !== "Service" || ref.port !== undefined,
  },
  {
    message: "Must not have port for Backend reference",
    holds: (ref) =>
      ref.group !== "gateway.networking.x-k8s.io" || ref.kind !== "XBackend" || ref.port === undefined,
    in: experimentalSince17,
  },
];

export const backendObjectReference = object(backendShape, { rules: backendRules });
export type BackendObjectReference = Infer<typeof backendObjectReference>;

/** A backend's share of the traffic; `more` are fields of one kind of route. */
export const backendRefShape = {
  ...backendShape,
  weight: defaulted(
    integer({ format: "int32", minimum: 0, maximum: 1_000_000 }),
    1,
    "Share of the traffic in proportion to the sum of all weights.",
  ),
};
export const backendRefFacts = { rules: backendRules };

export const backendRef = object(backendRefShape, backendRefFacts);
export type BackendRef = Infer<typeof backendRef>;

export const localObjectReference = object({
  group: required(group, "Group of the object; empty for the core group."),
  kind: required(kind, "Kind of the object."),
  name: required(objectName, "Name of the object."),
});
export type LocalObjectReference = Infer<typeof localObjectReference>;

export const objectReference = object({
  group: required(group, "Group of the object; empty for the core group."),
  kind: required(kind, "Kind of the object."),
  name: required(objectName, "Name of the object."),
  namespace: optional(namespace, "Namespace of the object; another one wants a ReferenceGrant."),
});
export type ObjectReference = Infer<typeof objectReference>;

export const secretObjectReference = object({
  group: defaulted(group, "", "Group of the object; empty for the core group."),
  kind: defaulted(kind, "Secret", "Kind of the object."),
  name: required(objectName, "Name of the object."),
  namespace: optional(namespace, "Namespace of the object; another one wants a ReferenceGrant."),
});
export type SecretObjectReference = Infer<typeof secretObjectReference>;
