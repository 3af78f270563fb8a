/**
 * Rules about how a value may change; zod sees the new value alone.
 *
 * @module
 */
import type { z } from "zod";
import { type FieldError, fieldError, pathOf } from "./errors.ts";
import { factsOf, type Rule } from "./facts.ts";
import { serves, type Surface } from "./surface.ts";

interface Transition {
  readonly path: readonly string[];
  readonly rule: Rule<unknown>;
}

const cache = new WeakMap<z.core.$ZodType, readonly Transition[]>();

/** Those inside of lists have nothing to compare with: our lists, like upstream's, have no such rules. */
function collect(schema: z.core.$ZodType, path: readonly string[]): Transition[] {
  const own = (factsOf(schema).rules ?? [])
    .filter((rule) => rule.transition)
    .map((rule) => ({ path, rule: rule as Rule<unknown> }));
  const def = schema._zod.def as z.core.$ZodTypes["_zod"]["def"];
  if (def.type === "optional" || def.type === "prefault") return [...own, ...collect(def.innerType, path)];
  if (def.type !== "object") return own;
  return [...own, ...Object.entries(def.shape).flatMap(([name, field]) => collect(field, [...path, name]))];
}

function at(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, step) => (value as Record<string, unknown> | undefined)?.[step],
    object,
  );
}

/** What the change from `old` to `object` may not be. Rules never see a value of another type than they expect. */
export function transitionErrors(
  schema: z.ZodType,
  object: unknown,
  old: unknown,
  surface: Surface,
): readonly FieldError[] {
  let transitions = cache.get(schema);
  if (!transitions) cache.set(schema, transitions = collect(schema, []));
  return transitions.flatMap(({ path, rule }) => {
    if (!serves(surface, rule.in)) return [];
    const [after, before] = [at(object, path), at(old, path)];
    if (typeof after !== typeof before || after === undefined || rule.transition!(after, before)) return [];
    const omitted = typeof after === "object" ? { omitted: true } as const : {};
    return [
      fieldError(pathOf(path), { reason: "Invalid", detail: rule.message, rule: true, ...omitted }, after),
    ];
  });
}
