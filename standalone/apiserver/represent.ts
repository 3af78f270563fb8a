/**
 * The forms in which objects go out: as they are, their metadata alone, or as rows of a Table.
 *
 * @module
 */
import { type ApiObject, apiVersion, type Version } from "../../crds/kind.ts";
import type { Resource } from "./resources.ts";
import { badRequest, notAcceptable } from "./status.ts";
import type { Row } from "./store.ts";
import { columnDefinitions, type IncludeObject, partial, tableRow } from "./table.ts";

export type Form =
  | { readonly as: "object" }
  | { readonly as: "partial" }
  | { readonly as: "table"; readonly include: IncludeObject };

/** One media range of an Accept header. */
interface Range {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

function ranges(accept: string): readonly Range[] {
  return accept.split(",").map((range) => {
    const [type, ...rest] = range.split(";").map((part) => part.trim());
    const parameters = new Map(rest.map((part) => {
      const index = part.indexOf("=");
      return [part.slice(0, index), part.slice(index + 1)] as const;
    }));
    return { type: type!.toLowerCase(), parameters, quality: Number(parameters.get("q") ?? 1) };
  }).sort((a, b) => b.quality - a.quality);
}

const jsonTypes = new Set(["application/json", "*/*", "application/*", ""]);

/** The first media range that `wanted` takes. */
export function acceptable<T>(accept: string, wanted: (range: Range) => T | undefined): T | undefined {
  for (const range of ranges(accept)) {
    const found = wanted(range);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Chooses a form by the Accept header.
 *
 * @throws {ApiError} 406 if only others are accepted
 */
export function negotiate(accept: string, query: URLSearchParams): Form {
  const form = acceptable<Form>(accept, ({ type, parameters }) => {
    if (!jsonTypes.has(type)) return undefined;
    const as = parameters.get("as");
    if (as === undefined) return { as: "object" };
    if (parameters.get("g") !== "meta.k8s.io" || !["v1", "v1beta1"].includes(parameters.get("v") ?? "")) {
      return undefined;
    }
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") return { as: "partial" };
    if (as !== "Table") return undefined;
    const include = query.get("includeObject") || "Metadata";
    if (include !== "None" && include !== "Metadata" && include !== "Object") {
      throw badRequest(`unrecognized includeObject value: ${JSON.stringify(include)}`);
    }
    return { as: "table", include };
  });
  if (!form) throw notAcceptable(["application/json"]);
  return form;
}

/** Rows as JSON in one version and form. */
export interface Encoder {
  /** One item of a list, or the object of a watch event. */
  item(row: Row): string;
  /** What stands around the items of a list. */
  list(metadata: Readonly<Record<string, unknown>>): { readonly head: string; readonly tail: string };
  /** A whole answer. */
  one(object: ApiObject): string;
  /** The object of a bookmark. */
  bookmark(metadata: Readonly<Record<string, unknown>>): string;
  /** Whether the JSON of an item is the same for everybody, so that it may be shared. */
  readonly shared: boolean;
}

/** JSON of rows in versions other than the stored one. */
const converted = new WeakMap<Row, Map<string, string>>();

export function encoderOf(
  resource: Resource,
  version: Version,
  form: Form,
  now: () => Date,
): Encoder {
  const { kind } = resource;
  const convert = (object: ApiObject) => resource.fromStored(object, version.name);
  const typed = { kind: kind.kind, apiVersion: apiVersion(kind, version.name) };
  const around = (head: object, metadata: object, list: string) => {
    const text = JSON.stringify({ ...head, metadata, [list]: [] });
    return { head: text.slice(0, -2), tail: text.slice(-2) };
  };

  if (form.as === "table") {
    const head = { kind: "Table", apiVersion: "meta.k8s.io/v1" };
    const definitions = columnDefinitions(resource, version);
    const one = (object: ApiObject) =>
      JSON.stringify({
        ...head,
        metadata: { resourceVersion: object.metadata.resourceVersion },
        columnDefinitions: definitions,
        rows: [tableRow(resource, version, convert(object), form.include, now())],
      });
    return {
      shared: false,
      one,
      item: (row) => JSON.stringify(tableRow(resource, version, convert(row.object), form.include, now())),
      list: (metadata) => {
        const text = JSON.stringify({ ...head, metadata, columnDefinitions: definitions, rows: [] });
        return { head: text.slice(0, -2), tail: text.slice(-2) };
      },
      bookmark: (metadata) =>
        JSON.stringify({
          ...head,
          metadata: { resourceVersion: metadata["resourceVersion"] },
          columnDefinitions: definitions,
          rows: [{
            cells: definitions.map(() => null),
            object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata },
          }],
        }),
    };
  }
  if (form.as === "partial") {
    const head = { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" };
    const one = (object: ApiObject) => JSON.stringify(partial(object));
    return {
      shared: false,
      one,
      item: (row) => one(row.object),
      list: (metadata) => around(head, metadata, "items"),
      bookmark: (metadata) =>
        JSON.stringify({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata }),
    };
  }
  return {
    shared: true,
    one: (object) => JSON.stringify(convert(object)),
    item(row) {
      if (resource.isStored(version.name)) return row.json;
      let texts = converted.get(row);
      if (!texts) converted.set(row, texts = new Map());
      let text = texts.get(typed.apiVersion);
      if (text === undefined) texts.set(typed.apiVersion, text = JSON.stringify(convert(row.object)));
      return text;
    },
    list: (metadata) => around({ kind: kind.listKind, apiVersion: typed.apiVersion }, metadata, "items"),
    bookmark: (metadata) => JSON.stringify({ ...typed, metadata }),
  };
}
