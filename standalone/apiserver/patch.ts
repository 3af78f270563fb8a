/**
 * JSON patch (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch.
 *
 * @module
 */
import { applyPatch, type Operation } from "rfc6902";
import type { ApiObject } from "../../crds/kind.ts";
import { badRequest, tooLarge, unprocessable, unsupportedMediaType } from "./status.ts";
import { strategicMerge } from "./strategic.ts";

/** Content types of patches that are served for kinds of CustomResourceDefinitions. */
const customTypes = ["application/json-patch+json", "application/merge-patch+json"] as const;
const builtInTypes = [...customTypes, "application/strategic-merge-patch+json"] as const;

/** What to make of an object. */
export type Patch = (current: ApiObject) => unknown;

/**
 * Reads a patch.
 *
 * @throws {ApiError} 415 if the content type is not served, 400 if the text is not a patch
 */
export function readPatch(contentType: string, text: string, custom: boolean): Patch {
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
  if (contentType === "application/json-patch+json") {
    if (!Array.isArray(body)) {
      throw badRequest("error decoding patch: a JSON patch is an array of operations");
    }
    if (body.length > 10_000) {
      throw tooLarge(`The allowed maximum operations in a JSON patch is 10000, got ${body.length}`);
    }
    return jsonPatch(body as Operation[]);
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
    const object = structuredClone(current);
    const errors = applyPatch(object, structuredClone(operations) as Operation[]);
    const index = errors.findIndex((error) => error !== null);
    if (index < 0) return object;
    const operation = operations[index]!;
    const message = operation?.op === "test"
      ? `testing value ${operation.path} failed: test failed`
      : `${
        operation?.op ?? "operation"
      } operation does not apply: doc is missing path: ${operation?.path}: ` +
        `${errors[index]!.message || errors[index]!.name}`;
    throw unprocessable(message);
  };
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
