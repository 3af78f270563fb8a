/**
 * Create, update, patch and delete.
 *
 * Each is one decision on the newest state, so a patch needs no retry and a precondition cannot go stale.
 *
 * @module
 */
import type { ApiObject, ObjectMeta, Version } from "../../crds/kind.ts";
import { apiVersion, keyOf } from "../../crds/kind.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import { type Deletion, finalizersOf, remove, replace, timestamp } from "./deletion.ts";
import { checkMetadata, checkName, generateName, readMetadata } from "./metadata.ts";
import type { DeleteOptions, FieldValidation, WriteOptions } from "./request.ts";
import type { Resource, Resources, Unstructured } from "./resources.ts";
import { strategyOf } from "./strategies.ts";
import {
  alreadyExists,
  badRequest,
  type Cause,
  conflict,
  forbidden,
  invalid,
  modified,
  notFound,
  type Status,
  type Subject,
  success,
  tooLarge,
} from "./status.ts";
import type { Row, Store, Transaction } from "./store.ts";

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
  readonly warnings: readonly string[];
}

/** etcd's limit of one request, which is what limits objects on a real cluster. */
const objectSizeLimit = 1.5 * 1024 * 1024;

export function subjectOf(resource: Resource): Subject {
  return { group: resource.group, plural: resource.plural, kind: resource.kind.kind };
}

export function keyOfTarget({ namespace, name }: Target): string {
  return namespace === undefined ? name! : `${namespace}/${name}`;
}

/** Makes an object. */
export function create(
  api: Writing,
  target: Target,
  body: unknown,
  options: WriteOptions,
): Promise<Written> {
  const { object, unknownFields } = read(target, body);
  return api.store.write((tx) => createIn(tx, api, target, object, unknownFields, options), options);
}

