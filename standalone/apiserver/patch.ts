/**
 * JSON patch (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch.
 *
 * @module
 */
import { applyPatch, type Operation, Pointer } from "rfc6902";
import type { ApiObject } from "../../crds/kind.ts";
import { checkDepth } from "./depth.ts";
import { badRequest, tooLarge, unprocessable, unsupportedMediaType } from "./status.ts";
import { strategicMerge } from "./strategic.ts";

/** Content types of patches that are served for kinds of CustomResourceDefinitions. */
const customTypes = ["application/json-patch+json", "application/merge-patch+json"] as const;
const builtInTypes = [...customTypes, "application/strategic-merge-patch+json"] as const;

/** How much JSON the copies of one patch may add, in UTF-16 code units: what kube-apiserver allows. */
const mostCopied = 3 * 1024 * 1024;

/** What to make of an object. */
export type Patch = (current: ApiObject) => unknown;

/**
 * Reads a patch.
 *
 * @throws {ApiError} 415 if the content type is not served, 400 if the text is not a patch
 */
export function readPatch(contentType: string, text: string, custom: boolean): Patch {
  const patch = read(contentType, text, custom);
  return (current) => checkDepth(patch(current));
}

function read(contentType: string, text: string, custom: boolean): Patch {
  if (contentType.startsWith("application/apply-patch")) {
    throw unsupportedMediaType(
      'server-side apply is not served by this API server: use "kubectl apply" without --server-side, or a patch of ' +
        "type application/merge-patch+json",
    );
  }
  const types: readonly string[] = custom ? customTypes : builtInTypes;
  if (!types.includes(contentType)) {
    throw unsupportedMediaType(
      "the body of the request was in an unknown format - accepted media types include: " + types.join(", "),
    );
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw badRequest(`error decoding patch: ${(error as Error).message}`);
  }
  checkDepth(body);
  if (contentType === "application/json-patch+json") {
    if (!Array.isArray(body)) {
      throw badRequest("error decoding patch: a JSON patch is an array of operations");
    }
    if (body.length > 10_000) {
      throw tooLarge(`The allowed maximum operations in a JSON patch is 10000, got ${body.length}`);
    }
    if (!body.every(isOperation)) {
      throw badRequest("error decoding patch: each operation has an op and paths that begin with a slash");
    }
    return jsonPatch(body);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badRequest("error decoding patch: a merge patch is an object");
  }
  return contentType === "application/merge-patch+json"
    ? (current) => mergePatch(current, body)
    : (current) => strategicMerge(current, body as Record<string, unknown>);
}

function jsonPatch(operations: readonly Operation[]): Patch {
  return (current) => {
    const object = copyOf(current);
    let copied = 0;
    for (const operation of copyOf(operations)) {
      // Forty copies of an object into itself make more than any memory holds.
      if (operation.op === "copy") copied += copySize(object, operation);
      if (copied > mostCopied) throw tooLarge(`The copies of the patch add more than ${mostCopied} bytes`);
      const [error] = applyPatch(object, [operation]);
      if (error) throw notApplied(operation, error);
    }
    return object;
  };
}

/** A copy of JSON, for a tenth of what `structuredClone` takes. */
function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  const copy = { ...value } as Record<string, unknown>;
  for (const name of Object.keys(copy)) copy[name] = copyOf(copy[name]);
  return copy as T;
}

/** How much a copy adds, in UTF-16 code units of JSON. */
function copySize(object: ApiObject, { from, path }: Extract<Operation, { op: "copy" }>): number {
  const value: unknown = Pointer.fromJSON(from).get(object);
  checkDepth(value, path.split("/").length - 1);
  return JSON.stringify(value)?.length ?? 0;
}

/** Whether a part of a JSON patch has the form of an operation; whether there is such an operation is seen later. */
function isOperation(value: unknown): value is Operation {
  const { path, from } = (value ?? {}) as { readonly path?: unknown; readonly from?: unknown };
  return isPointer(path) && (from === undefined ? !needsFrom(value) : isPointer(from));
}

function needsFrom(value: unknown): boolean {
  return ["copy", "move"].includes((value as { readonly op?: string }).op ?? "");
}

/** RFC 6901. */
function isPointer(value: unknown): value is string {
  return typeof value === "string" && (value === "" || value.startsWith("/"));
}

function notApplied(operation: Operation, error: Error): Error {
  const message = operation.op === "test"
    ? `testing value ${operation.path} failed: test failed`
    : `${operation.op} operation does not apply: doc is missing path: ${operation.path}: ` +
      `${error.message || error.name}`;
  return unprocessable(message);
}

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> =
    typeof target === "object" && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}
