/**
 * What a Kubernetes schema says beyond types: zod's nodes have these facts noted beside them, and validation, projection
 * to a surface and OpenAPI read them from there.
 *
 * @module
 */
import type { z } from "zod";
import type { Finding } from "./checks.ts";
import type { Availability } from "./surface.ts";

/** One rule of validation, as `x-kubernetes-validations` has it. */
export interface Rule<T = never> {
  /** What is reported, to the letter, when the rule does not hold. */
  readonly message: string;
  /** The same in CEL, for rules of our own kinds: their CRDs carry it. */
  readonly rule?: string;
  /** Whether it holds. It sees the value with its defaults, and only if its type is right. */
  readonly holds?: (self: T) => boolean;
  /** The same for rules that compare with the value that is replaced; they are checked on updates alone. */
  readonly transition?: (self: T, old: T) => boolean;
  readonly in?: Availability;
}

/** Something wrong with a value or, by `path`, with a part of it. */
export interface Fault extends Finding {
  readonly path?: readonly (string | number)[];
}

export type Format = "int32" | "int64" | "date-time" | "byte";

export interface Facts {
  readonly description?: string;
  readonly in?: Availability;
  readonly format?: Format;
  /** RE2 syntax, as upstream has it. */
  readonly pattern?: string;
  /** An equal expression that cannot backtrack without end, where `pattern` could. */
  readonly safePattern?: RegExp;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic";
  readonly intOrString?: true;
  /** Whether an empty text counts as absent, as it does where Go decodes. */
  readonly emptyIsAbsent?: true;
  /** Whether fields that the schema does not know are kept. */
  readonly preserveUnknownFields?: true;
  readonly rules?: readonly Rule[];
  /** What no other fact can say and `x-kubernetes-validations` does not. */
  readonly faults?: (self: never) => readonly Fault[];
  /** Fills in what depends on other fields, before anything else is checked. */
  readonly normalize?: (self: never) => unknown;
  /** JSON schema that OpenAPI gets as it is; a rule of the same node has to check it. */
  readonly raw?: Readonly<Record<string, unknown>>;
  /** Other shapes of this node, for surfaces that do not have this one. */
  readonly variants?: readonly { readonly in: Availability; readonly schema: z.ZodType }[];
}

const known = new WeakMap<z.core.$ZodType, Facts>();
const none: Facts = {};

export function factsOf(schema: z.core.$ZodType): Facts {
  return known.get(schema) ?? none;
}

/** Notes facts about a node that nobody else has yet. */
export function attach<S extends z.core.$ZodType>(schema: S, facts: Facts): S {
  known.set(schema, facts);
  return schema;
}

/** The same node once more, with more facts. */
export function withFacts<S extends z.ZodType>(schema: S, facts: Facts): S {
  return attach(schema.clone() as S, { ...factsOf(schema), ...facts });
}
