/**
 * Changing an object: by a new version of it, or by a patch.
 *
 * Each is one decision on the newest state, so a patch needs no retry and a precondition cannot go stale.
 *
 * @module
 */
import { type ApiObject, apiVersion, type ObjectMeta } from "../../crds/kind.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import { createIn } from "./create.ts";
import { finalizerWarnings } from "./metadata.ts";
import { finalizersOf, replace } from "./deletion.ts";
import { content, counted } from "./generation.ts";
import { checkSize, judge, strictRefusal, warnings } from "./judge.ts";
import type { WriteOptions } from "./request.ts";
import type { Resource, Unstructured } from "./resources.ts";
import {
  ApiError,
  badRequest,
  type Cause,
  conflict,
  invalid,
  invalidPatch,
  modified,
  notFound,
  type Subject,
} from "./status.ts";
import type { Transaction } from "./store.ts";
import { strategyOf } from "./strategies.ts";
import { keyOfTarget, readObject, subjectOf, type Target, type Writing, type Written } from "./target.ts";

/** Replaces an object. */
export function update(api: Writing, target: Target, body: unknown, options: WriteOptions): Promise<Written> {
  const { object, unknownFields } = readObject(target, body);
  if (object.metadata.name !== target.name) {
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${target.name})`,
    );
  }
  return api.store.write((tx) => {
    const absent = !tx.get(target.resource.id, keyOfTarget(target));
    if (absent && strategyOf(target.resource).createOnUpdate && !object.metadata.uid) {
      return createIn(tx, api, target, object, unknownFields, options);
    }
    return replaceIn(tx, api, target, { next: () => body, patch: false }, options);
  }, options);
}

/**
 * Replaces an object by what a patch makes of it.
 *
 * @param next gets the object in the version of the request; it may throw an `ApiError`
 */
export function patch(
  api: Writing,
  target: Target,
  next: (current: ApiObject) => unknown,
  options: WriteOptions,
): Promise<Written> {
  return api.store.write((tx) => replaceIn(tx, api, target, { next, patch: true }, options), options);
}

interface Replacement {
  next(current: ApiObject): unknown;
  /** Whether it says only what is to be changed, so that no resourceVersion is asked for. */
  readonly patch: boolean;
}

function replaceIn(
  tx: Transaction,
  api: Writing,
  target: Target,
  replacement: Replacement,
  options: WriteOptions,
): Written {
  const { resource, version } = target;
  const subject = subjectOf(resource);
  const strategy = strategyOf(resource);
  const name = target.name!;
  const row = tx.get(resource.id, keyOfTarget(target));
  if (!row) throw notFound(subject, name);
  const current = resource.fromStored(row.object, version.name) as Unstructured;

  const { object: given, unknownFields } = replacement.patch
    ? readPatched(target, replacement.next(current))
    : readObject(target, replacement.next(current));
  checkIdentity(subject, name, given.metadata, row.object, {
    patch: replacement.patch,
    versionNeeded: !replacement.patch && !strategy.unconditionalUpdate,
  });
  const wanted = target.subresource === "finalize"
    ? { ...current, spec: (given as Unstructured)["spec"] } as ApiObject
    : target.subresource === "status"
    ? withStatus(
      resource.custom ? current : relabelled(resource, given, current),
      (given as Unstructured)["status"],
    )
    : strategy.adjust(merge(resource, given as Unstructured, current), current);
  const verdict = judge(api, resource, version, wanted, current, checkFinalizers(wanted, current));
  const dropped = [...unknownFields, ...verdict.unknownFields];
  if (options.fieldValidation === "Strict" && dropped.length > 0) {
    throw strictRefusal(resource, version, replacement.patch, given, dropped);
  }
  const causes = strategy.transition(verdict.object, current);
  if (causes.length > 0) throw invalid(subject, name, causes);

  const prepared = target.subresource === undefined
    ? strategy.prepare(tx, verdict.object, current)
    : verdict.object;
  const next = resource.toStored(prepared);
  const said = [...warnings(dropped, options), ...finalizerWarnings(wanted, current, resource.custom)];
  const answer = { code: 200, warnings: said } as const;
  if (equal(next, row.object)) return { ...answer, object: row.object, row };
  const stored = counted(resource) && !equal(content(resource, next), content(resource, row.object))
    ? { ...next, metadata: { ...next.metadata, generation: (row.object.metadata.generation ?? 0) + 1 } }
    : next;
  const replaced = replace(tx, row, stored);
  if (replaced.row) checkSize(replaced.row);
  if (!options.dryRun) return { ...answer, ...replaced };
  const resourceVersion = row.object.metadata.resourceVersion!;
  const { object } = replaced;
  return { ...answer, object: { ...object, metadata: { ...object.metadata, resourceVersion } } };
}

/** What a patch has made. If it is no object of the kind any more, the patch is to blame, not the request. */
function readPatched(target: Target, patched: unknown): ReturnType<typeof readObject> {
  const { kind } = target.resource, wanted = apiVersion(kind, target.version.name);
  const given = (patched as { readonly apiVersion?: unknown } | undefined)?.apiVersion;
  if (target.resource.custom && given !== wanted) {
    throw invalid({ group: "", plural: "", kind: kind.kind }, target.name!, [{
      reason: "FieldValueInvalid",
      field: "apiVersion",
      message: `Invalid value: ${JSON.stringify(given)}: must be ${wanted}`,
    }]);
  }
  try {
    return readObject(target, patched);
  } catch (error) {
    if (error instanceof ApiError && error.code === 400) throw invalidPatch(error.message);
    throw error;
  }
}

function checkIdentity(
  subject: Subject,
  name: string,
  given: ObjectMeta,
  current: ApiObject,
  options: { readonly patch: boolean; readonly versionNeeded: boolean },
): void {
  const { metadata } = current;
  if (options.patch && given.name !== metadata.name) {
    throw badRequest(
      `the name of the object (${given.name}) does not match the name on the URL (${metadata.name})`,
    );
  }
  if (options.patch && given.uid !== metadata.uid) {
    throw invalid(subject, name, [{
      reason: "FieldValueInvalid",
      field: "metadata.uid",
      message: `Invalid value: ${JSON.stringify(given.uid)}: field is immutable`,
    }]);
  }
  if (given.uid !== undefined && given.uid !== metadata.uid) {
    throw conflict(
      subject,
      name,
      `Precondition failed: UID in precondition: ${given.uid}, UID in object meta: ${metadata.uid}`,
    );
  }
  if (given.name && given.name !== metadata.name) {
    throw invalid(subject, name, [{
      reason: "FieldValueInvalid",
      field: "metadata.name",
      message: `Invalid value: ${JSON.stringify(given.name)}: field is immutable`,
    }]);
  }
  const version = given.resourceVersion === "0" ? undefined : given.resourceVersion;
  if (version === undefined && options.versionNeeded) {
    throw invalid(subject, name, [{
      reason: "FieldValueInvalid",
      field: "metadata.resourceVersion",
      message: "Invalid value: 0x0: must be specified for an update",
    }]);
  }
  if (version !== undefined && version !== metadata.resourceVersion) throw conflict(subject, name, modified);
}

/** What a client may change of the metadata, with what it may not kept. */
function merge(resource: Resource, given: Unstructured, current: Unstructured): Unstructured {
  const { labels, annotations, ownerReferences, finalizers } = given.metadata;
  const { name, namespace, generateName, uid, resourceVersion, generation, creationTimestamp } =
    current.metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds } = current.metadata;
  const metadata = Object.fromEntries(
    Object.entries({
      name,
      generateName,
      namespace,
      uid,
      resourceVersion,
      generation,
      creationTimestamp,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      labels,
      annotations,
      ownerReferences,
      finalizers,
    }).filter(([, value]) => value !== undefined),
  ) as unknown as ObjectMeta;
  const next = { ...given, metadata };
  return resource.kind.hasStatus ? withStatus(next, current["status"]) : next;
}

/** With the status of Kubernetes' own kinds their metadata are written, too. */
function relabelled(resource: Resource, given: ApiObject, current: Unstructured): Unstructured {
  return { ...current, metadata: merge(resource, given as Unstructured, current).metadata };
}

function withStatus(object: Unstructured, status: unknown): Unstructured {
  const { status: _, ...rest } = object;
  return (status === undefined ? rest : { ...rest, status }) as Unstructured;
}

function checkFinalizers(next: ApiObject, current: ApiObject): readonly Cause[] {
  if (current.metadata.deletionTimestamp === undefined) return [];
  const before = new Set(finalizersOf(current));
  const added = finalizersOf(next).filter((name) => !before.has(name));
  if (added.length === 0) return [];
  return [{
    reason: "FieldValueForbidden",
    field: "metadata.finalizers",
    message:
      "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers " +
      `[]string{${added.map((name) => JSON.stringify(name)).join(", ")}}`,
  }];
}
