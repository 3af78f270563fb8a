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
  /** Nothing may be written: there is an object of that name that is not the Gateway's. */
  | {
    readonly action: "none";
    readonly gateway: GatewayKey;
    readonly kind: ChildKind;
    readonly namesake: string;
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
  if (!owns(child, observed)) return { action: "none", gateway, kind, namesake: namesake(child, observed) };
  // It is made anew once it is gone.
  if (observed.metadata.deletionTimestamp !== undefined) return undefined;
  const over = writtenOver(object, observed, pods), differs = difference(over, observed);
  return differs === undefined ? undefined : { ...apply, object: over, differs };
}

/**
 * An object as it is to be written over the one that was observed: for that version of it, and with what others have chosen
 * in the fields that leave them a choice.
 */
export function writtenOver(object: Child, observed: ApiObject, pods?: number): Child {
  const { uid, resourceVersion } = observed.metadata;
  return {
    ...withFamilies(withReplicas(object, observed, pods), observed),
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
