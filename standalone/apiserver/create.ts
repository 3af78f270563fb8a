/**
 * Making an object.
 *
 * @module
 */
import { type ApiObject, keyOf, type ObjectMeta } from "../../crds/kind.ts";
import { timestamp } from "./deletion.ts";
import { counted } from "./generation.ts";
import { checkSize, judge, strictRefusal, warnings } from "./judge.ts";
import { checkName, finalizerWarnings, generateName } from "./metadata.ts";
import type { WriteOptions } from "./request.ts";
import type { Unstructured } from "./resources.ts";
import { alreadyExists, badRequest, forbidden, invalid, notFound, type Subject } from "./status.ts";
import type { Transaction } from "./store.ts";
import { strategyOf } from "./strategies.ts";
import { readObject, subjectOf, type Target, type Writing, type Written } from "./target.ts";

/** Makes an object. */
export function create(
  api: Writing,
  target: Target,
  body: unknown,
  options: WriteOptions,
): Promise<Written> {
  const { object, unknownFields } = readObject(target, body);
  return api.store.write((tx) => createIn(tx, api, target, object, unknownFields, options), options);
}

/** The same inside of a transaction. */
export function createIn(
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
    throw strictRefusal(resource, version, false, full, dropped);
  }
  const object = resource.toStored(strategy.prepare(tx, verdict.object, undefined));
  if (tx.get(resource.id, keyOf(object))) throw alreadyExists(subject, name);
  const row = tx.put(resource.id, object);
  checkSize(row);
  return {
    code: 201,
    ...options.dryRun ? { object: unversioned(row.object) } : { object: row.object, row },
    warnings: [...warnings(dropped, options), ...finalizerWarnings(full, undefined, resource.custom)],
  };
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

function unversioned(object: ApiObject): ApiObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
