/**
 * What a request to write is about, and the object that it brings.
 *
 * @module
 */
import { type ApiObject, apiVersion, type Version } from "../../crds/kind.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import { readMetadata } from "./metadata.ts";
import type { Resource, Resources } from "./resources.ts";
import { badRequest, invalid, type Subject } from "./status.ts";
import type { Row, Store } from "./store.ts";

/** What writing needs of the server. */
export interface Writing {
  readonly store: Store;
  readonly resources: Resources;
  readonly clock: Clock;
}

/** What a request is about. */
export interface Target {
  readonly resource: Resource;
  readonly version: Version;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: "status" | "finalize" | undefined;
}

export interface Written {
  readonly code: 200 | 201;
  /** In the storage version. */
  readonly object: ApiObject;
  /** What is stored now, if that is the object. */
  readonly row?: Row;
  readonly warnings: readonly string[];
}

export function subjectOf(resource: Resource): Subject {
  return { group: resource.group, plural: resource.plural, kind: resource.kind.kind };
}

export function keyOfTarget({ namespace, name }: Target): string {
  return namespace === undefined ? name! : `${namespace}/${name}`;
}

/** The type of an object of Kubernetes' own kinds, which need not say it. */
function typed(body: object, apiVersion: string, kind: string): object {
  const given = body as { readonly apiVersion?: unknown; readonly kind?: unknown };
  return { apiVersion: given.apiVersion || apiVersion, kind: given.kind || kind };
}

/** Gives a body its type, and compares it with the request. */
export function readObject(
  target: Target,
  body: unknown,
): { readonly object: ApiObject; readonly unknownFields: readonly string[] } {
  const { resource, version } = target;
  const { kind } = resource.kind;
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
  }
  const expected = apiVersion(resource.kind, version.name);
  const given: Record<string, unknown> = resource.custom
    ? { ...body }
    : { ...body, ...typed(body, expected, kind) };
  if (!given["kind"]) {
    throw badRequest(`Object 'Kind' is missing in the object provided; expected ${expected}, ${kind}`);
  }
  if (resource.custom && given["kind"] !== kind && given["apiVersion"] === expected) {
    const { name = "" } = (given["metadata"] ?? {}) as { readonly name?: string };
    throw invalid({ ...subjectOf(resource), kind: String(given["kind"]) }, name, [{
      reason: "FieldValueInvalid",
      field: "kind",
      message: `Invalid value: ${JSON.stringify(given["kind"])}: must be ${kind}`,
    }]);
  }
  if (given["kind"] !== kind || given["apiVersion"] === undefined) {
    const [group, v] = String(given["apiVersion"] ?? "").includes("/")
      ? String(given["apiVersion"]).split("/")
      : ["", String(given["apiVersion"] ?? "")];
    throw badRequest(
      `${given["kind"]} in version ${JSON.stringify(v)} cannot be handled as a ${kind}: no kind "${
        given["kind"]
      }" is ` +
        `registered for version "${group ? `${group}/` : ""}${v}"`,
    );
  }
  if (given["apiVersion"] !== expected) {
    throw badRequest(
      `the API version in the data (${
        given["apiVersion"]
      }) does not match the expected API version (${expected})`,
    );
  }
  try {
    const { metadata, unknownFields } = readMetadata(given["metadata"]);
    if (target.namespace !== undefined && metadata.namespace && metadata.namespace !== target.namespace) {
      throw badRequest(
        "the namespace of the provided object does not match the namespace sent on the request",
      );
    }
    const { namespace: _, ...unplaced } = metadata; // of a kind without namespaces it means nothing
    const placed = target.namespace === undefined ? unplaced : metadata;
    return { object: { ...given, metadata: placed } as unknown as ApiObject, unknownFields };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw badRequest(
      `${kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${kind}: ${error.message}`,
    );
  }
}
