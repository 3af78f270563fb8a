/**
 * `meta/v1`: the structures that all objects share, and what tells one kind from another.
 *
 * @module
 */
import type { ApiKind, JSONObject, JSONValue } from "./deps.ts";
import { any, bool, type Codec, list, map, num, opt, str, struct, time, type Value } from "./tables.ts";
import { bug, checkObj, readList } from "./values.ts";

export const listMetaCodec = struct({
  continue: opt(str),
  remainingItemCount: opt(num),
  resourceVersion: opt(str),
  selfLink: opt(str),
});
/** The metadata of a list. */
export interface ListMeta extends Value<typeof listMetaCodec> {}

export const conditionCodec = struct({
  lastTransitionTime: time,
  message: str,
  observedGeneration: opt(num),
  reason: str,
  status: str,
  type: str,
});
/** One aspect of an object's state. */
export interface Condition extends Value<typeof conditionCodec> {}

export const managedFieldsEntryCodec = struct({
  apiVersion: opt(str),
  fieldsType: opt(str),
  fieldsV1: opt(any),
  manager: opt(str),
  operation: opt(str),
  subresource: opt(str),
  time: opt(time),
});
/** Which fields one manager owns. */
export interface ManagedFieldsEntry extends Value<typeof managedFieldsEntryCodec> {}

export const ownerReferenceCodec = struct({
  apiVersion: str,
  blockOwnerDeletion: opt(bool),
  controller: opt(bool),
  kind: str,
  name: str,
  uid: str,
});
/** An object that another one goes with. */
export interface OwnerReference extends Value<typeof ownerReferenceCodec> {}

export const objectMetaCodec = struct({
  annotations: opt(map(str)),
  creationTimestamp: opt(time),
  deletionGracePeriodSeconds: opt(num),
  deletionTimestamp: opt(time),
  finalizers: opt(list(str)),
  generateName: opt(str),
  generation: opt(num),
  labels: opt(map(str)),
  managedFields: opt(list(managedFieldsEntryCodec)),
  name: opt(str),
  namespace: opt(str),
  ownerReferences: opt(list(ownerReferenceCodec)),
  resourceVersion: opt(str),
  selfLink: opt(str),
  uid: opt(str),
});
/** The metadata of an object. */
export interface ObjectMeta extends Value<typeof objectMetaCodec> {}

export const statusCauseCodec = struct({ field: opt(str), message: opt(str), reason: opt(str) });
/** One of several reasons of a failure. */
export interface StatusCause extends Value<typeof statusCauseCodec> {}

export const statusDetailsCodec = struct({
  causes: opt(list(statusCauseCodec)),
  group: opt(str),
  kind: opt(str),
  name: opt(str),
  retryAfterSeconds: opt(num),
  uid: opt(str),
});
/** What a failure is about. */
export interface StatusDetails extends Value<typeof statusDetailsCodec> {}

const statusFields = struct({
  code: opt(num),
  details: opt(statusDetailsCodec),
  message: opt(str),
  metadata: opt(listMetaCodec),
  reason: opt(str),
  status: opt(str),
});
/** What the server answers when it has no object to show. */
export interface Status extends Value<typeof statusFields> {
  apiVersion?: "v1";
  kind?: "Status";
}

/**
 * Checks that `input` is of a kind, or is silent about it, and tells that kind.
 *
 * @throws {Error} for another kind; for a Status the error says its message and holds it as `status`.
 */
export function assertOrAddApiVersionAndKind<T extends string, U extends string>(
  input: JSONObject | { apiVersion?: JSONValue; kind?: JSONValue },
  expectedVersion: T,
  expectedKind: U,
  required = false,
): { apiVersion: T; kind: U } {
  const expected = { apiVersion: expectedVersion, kind: expectedKind };
  const name = (kind: { apiVersion?: JSONValue; kind?: JSONValue }) =>
    JSON.stringify(`${kind.apiVersion}/${kind.kind}`);
  if (!("apiVersion" in input && "kind" in input)) {
    if (!required) return expected;
    throw bug(
      `Kubernetes Resource Mistype: Expected ${
        name(expected)
      }, but the given object didn't have any API metadata`,
    );
  }
  if (input.apiVersion === expectedVersion && input.kind === expectedKind) return expected;
  if (isStatusKind(input)) {
    const status = toStatus(input);
    throw Object.assign(new Error(`Kubernetes says: ${status.message}`), { status });
  }
  throw bug(`Kubernetes Resource Mistype: Expected ${name(expected)}, but was given ${name(input)}`);
}

/** Whether a value is a Status. */
export function isStatusKind(input: JSONValue): boolean {
  if (!input || typeof input !== "object") return false;
  const { apiVersion, kind } = input as Partial<ApiKind>;
  return apiVersion === "v1" && kind === "Status";
}

/** The codec of a whole object: its fields and its kind. */
export interface KindCodec<T> {
  to(input: JSONValue): T & ApiKind;
  from(value: T): JSONValue;
}

/** Adds a kind to the fields of an object. */
export function kind<T extends object>(
  apiVersion: string,
  name: string,
  fields: Required<Pick<Codec<Omit<T, "apiVersion" | "kind">>, "to" | "from">>,
): KindCodec<T> {
  return {
    to: (input) =>
      ({
        ...assertOrAddApiVersionAndKind(checkObj(input), apiVersion, name),
        ...fields.to(input),
      }) as unknown as T & ApiKind,
    from: (value) => ({
      ...assertOrAddApiVersionAndKind(value as JSONObject, apiVersion, name),
      ...fields.from(value) as JSONObject,
    }),
  };
}

/** A list of objects, which is only ever read. */
export interface ListOf<T> {
  metadata: ListMeta;
  items: Array<T>;
}

/** The decoder of a list. */
export function listOf<T, L extends ListOf<T>>(
  apiVersion: string,
  name: string,
  item: KindCodec<T>,
): (input: JSONValue) => L & ApiKind {
  return (input) => {
    const object = checkObj(input);
    return {
      ...assertOrAddApiVersionAndKind(object, apiVersion, name),
      metadata: listMetaCodec.to(object.metadata),
      items: readList(object.items, item.to),
    } as unknown as L & ApiKind;
  };
}

const statusCodec = kind<Status>("v1", "Status", statusFields);
export const toStatus: (input: JSONValue) => Status & ApiKind = statusCodec.to;
export const fromStatus: (input: Status) => JSONValue = statusCodec.from;
