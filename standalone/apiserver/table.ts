/**
 * `meta.k8s.io/v1` Tables: what `kubectl get` prints, made on the server.
 *
 * @module
 */
import type { ApiObject, Column, Version } from "../../crds/kind.ts";
import { age } from "./human_duration.ts";
import { compileJsonPath } from "./json_path.ts";
import { nameColumn, printerOf, type TableColumn } from "./printers.ts";
import type { Resource } from "./resources.ts";

export type IncludeObject = "None" | "Metadata" | "Object";

const ageColumn: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** Columns of a version; computed once. */
const columnsOf = new WeakMap<Version, readonly TableColumn[]>();

function columns(resource: Resource, version: Version): readonly TableColumn[] {
  let found = columnsOf.get(version);
  if (!found) {
    found = printerOf(resource.id) ?? [
      nameColumn,
      ...(version.columns.length > 0 ? version.columns : [ageColumn]).map(fromPath),
    ];
    columnsOf.set(version, found);
  }
  return found;
}

function fromPath({ name, type, jsonPath, priority }: Column): TableColumn {
  const find = compileJsonPath(jsonPath);
  return {
    name,
    type,
    priority: priority ?? 0,
    cell(object, now) {
      const [found] = find(object); // the first only, as kube-apiserver does
      if (found === undefined) return null;
      switch (type) {
        case "date":
          return age(found, now);
        case "string":
          return typeof found === "object" ? JSON.stringify(found) : String(found);
        case "integer":
          return typeof found === "number" ? found : null;
        case "boolean":
          return typeof found === "boolean" ? found : null;
      }
    },
  };
}

/** `columnDefinitions` of a Table. */
export function columnDefinitions(resource: Resource, version: Version): readonly unknown[] {
  return columns(resource, version).map(({ name, type, priority }) => ({
    name,
    type,
    format: name === "Name" ? "name" : "",
    description: "",
    priority,
  }));
}

/** One row of a Table. */
export function tableRow(
  resource: Resource,
  version: Version,
  object: ApiObject,
  { include, version: form }: { readonly include: IncludeObject; readonly version: string },
  now: Date,
): unknown {
  return {
    cells: columns(resource, version).map((column) => column.cell(object, now) ?? null),
    ...(include === "None" ? {} : { object: include === "Object" ? object : partial(object, form) }),
  };
}

/** An object's metadata alone, in a version of `meta.k8s.io`. */
export function partial(object: ApiObject, version: string): ApiObject {
  return { kind: "PartialObjectMetadata", apiVersion: version, metadata: object.metadata };
}