function createIn(
  tx: Transaction,
  api: Writing,
  target: Target,
  given: ApiObject,
  unknownFields: readonly string[],
  options: WriteOptions,
): Written {
  const { resource, version } = target;
  const subject = subjectOf(resource);
  const strategy = strategyOf(resource);
  const {
    resourceVersion,
    uid: _uid,
    deletionTimestamp: _d,
    deletionGracePeriodSeconds: _g,
    generation: _n,
    ...metadata
  } = given.metadata;
  if (resourceVersion !== undefined && resourceVersion !== "0") {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const generated = !metadata.name && metadata.generateName;
  const name = generated ? generateName(metadata.generateName!) : metadata.name;
  if (!name) {
    throw invalid(subject, "", [{
      reason: "FieldValueRequired",
      field: "metadata.name",
      message: "Required value: name or generateName is required",
    }]);
  }
  if (target.namespace !== undefined) admitInto(tx, subject, name, target.namespace);
  const full: Unstructured = {
    ...given,
    metadata: {
      ...metadata,
      name,
      ...(target.namespace === undefined ? {} : { namespace: target.namespace }),
      uid: crypto.randomUUID(),
      ...(counted(resource) ? { generation: 1 } : {}),
      creationTimestamp: timestamp(api.clock.now()),
    } as ObjectMeta,
  };
  const { status: _, ...withoutStatus } = full;
  const verdict = judge(
    api,
    resource,
    version,
    resource.kind.hasStatus ? withoutStatus as ApiObject : full,
    undefined,
    checkName(name, strategy.name),
  );
  const dropped = [...unknownFields, ...verdict.unknownFields];
  if (options.fieldValidation === "Strict" && dropped.length > 0) {
    throw badRequest(
      `${resource.kind.kind} in version ${
        JSON.stringify(version.name)
      } cannot be handled as a ${resource.kind.kind}: ` +
        `strict decoding error: ${unknownText(dropped)}`,
    );
  }
  const object = resource.toStored(strategy.prepare(tx, verdict.object, undefined));
  if (tx.get(resource.id, keyOf(object))) throw alreadyExists(subject, name);
  checkSize(object);
  const row = tx.put(resource.id, object);
  return {
    code: 201,
    object: options.dryRun ? unversioned(row.object) : row.object,
    warnings: warnings(dropped, options),
  };
}

/**
 * Replaces an object by what `next` makes of the current one.
 *
 * @param next gets the current object in the version of the request; it may throw an `ApiError`
 */
export interface Replacement {
  next(current: ApiObject): { readonly object: unknown; readonly warnings?: readonly string[] };
  /** Whether `next` gives only what is to be changed, so that no resourceVersion is asked for. */
  readonly patch: boolean;
}

export function update(api: Writing, target: Target, body: unknown, options: WriteOptions): Promise<Written> {
  const { object, unknownFields } = read(target, body);
  if (object.metadata.name && object.metadata.name !== target.name) {
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${target.name})`,
    );
  }
  return api.store.write((tx) => {
    if (!tx.get(target.resource.id, keyOfTarget(target)) && strategyOf(target.resource).createOnUpdate) {
      if (!object.metadata.uid) return createIn(tx, api, target, object, unknownFields, options);
    }
    return replaceIn(tx, api, target, { next: () => ({ object: body }), patch: false }, options);
  }, options);
}

export function patch(
  api: Writing,
  target: Target,
  next: (current: ApiObject) => unknown,
  options: WriteOptions,
): Promise<Written> {
  return api.store.write(
    (tx) =>
      replaceIn(tx, api, target, { next: (current) => ({ object: next(current) }), patch: true }, options),
    options,
  );
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

  const { object: given, unknownFields } = read(target, replacement.next(current).object);
  checkIdentity(subject, name, given.metadata, row.object, {
    versionNeeded: !replacement.patch && !strategy.unconditionalUpdate,
  });
  const wanted = target.subresource === "finalize"
    ? { ...current, spec: (given as Unstructured)["spec"] } as ApiObject
    : target.subresource === "status"
    ? withStatus(current, (given as Unstructured)["status"])
    : merge(resource, given as Unstructured, current);
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
  const unchanged = equal(next, row.object);
  const answer = { code: 200, warnings: warnings(dropped, options) } as const;
  if (unchanged) return { ...answer, object: row.object };
  const stored = counted(resource) && !equal(content(resource, next), content(resource, row.object))
    ? { ...next, metadata: { ...next.metadata, generation: (row.object.metadata.generation ?? 0) + 1 } }
    : next;
  checkSize(stored);
  const { object } = replace(tx, row, stored);
  return {
    ...answer,
    object: options.dryRun
      ? { ...object, metadata: { ...object.metadata, resourceVersion: row.object.metadata.resourceVersion! } }
      : object,
  };
}

/** Deletes one object. */
export function removeOne(
  api: Writing,
  target: Target,
  options: DeleteOptions,
): Promise<ApiObject | Status> {
  const { resource } = target;
  const subject = subjectOf(resource);
  const name = target.name!;
  return api.store.write((tx) => {
    const row = tx.get(resource.id, keyOfTarget(target));
    if (!row) throw notFound(subject, name);
    if (resource.id === "namespaces" && ["default", "kube-public", "kube-system"].includes(name)) {
      throw forbidden(subject, name, "this namespace may not be deleted");
    }
    const { gone, object } = remove(tx, resource, row, deletion(api, options));
    return gone ? success(subject, name, object.metadata.uid) : object;
  }, options);
}

/** Deletes what matches, and answers with it. */
export async function removeAll(
  api: Writing,
  resource: Resource,
  rows: readonly Row[],
  options: DeleteOptions,
): Promise<readonly ApiObject[]> {
  const removed: ApiObject[] = [];
  for (let i = 0; i < rows.length; i += 100) { // in portions: a transaction holds up all others
    removed.push(
      ...await api.store.write((tx) =>
        rows.slice(i, i + 100).flatMap(({ key }) => {
          const row = tx.get(resource.id, key);
          return row ? [remove(tx, resource, row, deletion(api, options)).object] : [];
        }), options),
    );
  }
  return removed;
}

function deletion(api: Writing, options: DeleteOptions): Deletion {
  return { propagation: options.propagation, preconditions: options.preconditions, now: api.clock.now() };
}

/** Gives a body its type, and compares it with the request. */
function read(
  target: Target,
  body: unknown,
): { readonly object: ApiObject; readonly unknownFields: readonly string[] } {
  const { resource, version } = target;
  const { kind } = resource.kind;
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
  }
  const given = body as Record<string, unknown>;
  const expected = apiVersion(resource.kind, version.name);
  if (!given["kind"]) {
    throw badRequest(`Object 'Kind' is missing in the object provided; expected ${expected}, ${kind}`);
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
    if (target.namespace === undefined && metadata.namespace) {
      throw badRequest(`namespace is not allowed on this type: ${kind} is cluster-scoped`);
    }
    return { object: { ...given, metadata } as unknown as ApiObject, unknownFields };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw badRequest(
      `${kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${kind}: ${error.message}`,
    );
  }
}

/** The namespace must be there, and must not be on its way out. */
function admitInto(tx: Transaction, subject: Subject, name: string, namespace: string): void {
  const row = tx.get("namespaces", namespace);
  if (!row) throw notFound({ group: "", plural: "namespaces", kind: "Namespace" }, namespace);
  if (row.object.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    subject,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [{
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    }],
  );
}

function checkIdentity(
  subject: Subject,
  name: string,
  given: ObjectMeta,
  current: ApiObject,
  options: { readonly versionNeeded: boolean },
): void {
  const { metadata } = current;
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

/** @throws {ApiError} 422 with everything that is wrong */
function judge(
  api: Writing,
  resource: Resource,
  version: Version,
  object: ApiObject,
  old: ApiObject | undefined,
  causes: readonly Cause[],
): { readonly object: ApiObject; readonly unknownFields: readonly string[] } {
  const { model, channel } = api.resources;
  const verdict = model.validate(resource.kind, version, object, { channel, ...(old ? { old } : {}) });
  const mine = [...causes, ...checkMetadata(object.metadata)];
  // What is wrong with metadata is said once, in the words of Kubernetes.
  const theirs = verdict.errors.filter(({ field = "" }) =>
    !mine.some((cause) => field.startsWith(cause.field ?? "?"))
  );
  const all = [...mine, ...theirs];
  if (all.length > 0) throw invalid(subjectOf(resource), object.metadata.name, all);
  return { object: { ...verdict.object, metadata: object.metadata }, unknownFields: verdict.unknownFields };
}

/** Whether `metadata.generation` counts the changes of what is wanted. */
function counted(resource: Resource): boolean {
  return resource.custom || ["apps", "policy", "autoscaling", "discovery.k8s.io"].includes(resource.group);
}

/** The part of an object that its generation counts. */
function content(resource: Resource, object: ApiObject): Record<string, unknown> {
  const { metadata: _m, ...rest } = object as Unstructured;
  const { status: _s, ...wanted } = rest;
  return resource.kind.hasStatus ? wanted : rest;
}

function checkSize(object: ApiObject): void {
  const size = JSON.stringify(object).length;
  if (size > objectSizeLimit) {
    throw tooLarge(
      `etcdserver: request is too large: ${object.kind} ${JSON.stringify(object.metadata.name)} has ` +
        `${size} bytes, the limit is ${objectSizeLimit}`,
    );
  }
}

function unversioned(object: ApiObject): ApiObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function unknownText(paths: readonly string[]): string {
  return paths.map((path) => `unknown field ${JSON.stringify(path)}`).join(", ");
}

function strictRefusal(
  resource: Resource,
  version: Version,
  isPatch: boolean,
  object: ApiObject,
  unknownFields: readonly string[],
) {
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

function warnings(unknownFields: readonly string[], options: { readonly fieldValidation: FieldValidation }) {
  return options.fieldValidation === "Warn"
    ? unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`)
    : [];
}
