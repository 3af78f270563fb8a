/**
 * Strategic merge patch: a merge patch that merges some lists by a key of their items.
 *
 * Kubernetes documents it in `sig-api-machinery/strategic-merge-patch.md`; which lists are merged is written in the
 * Go types of the core kinds (`patchStrategy`, `patchMergeKey`), here in a table.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import { badRequest, unprocessable } from "./status.ts";

type Json = Readonly<Record<string, unknown>>;

/** The key that items are merged by; `""` for lists of plain values that are merged as sets. */
export type MergeKeys = { readonly [path: string]: string };

const metadata: MergeKeys = { "metadata.ownerReferences": "uid", "metadata.finalizers": "" };

const podSpec = (at: string): MergeKeys => ({
  [`${at}.containers`]: "name",
  [`${at}.containers.ports`]: "containerPort",
  [`${at}.containers.env`]: "name",
  [`${at}.containers.volumeMounts`]: "mountPath",
  [`${at}.containers.volumeDevices`]: "devicePath",
  [`${at}.initContainers`]: "name",
  [`${at}.initContainers.env`]: "name",
  [`${at}.initContainers.volumeMounts`]: "mountPath",
  [`${at}.volumes`]: "name",
  [`${at}.imagePullSecrets`]: "name",
  [`${at}.hostAliases`]: "ip",
  [`${at}.topologySpreadConstraints`]: "topologyKey",
});

const byKind: { readonly [kind: string]: MergeKeys } = {
  Service: { "spec.ports": "port", "status.conditions": "type" },
  ServiceAccount: { "secrets": "name", "imagePullSecrets": "name" },
  Namespace: { "status.conditions": "type" },
  Deployment: { ...podSpec("spec.template.spec"), "status.conditions": "type" },
  DaemonSet: { ...podSpec("spec.template.spec"), "status.conditions": "type" },
  Pod: podSpec("spec"),
  PodDisruptionBudget: { "status.conditions": "type" },
};

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Which lists of a kind are merged, by their paths. */
export function mergeKeysOf(kind: string): MergeKeys {
  return { ...metadata, ...byKind[kind] };
}

/** @throws {ApiError} 400 if the patch is no strategic merge patch, 422 if it does not fit the object */
export function strategicMerge(current: ApiObject, patch: Json): unknown {
  return mergeObject(current as unknown as Json, patch, "", mergeKeysOf(current.kind));
}

function mergeObject(current: Json, patch: Json, path: string, keys: MergeKeys): Json {
  const directive = patch["$patch"];
  if (directive === "delete") return {};
  if (directive === "replace") {
    const { $patch: _, ...rest } = patch;
    return rest;
  }
  if (directive !== undefined && directive !== "merge") {
    throw badRequest(`unknown patch type found: ${String(directive)}`);
  }
  const merged: Record<string, unknown> = { ...current };
  const retain = patch["$retainKeys"];
  if (retain !== undefined) {
    if (!Array.isArray(retain)) throw badRequest("invalid patch format of retainKeys");
    const stranger = Object.keys(patch).find((name) => !name.startsWith("$") && !retain.includes(name));
    if (stranger !== undefined) throw unprocessable("patch content does not match retainKeys list");
    for (const name of Object.keys(merged)) if (!retain.includes(name)) delete merged[name];
  }
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith("$")) continue;
    const at = path === "" ? name : `${path}.${name}`;
    if (value === null) delete merged[name];
    else if (isObject(value)) {
      const old = merged[name];
      merged[name] = mergeObject(isObject(old) ? old : {}, value, at, keys);
    } else if (Array.isArray(value) && keys[at] !== undefined) {
      merged[name] = mergeList(listOf(merged[name]), value, at, keys);
    } else merged[name] = value;
  }
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith("$deleteFromPrimitiveList/")) {
      const field = name.slice("$deleteFromPrimitiveList/".length);
      const gone = new Set(listOf(value));
      merged[field] = listOf(merged[field]).filter((item) => !gone.has(item));
    }
  }
  for (const [name, value] of Object.entries(patch)) {
    if (!name.startsWith("$setElementOrder/")) continue;
    const field = name.slice("$setElementOrder/".length);
    const key = keys[path === "" ? field : `${path}.${field}`];
    if (key !== undefined && merged[field] !== undefined) {
      merged[field] = inOrder(listOf(merged[field]), listOf(value), key);
    }
  }
  return merged;
}

const listOf = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : [];

/** What an item is known by. */
const identity = (item: unknown, key: string): unknown =>
  key === "" ? item : isObject(item) ? item[key] : undefined;

function mergeList(
  current: readonly unknown[],
  patch: readonly unknown[],
  path: string,
  keys: MergeKeys,
): readonly unknown[] {
  const key = keys[path]!;
  // What a patch names comes first, in its order, as long as `$setElementOrder` says nothing else.
  if (key === "") return [...patch, ...current.filter((item) => !patch.includes(item))];
  if (patch.some((item) => isObject(item) && item["$patch"] === "replace")) {
    return patch.filter((item) =>
      !(isObject(item) && item["$patch"] === "replace" && item[key] === undefined)
    )
      .map((item) => isObject(item) ? mergeObject({}, item, path, keys) : item);
  }
  const merged = [...current];
  for (const item of patch) {
    const id = identity(item, key);
    if (!isObject(item) || id === undefined) {
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    }
    const index = merged.findIndex((other) => identity(other, key) === id);
    if (item["$patch"] === "delete") {
      for (let i = merged.length - 1; i >= 0; i--) if (identity(merged[i], key) === id) merged.splice(i, 1);
    } else if (index < 0) merged.push(mergeObject({}, item, path, keys));
    else merged[index] = mergeObject(merged[index] as Json, item, path, keys);
  }
  return merged;
}

/** Items of `order` as they stand there; each other one stays behind the item that it came after. */
function inOrder(items: readonly unknown[], order: readonly unknown[], key: string): readonly unknown[] {
  const wanted = order.map((item) => identity(item, key));
  const rank = new Map(wanted.map((id, index) => [id, index]));
  const listed = items.filter((item) => rank.has(identity(item, key)))
    .sort((a, b) => rank.get(identity(a, key))! - rank.get(identity(b, key))!);
  const result: unknown[] = [];
  let next = 0;
  let before = -1;
  for (const item of items) {
    const position = rank.get(identity(item, key));
    if (position === undefined) {
      result.push(item);
      continue;
    }
    before = Math.max(before, position);
    while (next < listed.length && rank.get(identity(listed[next], key))! <= before) {
      result.push(listed[next++]);
    }
  }
  return [...result, ...listed.slice(next)];
}
