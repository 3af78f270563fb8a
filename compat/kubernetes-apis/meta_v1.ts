/**
 * `@cloudydeno/kubernetes-apis/meta/v1`.
 *
 * @module
 */
import type { JSONValue } from "./deps.ts";
import {
  type Condition,
  conditionCodec,
  type ListMeta,
  listMetaCodec,
  type ObjectMeta,
  objectMetaCodec,
  type OwnerReference,
  ownerReferenceCodec,
} from "./meta.ts";

export { fromStatus, toStatus } from "./meta.ts";
export type {
  Condition,
  ListMeta,
  ManagedFieldsEntry,
  ObjectMeta,
  OwnerReference,
  Status,
  StatusCause,
  StatusDetails,
} from "./meta.ts";

export const toListMeta: (input: JSONValue) => ListMeta = listMetaCodec.to;
export const fromListMeta: (input: ListMeta) => JSONValue = listMetaCodec.from;
export const toObjectMeta: (input: JSONValue) => ObjectMeta = objectMetaCodec.to;
export const fromObjectMeta: (input: ObjectMeta) => JSONValue = objectMetaCodec.from;
export const toOwnerReference: (input: JSONValue) => OwnerReference = ownerReferenceCodec.to;
export const fromOwnerReference: (input: OwnerReference) => JSONValue = ownerReferenceCodec.from;
export const toCondition: (input: JSONValue) => Condition = conditionCodec.to;
export const fromCondition: (input: Condition) => JSONValue = conditionCodec.from;
