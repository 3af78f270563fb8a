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
  | { readonly as: "partial"; readonly version: string }
  | { readonly as: "table"; readonly version: string; readonly include: IncludeObject };

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
    const v = parameters.get("v") ?? "", version = `meta.k8s.io/${v}`;
    if (parameters.get("g") !== "meta.k8s.io" || !["v1", "v1beta1"].includes(v)) return undefined;
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") {
      return { as: "partial", version };
    }
    if (as !== "Table") return undefined;
    const include = query.get("includeObject") || "Metadata";
    if (include !== "None" && include !== "Metadata" && include !== "Object") {
      throw badRequest(`unrecognized includeObject value: ${JSON.stringify(include)}`);
    }
    return { as: "table", version, include };
  });
  if (!form) throw notAcceptable(["application/json"]);
  return form;
}

/** Rows as JSON in one version and form. */
export interface Encoder {
  /** The object of a watch event. */
  item(row: Row): string;
  /** One item of a list: those of Kubernetes' own kinds do not say what they are. */
  listed(row: Row): string;
  /** What stands around the items of a list. */
  list(metadata: Readonly<Record<string, unknown>>): { readonly head: string; readonly tail: string };
  /** A whole answer. */
  one(object: ApiObject): string;
  /** The object of a bookmark. */
  bookmark(metadata: Readonly<Record<string, unknown>>): string;
  /** Whether the JSON of an item is the same for everybody, so that it may be shared. */
  readonly shared: boolean;
}

/** JSON of rows in forms other than the stored one. */
const texts = new WeakMap<Row, Map<string, string>>();

function textOf(row: Row, form: string, make: () => unknown): string {
  const forms = texts.get(row) ?? new Map<string, string>();
  texts.set(row, forms);
  const text = forms.get(form) ?? JSON.stringify(make());
  forms.set(form, text);
  return text;
}

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
    const head = { kind: "Table", apiVersion: form.version };
    const definitions = columnDefinitions(resource, version);
    const one = (object: ApiObject) =>
      JSON.stringify({
        ...head,
        metadata: { resourceVersion: object.metadata.resourceVersion },
        columnDefinitions: definitions,
        rows: [tableRow(resource, version, convert(object), form, now())],
      });
    const item = (row: Row) => JSON.stringify(tableRow(resource, version, convert(row.object), form, now()));
    return {
      shared: false,
      one,
      item,
      listed: item,
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
            object: { kind: "PartialObjectMetadata", apiVersion: form.version, metadata },
          }],
        }),
    };
  }
  if (form.as === "partial") {
    const head = { kind: "PartialObjectMetadataList", apiVersion: form.version };
    const one = (object: ApiObject) => JSON.stringify(partial(object, form.version));
    return {
      shared: false,
      one,
      item: (row) => one(row.object),
      listed: (row) => one(row.object),
      list: (metadata) => around(head, metadata, "items"),
      bookmark: (metadata) =>
        JSON.stringify({ kind: "PartialObjectMetadata", apiVersion: form.version, metadata }),
    };
  }
  const encoder: Encoder = {
    shared: true,
    one: (object) => JSON.stringify(convert(object)),
    listed(row) {
      if (resource.custom) return encoder.item(row);
      return textOf(row, `${typed.apiVersion} in a list`, () => {
        const { kind: _k, apiVersion: _v, ...rest } = convert(row.object);
        return rest;
      });
    },
    item(row) {
      if (resource.isStored(version.name)) return row.json;
      return textOf(row, typed.apiVersion, () => convert(row.object));
    },
    list: (metadata) => around({ kind: kind.listKind, apiVersion: typed.apiVersion }, metadata, "items"),
    bookmark: (metadata) => JSON.stringify({ ...typed, metadata }),
  };
  return encoder;
}
