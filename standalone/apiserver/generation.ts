/**
 * `metadata.generation`: counts the changes of what is wanted.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";
import type { Resource, Unstructured } from "./resources.ts";

/** Whether `metadata.generation` counts the changes of what is wanted. */
export function counted(resource: Resource): boolean {
  return resource.custom || ["apps", "policy", "autoscaling", "discovery.k8s.io"].includes(resource.group);
}

/** The part of an object that its generation counts. */
export function content(resource: Resource, object: ApiObject): Record<string, unknown> {
  const { metadata, ...rest } = object as Unstructured;
  if (resource.id === "endpointslices.discovery.k8s.io") {
    return { ...rest, labels: metadata.labels }; // of these, labels count as well
  }
  const { status: _s, ...wanted } = rest;
  return resource.kind.hasStatus ? wanted : rest;
}
