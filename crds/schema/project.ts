/**
 * Narrows a declared schema to what a surface serves: fields, rules and bounds that it does not have are left out.
 *
 * @module
 */
import { z } from "zod";
import { make } from "./build.ts";
import { attach, type Facts, factsOf } from "./facts.ts";
import { newest, serves, type Surface } from "./surface.ts";

const cache = new WeakMap<z.ZodType, Map<string, z.ZodType>>();

/** The schema for a surface. Parts that are the same there are shared with the declared schema. */
export function project<S extends z.ZodType>(schema: S, surface: Surface): S {
  const key = `${surface.channel}/${surface.release}`;
  let made = cache.get(schema);
  if (!made) cache.set(schema, made = new Map());
  let result = made.get(key);
  if (!result) made.set(key, result = narrow(schema, surface));
  return result as S;
}

function narrow(schema: z.ZodType, surface: Surface): z.ZodType {
  const facts = factsOf(schema);
  const variant = facts.variants?.find((one) => serves(surface, one.in));
  if (variant) return project(keepField(variant.schema, facts), surface);
  const sameRules = facts.rules?.every((rule) => serves(surface, rule.in) === serves(newest, rule.in)) ??
    true;
  const def = schema._zod.def as z.core.$ZodTypes["_zod"]["def"];
  switch (def.type) {
    case "optional": {
      const inner = project(def.innerType as z.ZodType, surface);
      return inner === def.innerType ? schema : attach(z.optional(inner), facts);
    }
    case "prefault": {
      const inner = project(def.innerType as z.ZodType, surface);
      return inner === def.innerType ? schema : attach(z.prefault(inner, def.defaultValue as never), facts);
    }
    case "array": {
      const items = project(def.element as z.ZodType, surface);
      return items === def.element && sameRules ? schema : make.list(items, facts, surface);
    }
    case "record": {
      const values = project(def.valueType as z.ZodType, surface);
      return values === def.valueType && sameRules ? schema : make.map(values, facts, surface);
    }
    case "object": {
      const before = Object.entries(def.shape) as [string, z.ZodType][];
      const after = before
        .filter(([, field]) => serves(surface, factsOf(field).in))
        .map(([name, field]) => [name, project(field, surface)] as const);
      const same = after.length === before.length && after.every(([, field], i) => field === before[i]![1]);
      return same && sameRules ? schema : make.object(Object.fromEntries(after), facts, surface);
    }
    case "string":
      return sameRules ? schema : make.string(facts, surface);
    default:
      return schema;
  }
}

/** What a field says of itself holds for all of its variants. */
function keepField(schema: z.ZodType, { description, in: available }: Facts): z.ZodType {
  if (description === undefined && !available) return schema;
  const facts = factsOf(schema);
  return attach(schema.clone(), {
    ...facts,
    ...(description === undefined || facts.description !== undefined ? {} : { description }),
    ...(available ? { in: available } : {}),
  });
}
