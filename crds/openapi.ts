/**
 * From schemas to OpenAPI v3, structural as CustomResourceDefinitions want it: for discovery, `kubectl explain` and
 * generated CRDs.
 *
 * @module
 */
import type { z } from "zod";
import { type ApiObject, apiVersion, type Kind, type Version } from "./kind.ts";
import { type Facts, factsOf } from "./schema/facts.ts";
import { project } from "./schema/project.ts";
import { newest, serves, type Surface } from "./schema/surface.ts";

/** A node of OpenAPI's schema object, with Kubernetes' extensions. */
export interface JSONSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: { readonly [field: string]: JSONSchema };
  readonly required?: readonly string[];
  readonly items?: JSONSchema;
  readonly additionalProperties?: JSONSchema;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly [keyword: string]: unknown;
}

export interface OpenAPIOptions {
  /** Whether rules are named that have a message but no expression, which a CRD cannot have. */
  readonly allRules?: boolean;
  /** Whether this is for a CustomResourceDefinition, which may not say anything of metadata. */
  readonly forCrd?: boolean;
}

const asTheyAre = [
  "format",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "maxProperties",
] as const satisfies readonly (keyof Facts)[];

const extensions = {
  listType: "x-kubernetes-list-type",
  listMapKeys: "x-kubernetes-list-map-keys",
  mapType: "x-kubernetes-map-type",
  intOrString: "x-kubernetes-int-or-string",
  preserveUnknownFields: "x-kubernetes-preserve-unknown-fields",
} as const satisfies Partial<Record<keyof Facts, string>>;

function factKeywords(facts: Facts, surface: Surface, options: OpenAPIOptions): JSONSchema {
  const keywords: Record<string, unknown> = {};
  if (facts.description !== undefined) keywords.description = facts.description;
  for (const name of asTheyAre) if (facts[name] !== undefined) keywords[name] = facts[name];
  for (const [name, keyword] of Object.entries(extensions)) {
    const value = facts[name as keyof typeof extensions];
    if (value !== undefined) keywords[keyword] = value;
  }
  const rules = (facts.rules ?? [])
    .filter((rule) => serves(surface, rule.in) && (rule.rule !== undefined || options.allRules))
    .map(({ rule, message }) => rule === undefined ? { message } : { rule, message });
  if (rules.length) keywords["x-kubernetes-validations"] = rules;
  return { ...keywords, ...facts.raw };
}

/** A projected schema as OpenAPI. */
function convert(schema: z.core.$ZodType, surface: Surface, options: OpenAPIOptions): JSONSchema {
  const own = factKeywords(factsOf(schema), surface, options);
  const def = schema._zod.def as z.core.$ZodTypes["_zod"]["def"];
  switch (def.type) {
    case "optional":
      return { ...convert(def.innerType, surface, options), ...own };
    case "prefault":
      return { ...convert(def.innerType, surface, options), ...own, default: def.defaultValue };
    case "string":
    case "boolean":
      return { type: def.type, ...own };
    case "number":
      return { type: "integer", ...own };
    case "enum":
      return { type: "string", ...own, enum: Object.values(def.entries) };
    case "literal":
      return { type: typeof def.values[0] === "number" ? "integer" : "string", ...own, enum: def.values };
    case "array":
      return { type: "array", ...own, items: convert(def.element, surface, options) };
    case "record":
      return { type: "object", ...own, additionalProperties: convert(def.valueType, surface, options) };
    case "object": {
      const fields = Object.entries(def.shape);
      const required = fields.filter(([, field]) => field._zod.optin === undefined).map(([name]) => name);
      return {
        type: "object",
        ...own,
        properties: Object.fromEntries(
          fields.map(([name, field]) => [name, convert(field, surface, options)]),
        ),
        ...(required.length ? { required } : {}),
      };
    }
    case "union":
      return { ...own, anyOf: [{ type: "integer" }, { type: "string" }] };
    case "unknown":
      return own;
    default:
      throw new TypeError(`Cannot express a schema of type "${def.type}" in OpenAPI`);
  }
}

/** The schema of a whole object, metadata included, as it is served. */
export function openapi<T extends ApiObject>(
  kind: Kind<T>,
  version: Version,
  surface: Surface = newest,
  options: OpenAPIOptions = {},
): JSONSchema {
  const whole = convert(project(version.schema, surface), surface, options);
  const { apiVersion: version_, kind: kind_, metadata, ...rest } = whole.properties!;
  return {
    ...whole,
    properties: {
      apiVersion: {
        ...version_,
        type: "string",
        description: `Group and version: ${apiVersion(kind as Kind, version.name)}.`,
      },
      kind: { type: "string", description: `Kind of the object: ${kind.kind}.`, ...without(kind_!, "enum") },
      metadata: options.forCrd
        ? { type: "object" }
        // A name may be left to the server, by generateName.
        : { ...without(metadata!, "required"), description: "Name, labels and what else all objects have." },
      ...rest,
    },
    required: whole.required!.filter((field) => !["apiVersion", "kind", "metadata"].includes(field)),
  };
}

function without(schema: JSONSchema, ...keywords: readonly string[]): JSONSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));
}
