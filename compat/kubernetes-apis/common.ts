/**
 * A stand-in for `@cloudydeno/kubernetes-apis/common.ts`, for machines that cannot reach JSR: the contract of the client
 * and the conversions that the API classes use.
 *
 * @module
 */
import type { ApiKind, JSONValue, RequestOptions, WatchEvent } from "./deps.ts";
import type { Status } from "./meta.ts";

export {
  type ApiKind,
  type JSONValue,
  type RestClient,
  type WatchEvent,
  WatchEventTransformer,
} from "./deps.ts";
export { assertOrAddApiVersionAndKind, isStatusKind } from "./meta.ts";
export {
  checkBool,
  checkNum,
  checkObj,
  checkStr,
  fromMicroTime,
  fromQuantity,
  fromTime,
  identity,
  type IntOrString,
  MicroTime,
  Quantity,
  readEnum,
  readList,
  readMap,
  readOpt,
  type Time,
  toIntOrString,
  toMicroTime,
  toQuantity,
  toTime,
  type UnexpectedEnumValue,
  writeMap,
} from "./values.ts";

/** What a watch of an API class yields. */
export type WatchEventStream<T> = ReadableStream<WatchEvent<T & ApiKind, Status & ApiKind>>;

export type PatchType = "strategic-merge" | "json-merge" | "json-patch" | "apply-patch";

const patchContentTypes: { readonly [type in PatchType]: string } = {
  "strategic-merge": "application/strategic-merge-patch+json",
  "json-merge": "application/merge-patch+json",
  "json-patch": "application/json-patch+json",
  "apply-patch": "application/apply-patch+yaml",
};

/** The media type of a kind of patch. */
export function getPatchContentType(type: PatchType): string {
  if (Object.hasOwn(patchContentTypes, type)) return patchContentTypes[type];
  throw new Error(`Unknown Kubernetes patch type: ${JSON.stringify(type)}`);
}

export type JsonPatch = JsonPatchOp[];
/** One operation of RFC 6902. */
export type JsonPatchOp =
  | { op: "add"; path: string; value: JSONValue }
  | { op: "remove"; path: string }
  | { op: "replace"; path: string; value: JSONValue }
  | { op: "move"; from: string; path: string }
  | { op: "copy"; from: string; path: string }
  | { op: "test"; path: string; value: JSONValue };

/** For the endpoints that lead through the API server to something else. */
export type ProxyOptions = RequestOptions & { port?: string | number };
