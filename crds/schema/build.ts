/**
 * Builders of schemas as Kubernetes has them: zod's nodes, with facts.
 *
 * A node is made for one surface: its checks are those that the surface has. Declared schemas are made for the newest
 * one; `project` makes the others with the same functions.
 *
 * @module
 */
import { z } from "zod";
import {
  faultsCheck,
  integerCheck,
  listChecks,
  mapCheck,
  normalization,
  rulesCheck,
  stringCheck,
} from "./checks.ts";
import { attach, type Facts, type Fault, type Rule, withFacts } from "./facts.ts";
import { type Availability, newest, serves, type Surface } from "./surface.ts";

type Shape = { readonly [field: string]: z.ZodType };
type Check = z.core.$ZodCheck<unknown>;

function node<S extends z.ZodType>(schema: S, facts: Facts, checks: readonly (Check | undefined)[]): S {
  const present = [...checks, faultsCheck(facts)].filter((check) => check !== undefined);
  const made = present.length ? schema.check(...present as z.core.$ZodCheck<z.output<S>>[]) as S : schema;
  return attach(made, facts);
}

/** Makes nodes for one surface. */
export const make = {
  string: (facts: Facts, surface: Surface): z.ZodString =>
    node(z.string(), facts, [stringCheck(facts), rulesCheck(facts.rules, surface)]),

  integer: (facts: Facts, surface: Surface): z.ZodInt =>
    node(z.int(), facts, [integerCheck(facts), rulesCheck(facts.rules, surface)]),

  intOrString: (facts: Facts, surface: Surface): z.ZodUnion<readonly [z.ZodInt, z.ZodString]> => {
    const texts = make.string(facts.pattern === undefined ? {} : { pattern: facts.pattern }, surface);
    return node(z.union([z.int(), texts]), facts, [rulesCheck(facts.rules, surface)]);
  },

  list: <S extends z.ZodType>(items: S, facts: Facts, surface: Surface): z.ZodArray<S> =>
    node(z.array(items), facts, [...listChecks(facts), rulesCheck(facts.rules, surface)]),

  map: <S extends z.ZodType>(values: S, facts: Facts, surface: Surface): z.ZodRecord<z.ZodString, S> =>
    node(z.record(z.string(), values), facts, [mapCheck(facts), rulesCheck(facts.rules, surface)]),

  object: <S extends Shape>(shape: S, facts: Facts, surface: Surface): z.ZodObject<S> => {
    const schema = facts.preserveUnknownFields ? z.looseObject(shape) : z.object(shape);
    return node(schema as unknown as z.ZodObject<S>, facts, [
      normalization(facts),
      rulesCheck(facts.rules, surface),
    ]);
  },
};

/** Facts with rules about values of type `T`. */
type FactsFor<T> = Omit<Facts, "rules" | "faults" | "normalize"> & {
  readonly rules?: readonly Rule<T>[];
  readonly faults?: (self: T) => readonly Fault[];
  readonly normalize?: (self: T) => T;
};

export const string = (facts: FactsFor<string> = {}): z.ZodString => make.string(facts as Facts, newest);

export const integer = (facts: FactsFor<number> = {}): z.ZodInt => make.integer(facts as Facts, newest);

export const boolean = (): z.ZodBoolean => z.boolean();

export function enumeration<const V extends readonly string[]>(
  ...values: V
): z.ZodEnum<{ [K in V[number]]: K }> {
  return z.enum(values) as unknown as z.ZodEnum<{ [K in V[number]]: K }>;
}

/** As {@linkcode enumeration}; an empty text counts as absent. */
export const enumerationOrEmpty = <const V extends readonly string[]>(
  ...values: V
): z.ZodEnum<{ [K in V[number]]: K }> => withFacts(enumeration(...values), { emptyIsAbsent: true });

export const integers = <const V extends readonly number[]>(...values: V): z.ZodLiteral<V[number]> =>
  z.literal(values);

export const list = <S extends z.ZodType>(
  items: S,
  facts: FactsFor<z.output<z.ZodArray<S>>> = {},
): z.ZodArray<S> => make.list(items, { listType: "atomic", ...facts } as Facts, newest);

/** A list without equal members. */
export const set = <S extends z.ZodType>(
  items: S,
  facts: FactsFor<z.output<z.ZodArray<S>>> = {},
): z.ZodArray<S> => list(items, { ...facts, listType: "set" });

/** A list of objects that differ in the fields `keys`. */
export const mapList = <S extends z.ZodType>(
  keys: readonly string[],
  items: S,
  facts: FactsFor<z.output<z.ZodArray<S>>> = {},
): z.ZodArray<S> => list(items, { ...facts, listType: "map", listMapKeys: keys });

export const map = <S extends z.ZodType>(
  values: S,
  facts: FactsFor<{ readonly [key: string]: z.output<S> }> = {},
): z.ZodRecord<z.ZodString, S> => make.map(values, facts as Facts, newest);

export const object = <S extends Shape>(
  shape: S,
  facts: FactsFor<z.output<z.ZodObject<S>>> = {},
): z.ZodObject<S> => make.object(shape, facts as Facts, newest);

/** Anything, kept as it is. */
export const anything = (): z.ZodUnknown => attach(z.unknown(), { preserveUnknownFields: true });

/** An integer, or a text to which the facts apply. */
export const intOrString = (
  facts: FactsFor<number | string> = {},
): z.ZodUnion<readonly [z.ZodInt, z.ZodString]> =>
  make.intOrString({ ...facts, intOrString: true } as Facts, newest);

/** A field that has to be there. */
export const required = <S extends z.ZodType>(schema: S, description?: string, available?: Availability): S =>
  description === undefined && !available ? schema : withFacts(schema, fieldFacts(description, available));

/** A field that may be absent; explicitly `undefined` is taken for absent, which the type does not show. */
export function optional<S extends z.ZodType>(
  schema: S,
  description?: string,
  available?: Availability,
): z.ZodExactOptional<S> {
  return attach(z.optional(schema), fieldFacts(description, available)) as unknown as z.ZodExactOptional<S>;
}

/** A field that is filled in where it is absent. */
export const defaulted = <S extends z.ZodType>(
  schema: S,
  value: z.input<S>,
  description?: string,
  available?: Availability,
): z.ZodPrefault<S> => attach(z.prefault(schema, value as never), fieldFacts(description, available));

function fieldFacts(description?: string, available?: Availability): Facts {
  return { ...(description === undefined ? {} : { description }), ...(available ? { in: available } : {}) };
}

/** One node with a shape per surface; its static type is that of the first. */
export function varying<S extends z.ZodType>(
  first: readonly [Availability, S],
  ...others: readonly (readonly [Availability, z.ZodType])[]
): S {
  const cases = [first, ...others];
  const main = cases.find(([available]) => serves(newest, available))!;
  const variants = cases.filter((one) => one !== main).map(([available, schema]) => ({
    in: available,
    schema,
  }));
  return withFacts(main[1], { variants }) as unknown as S;
}

/** Filled in like {@linkcode defaulted}, but objects made by hand may lack it, and so the type says. */
export const initially = <S extends z.ZodType>(
  schema: S,
  value: z.input<S>,
  description?: string,
): z.ZodExactOptional<S> => defaulted(schema, value, description) as unknown as z.ZodExactOptional<S>;
