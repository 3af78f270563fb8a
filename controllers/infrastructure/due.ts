/**
 * What has to be written so that an object of a Gateway is as it should be.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { ApiObject } from "../../crds/kind.ts";
import type { Deployment, Service } from "../../crds/mod.ts";
import type { GatewayKey } from "../ir/mod.ts";
import { ownerOf } from "./child_names.ts";
import { difference } from "./covers.ts";
import { annotations } from "./names.ts";
import type { Child, ChildKind } from "./plan.ts";

/** One write of one object. */
export type ChildWrite =
  | {
    readonly action: "apply";
    readonly gateway: GatewayKey;
    readonly kind: ChildKind;
    /** Just our fields; of an object that was observed, with its uid and the version that the write is made for. */
    readonly object: Child;
    /** How many pods a Deployment starts with whose number is for others to say. */
    readonly pods?: number;
    /** Why: the first field that is not as it should be; absent if there is no such object. */
    readonly differs?: string;
  }
  | {
    readonly action: "delete";
    readonly gateway: GatewayKey;
    readonly kind: ChildKind;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  }
  /** Nothing can be written: there is an object of that name that is not the Gateway's, or that must not be changed so. */
  | {
    readonly action: "none";
    readonly gateway: GatewayKey;
    readonly kind: ChildKind;
    readonly reason: "NoResources" | "Invalid";
    readonly message: string;
  };

/**
 * Compares an object as it should be with the one that was observed.
 *
 * @param pods how many a Deployment starts with whose number is for others to say
 */
export function dueFor(
  child: Child,
  gateway: GatewayKey,
  observed: ApiObject | undefined,
  pods?: number,
): ChildWrite | undefined {
  const kind = child.kind as ChildKind, object = stamped(child);
  const apply = { action: "apply", gateway, kind, ...pods !== undefined && { pods } } as const;
  if (observed === undefined) return { ...apply, object: withReplicas(object, undefined, pods) };
  const none = { action: "none", gateway, kind } as const;
  if (!owns(child, observed)) return { ...none, reason: "NoResources", message: namesake(child, observed) };
  // It is made anew once it is gone.
  if (observed.metadata.deletionTimestamp !== undefined) return undefined;
  const over = writtenOver(object, observed, pods), differs = difference(over, observed);
  if (differs !== undefined) return { ...apply, object: over, differs };
  const message = keptClass(child, over);
  return message === undefined ? undefined : { ...none, reason: "Invalid", message };
}

/**
 * An object as it is to be written over the one that was observed: for that version of it, and with what others have chosen
 * in the fields that leave them a choice.
 */
export function writtenOver(object: Child, observed: ApiObject, pods?: number): Child {
  const { uid, resourceVersion } = observed.metadata;
  return {
    ...withClass(withFamilies(withReplicas(object, observed, pods), observed), observed),
    metadata: { ...object.metadata, uid: uid!, resourceVersion: resourceVersion! },
  };
}

/**
 * Where the number of pods is for others to say, it is written as it is: to leave out a field that was applied before would
 * take it back, and one pod would be left. The write is only for the version that has this number. None at all is for nobody to
 * choose: autoscalers leave a Deployment alone that has no pods, which would be for good.
 */
function withReplicas(object: Child, observed: ApiObject | undefined, pods: number | undefined): Child {
  if (pods === undefined) return object;
  const { spec } = object as Partial<Deployment>, there = (observed as Partial<Deployment> | undefined)?.spec;
  return { ...object, spec: { ...spec, replicas: there?.replicas || pods } };
}

/**
 * In a cluster with both families the API server adds the second one where one is named and two may be had, and then refuses
 * to have it taken away, but for `SingleStack`.
 */
function withFamilies(object: Child, observed: ApiObject): Child {
  if (object.kind !== "Service") return object;
  const { spec } = object as Partial<Service>, there = (observed as Partial<Service>).spec?.ipFamilies;
  if (spec?.ipFamilies === undefined || spec.ipFamilyPolicy === "SingleStack" || there === undefined) {
    return object;
  }
  const added = spec.ipFamilies.every((family, i) => family === there[i]);
  return added ? { ...object, spec: { ...spec, ipFamilies: there } } : object;
}

/** A load balancer keeps the class that it was made with, or none: the API server refuses a write that says otherwise, whole. */
function withClass(object: Child, observed: ApiObject): Child {
  const { spec } = object as Partial<Service>, there = (observed as Partial<Service>).spec;
  if (object.kind !== "Service" || spec?.type !== "LoadBalancer" || there?.type !== "LoadBalancer") {
    return object;
  }
  const { loadBalancerClass: _, ...others } = spec, { loadBalancerClass } = there;
  return { ...object, spec: { ...others, ...loadBalancerClass !== undefined && { loadBalancerClass } } };
}

/** Says that a load balancer has another class than the one that is asked for; one that others gave it is no fault. */
function keptClass(child: Child, over: Child): string | undefined {
  const classOf = ({ spec }: Partial<Service>) => spec?.loadBalancerClass;
  const { kind, metadata } = child, wanted = classOf(child as object), kept = classOf(over as object);
  if (kind !== "Service" || wanted === undefined || wanted === kept) return undefined;
  const has = kept === undefined ? "has no loadBalancerClass" : `has loadBalancerClass "${kept}"`;
  return `Service "${metadata.namespace}/${metadata.name}" ${has}, which cannot become "${wanted}"; delete it to have it made anew, or ask for what it has`;
}

/** Whether an object is that of the Gateway which `child` is made for, and not of an earlier one of the same name. */
export function owns(child: ApiObject, observed: ApiObject): boolean {
  return ownerOf(observed.metadata)?.uid === ownerOf(child.metadata)?.uid;
}

/** Says whose an object is, and what to do about it. */
export function namesake(child: ApiObject, { metadata }: ApiObject): string {
  const what = `${child.kind} "${metadata.namespace}/${metadata.name}"`;
  const owner = ownerOf(metadata), own = ownerOf(child.metadata);
  if (owner && owner.gateway === own?.gateway) {
    return `${what} is still there from a Gateway of the same name that has been deleted; it goes by itself, or else delete it`;
  }
  const whose = owner ? `belongs to Gateway "${owner.gateway}"` : "was not made for this Gateway";
  return `${what} ${whose} and is left alone; rename or delete it, or give the Gateway another name`;
}

/** With a hash of itself: fields that were applied before and are wanted no longer show by it. */
function stamped(child: Child): Child {
  const { metadata } = child;
  const hash = hashOf(child);
  return {
    ...child,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.applied]: hash } },
  };
}

/** A hash of a value of JSON, in whatever order its fields are: 128 bits in base64url. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value, sorted)).digest("base64url").slice(0, 22);
}

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}
