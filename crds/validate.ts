/**
 * What an API server does with an object before it stores it: unknown fields are found, defaults filled in, the shape
 * and then the rules checked.
 *
 * @module
 */
import type { z } from "zod";
import type { ApiObject, Channel, Kind, Version } from "./kind.ts";
import { mostItems } from "./schema/checks.ts";
import { errorsOf, type FieldError, fieldError } from "./schema/errors.ts";
import { project } from "./schema/project.ts";
import { type LongList, prune, type Pruned } from "./schema/prune.ts";
import { newest, type Release } from "./schema/surface.ts";
import { transitionErrors } from "./schema/transitions.ts";

export type { FieldError } from "./schema/errors.ts";

export interface ValidateOptions {
  /** Experimental if absent. */
  readonly channel?: Channel;
  /** The newest if absent. */
  readonly release?: Release;
  /** What becomes of fields that the schema does not know; they are dropped in any case. `Warn` if absent. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** The object that is replaced, for rules about changes. */
  readonly old?: ApiObject;
}

export interface Validation<T extends ApiObject = ApiObject> {
  /** Pruned and with defaults; the object as it came if there are errors. */
  readonly object: T;
  readonly errors: readonly FieldError[];
  readonly warnings: readonly string[];
  /** Paths of fields that were dropped, such as `spec.rules[0].foo`. */
  readonly unknownFields: readonly string[];
}

/** Errors that say that the shape is wrong, so that rules might not even make sense. */
const blocking: ReadonlySet<FieldError["reason"]> = new Set([
  "NotSupported",
  "Required",
  "TooLong",
  "TooMany",
  "TypeInvalid",
]);

/** About the object as a whole, as kube-apiserver words it. */
const note = (text: string): FieldError => ({
  field: "<nil>",
  reason: "Invalid",
  message: `Invalid value: null: ${text}`,
});

const unchecked = note(
  "rules were not checked, since the object is malformed; correct the other errors first",
);

/** More than these nobody reads. */
const mostErrors = 100;
const mostIssues = 1000;

/** Judges an object in one of its kind's versions: the named one, or the storage version. */
export function validate<T extends ApiObject>(
  kind: Kind<T>,
  version: Version | string,
  object: unknown,
  options: ValidateOptions = {},
): Validation<T> {
  const { channel = newest.channel, release = newest.release, fieldValidation = "Warn", old } = options;
  const schema = project(schemaOf(kind, version), { channel, release });
  const pruned = prune(schema, object);
  const { unknown: unknownFields } = pruned;
  const { data, issues, failure } = parse(schema, pruned);
  const errors = readable([
    ...(fieldValidation === "Strict" ? unknownFields.map(unknownField) : []),
    ...pruned.long.map(tooMany),
    ...(failure ? [failure] : []),
    ...issues.slice(0, mostIssues).flatMap(errorsOf),
    ...(old ? transitionErrors(schema, data ?? pruned.value, old, { channel, release }) : []),
  ]);
  return {
    object: (errors.length === 0 ? data : object) as T,
    errors,
    warnings: fieldValidation === "Warn" ? unknownFields.map((field) => unknownField(field).message) : [],
    unknownFields,
  };
}

/** In objects with more list items than this, the first error has to do. */
const manyItems = 20_000;

/**
 * Zod's `safeParse`, but for the texts that it makes up for every single issue: an object can be wrong in a hundred
 * thousand places.
 */
function parse(schema: z.ZodType, { value, items }: Pruned): Parsed {
  try {
    const options = { async: false, abortEarly: items > manyItems };
    const { value: data, issues } = schema._zod.run({ value, issues: [] }, options) as z.core.ParsePayload;
    return issues.length ? { issues } : { data, issues };
  } catch (error) {
    // Zod passes the issues of an item on as arguments of one call, which has room for so many.
    if (error instanceof RangeError) return { issues: [], failure: note("too many errors to list") };
    throw error;
  }
}

interface Parsed {
  readonly data?: unknown;
  readonly issues: readonly z.core.$ZodRawIssue[];
  readonly failure?: FieldError;
}

function schemaOf(kind: Kind, version: Version | string): z.ZodType {
  if (typeof version !== "string") return version.schema;
  const found = kind.versions.find((one) => one.name === version);
  if (!found) throw new RangeError(`Cannot validate a ${kind.kind}: no version "${version}"`);
  return found.schema;
}

const unknownField = (field: string): FieldError => ({
  field,
  reason: "Unknown",
  message: `unknown field ${JSON.stringify(field)}`,
});

const tooMany = ({ field, length, max }: LongList): FieldError =>
  fieldError(field, { reason: "TooMany", detail: mostItems(max), value: length }, length);

/** Leaves out what Kubernetes does not say as long as the shape is wrong, and what nobody would read. */
function readable(errors: readonly FieldError[]): readonly FieldError[] {
  const malformed = errors.some((error) => blocking.has(error.reason));
  const shape = malformed ? errors.filter((error) => !error.rule) : errors;
  const told = shape.length < errors.length ? [...shape, unchecked] : shape;
  if (told.length <= mostErrors) return told;
  return [...told.slice(0, mostErrors), note("there are more errors")];
}
