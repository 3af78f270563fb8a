/**
 * The fields that objects may be selected by.
 *
 * @module
 */
import type { Resource } from "./resources.ts";
import { badRequest } from "./status.ts";

const more: { readonly [id: string]: readonly string[] } = {
  namespaces: ["status.phase"],
  secrets: ["type"],
  services: ["spec.clusterIP", "spec.type"],
  pods: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "status.podIP",
  ],
  events: [
    ...["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].flatMap((field) => [
      `involvedObject.${field}`,
      `regarding.${field}`,
    ]),
    "reason",
    "reportingComponent",
    "reportingController",
    "source",
    "type",
  ],
};

/** @throws {ApiError} 400 for a field that the kind does not offer */
export function checkFields(resource: Resource, fields: readonly string[]): void {
  const known = [
    "metadata.name",
    ...(resource.kind.namespaced ? ["metadata.namespace"] : []),
    ...more[resource.id] ?? [],
  ];
  const stranger = fields.find((field) => !known.includes(field));
  if (stranger === undefined) return;
  throw badRequest(
    resource.custom
      ? `field label not supported: ${stranger}`
      : `${JSON.stringify(stranger)} is not a known field selector: only ${
        known.map((field) => JSON.stringify(field)).join(", ")
      }`,
  );
}
