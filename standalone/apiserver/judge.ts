/**
 * Whether an object may be written: by its schema, its metadata, its size.
 *
 * @module
 */
import type { ApiObject, Version } from "../../crds/kind.ts";
import { checkMetadata } from "./metadata.ts";
import type { FieldValidation } from "./request.ts";
import type { Resource } from "./resources.ts";
import { type ApiError, badRequest, type Cause, invalid, tooLarge } from "./status.ts";
import type { Row } from "./store.ts";
import { subjectOf, type Writing } from "./target.ts";

/** etcd's limit of one request, which is what limits objects on a real cluster. */
const objectSizeLimit = 1.5 * 1024 * 1024;

/** @throws {ApiError} 422 with everything that is wrong */
export function judge(
  api: Writing,
  resource: Resource,
  version: Version,
  object: ApiObject,
  old: ApiObject | undefined,
  causes: readonly Cause[],
): { readonly object: ApiObject; readonly unknownFields: readonly string[] } {
  const { model, channel } = api.resources;
  const verdict = model.validate(resource.kind, version, object, { channel, ...(old ? { old } : {}) });
  // Kubernetes' own kinds are decoded into types of Go first.
  const undecodable = !resource.custom &&
    verdict.errors.find(({ reason, message }) =>
      reason === "FieldValueTypeInvalid" || message.endsWith("must be base64")
    );
  if (undecodable) {
    const { kind } = resource.kind, { field, message } = undecodable;
    throw badRequest(
      `${kind} in version ${
        JSON.stringify(version.name)
      } cannot be handled as a ${kind}: ${field}: ${message}`,
    );
  }
  const mine = [
    ...causes,
    ...checkMetadata(object.metadata, resource.custom || resource.id.startsWith("leases.")),
  ];
  // What is wrong with metadata is said once, in the words of Kubernetes.
  const theirs = verdict.errors.filter(({ field = "" }) =>
    !mine.some((cause) => field.startsWith(cause.field ?? "?"))
  );
  const all = [...mine, ...old && theirs.length > 0 ? added(api, resource, version, theirs, old) : theirs];
  if (all.length > 0) throw invalid(subjectOf(resource), object.metadata.name, all);
  return { object: { ...verdict.object, metadata: object.metadata }, unknownFields: verdict.unknownFields };
}

/**
 * Errors that the object did not have before: one that was stored under laxer rules can still be changed elsewhere,
 * and lose its finalizers. Kubernetes calls it ratcheting.
 */
function added(
  { resources: { model, channel } }: Writing,
  resource: Resource,
  version: Version,
  errors: readonly Cause[],
  old: ApiObject,
): readonly Cause[] {
  const before = model.validate(resource.kind, version, old, { channel }).errors;
  const known = new Set(before.map(({ field, message }) => `${field}: ${message}`));
  return errors.filter(({ field, message }) => !known.has(`${field}: ${message}`));
}

/** @throws {ApiError} 413 if etcd would not take it */
export function checkSize({ object, json: { length: size } }: Row): void {
  if (size > objectSizeLimit) {
    throw tooLarge(
      `etcdserver: request is too large: ${object.kind} ${JSON.stringify(object.metadata.name)} has ` +
        `${size} bytes, the limit is ${objectSizeLimit}`,
    );
  }
}

function unknownText(paths: readonly string[]): string {
  return paths.map((path) => `unknown field ${JSON.stringify(path)}`).join(", ");
}

/** What `fieldValidation=Strict` answers to unknown fields. */
export function strictRefusal(
  resource: Resource,
  version: Version,
  isPatch: boolean,
  object: ApiObject,
  unknownFields: readonly string[],
): ApiError {
  const text = `strict decoding error: ${unknownText(unknownFields)}`;
  const { kind } = resource.kind;
  if (!isPatch) {
    return badRequest(
      `${kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${kind}: ${text}`,
    );
  }
  return invalid({ group: "", plural: "", kind: "" }, "", [{
    reason: "FieldValueInvalid",
    field: "patch",
    message: `Invalid value: ${JSON.stringify(JSON.stringify(object))}: ${text}`,
  }]);
}

/** What `fieldValidation=Warn` says about them. */
export function warnings(
  unknownFields: readonly string[],
  options: { readonly fieldValidation: FieldValidation },
) {
  return options.fieldValidation === "Warn"
    ? unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`)
    : [];
}
