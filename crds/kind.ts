/**
 * What there is to know about a kind of object: its names, its versions, their schemas.
 *
 * The client, the watches, the API server of `standalone`, the generated CRDs and RBAC and the webhooks all
 * read the same descriptions.
 *
 * @module
 */
import type { z } from "zod";

/** The metadata that Gatehouse reads; anything else the API server sends is kept as it is. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly labels?: { readonly [name: string]: string };
  readonly annotations?: { readonly [name: string]: string };
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Any Kubernetes object. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** One condition, as in `metav1.Condition`. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

export type Channel = "standard" | "experimental";

/** A column of `kubectl get`, as in a CRD's additionalPrinterColumns. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date" | "boolean";
  /** The subset of JSONPath that kube-apiserver allows here, such as `.status.addresses[*].value`. */
  readonly jsonPath: string;
  readonly priority?: number;
}

/** One served version of a kind. The schema validates and defaults a whole object, metadata included. */
export interface Version<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly channel: Channel;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly schema: z.ZodType<T>;
  readonly columns: readonly Column[];
}

/** A kind of object. `T` is its type in the storage version. */
export interface Kind<T extends ApiObject = ApiObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Whether `/status` is a subresource, so that `metadata.generation` counts changes of the rest. */
  readonly hasStatus: boolean;
  /** The storage version first. */
  readonly versions: readonly [Version<T>, ...Version[]];
}

/** `group/version`, or `version` in the core group. */
export function apiVersion(kind: Kind, version = kind.versions[0].name): string {
  return kind.group ? `${kind.group}/${version}` : version;
}

/** The group, empty for the core group, and the version of an `apiVersion`: the reverse of {@linkcode apiVersion}. */
export function splitApiVersion(
  apiVersion: string,
): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) };
}

/** `namespace/name`, or `name` where the kind has no namespaces. */
export function keyOf(object: ApiObject): string {
  const { namespace, name } = object.metadata;
  return namespace ? `${namespace}/${name}` : name;
}

/** The name that {@linkcode keyOf} has made a key of. */
export function splitKey(key: string): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
