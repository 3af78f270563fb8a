/**
 * The first look at an object, as an API server decodes it: fields that the schema does not know are found, and nulls
 * count as absent.
 *
 * @module
 */
import type { z } from "zod";
import { factsOf } from "./facts.ts";

/** A path from the object's root, innermost step first. */
interface Path {
  readonly step: string | number;
  readonly outer: Path | undefined;
}

/** A list that has too many items to look at them all. */
export interface LongList {
  readonly field: string;
  readonly length: number;
  readonly max: number;
}

export interface Pruned {
  /** Without nulls, and without items past a list's limit; fields that the schema does not know are still there. */
  readonly value: unknown;
  /** Paths of fields that the schema does not know. */
  readonly unknown: readonly string[];
  readonly long: readonly LongList[];
  /** How many items all lists have together. */
  readonly items: number;
}

interface Findings {
  readonly unknown: string[];
  readonly long: LongList[];
  items: number;
}

/** Looks at a value; answers with the value, or with a copy of it where something has to go. */
type Pruner = (value: unknown, path: Path | undefined, findings: Findings) => unknown;

/** For lists without a limit of their own: more than any honest object has, and few enough to look at. */
const mostItems = 10_000;

/** `undefined` for values that have nothing inside. */
const cache = new WeakMap<z.core.$ZodType, Pruner | undefined>();

function prunerOf(schema: z.core.$ZodType): Pruner | undefined {
  if (!cache.has(schema)) cache.set(schema, compile(schema));
  return cache.get(schema);
}

function compile(schema: z.core.$ZodType): Pruner | undefined {
  const def = schema._zod.def as z.core.$ZodTypes["_zod"]["def"];
  switch (def.type) {
    case "optional":
    case "prefault":
      return prunerOf(def.innerType);
    case "array":
      return list(prunerOf(def.element), factsOf(schema).maxItems ?? mostItems);
    case "record":
      return fields(undefined, prunerOf(def.valueType), { keepOthers: true });
    case "object": {
      const known = new Map(Object.entries(def.shape).map(([name, field]) => [name, prunerOf(field)]));
      return fields(known, undefined, {
        keepOthers: factsOf(schema).preserveUnknownFields ?? false,
        optional: Object.keys(def.shape).filter((name) => emptyIsAbsent(def.shape[name]!)),
      });
    }
  }
}

/** Whether a field is left out where its text is empty. */
function emptyIsAbsent(schema: z.core.$ZodType): boolean {
  const def = schema._zod.def as z.core.$ZodTypes["_zod"]["def"];
  const inner = def.type === "optional" || def.type === "prefault" ? def.innerType : schema;
  return factsOf(inner).emptyIsAbsent ?? false;
}

function list(items: Pruner | undefined, max: number): Pruner {
  return (value, path, findings) => {
    if (!Array.isArray(value)) return value;
    let copy: unknown[] | undefined;
    if (value.length > max) {
      findings.long.push({ field: pathText(path), length: value.length, max });
      copy = value.slice(0, max);
    }
    const { length } = copy ?? value;
    findings.items += length;
    if (!items) return copy ?? value;
    for (let i = 0; i < length; i++) {
      const pruned = items(value[i], { step: i, outer: path }, findings);
      if (pruned !== value[i]) (copy ??= [...value])[i] = pruned;
    }
    return copy ?? value;
  };
}

function fields(
  known: ReadonlyMap<string, Pruner | undefined> | undefined,
  others: Pruner | undefined,
  { keepOthers, optional }: { readonly keepOthers: boolean; readonly optional?: readonly string[] },
): Pruner {
  return (value, path, findings) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    let copy: Record<string, unknown> | undefined;
    for (const name in value) {
      const field = (value as Record<string, unknown>)[name];
      const pruner = known?.get(name) ?? others;
      if (!keepOthers && !known!.has(name)) findings.unknown.push(pathText({ step: name, outer: path }));
      if (field === null || field === undefined || field === "" && optional?.includes(name)) {
        delete (copy ??= { ...value })[name];
      } else if (pruner) {
        const pruned = pruner(field, { step: name, outer: path }, findings);
        if (pruned !== field) (copy ??= { ...value })[name] = pruned;
      }
    }
    return copy ?? value;
  };
}

/** `spec.rules[0].matches`. */
function pathText(path: Path | undefined): string {
  if (!path) return "";
  const { step, outer } = path;
  if (!outer) return `${step}`;
  return typeof step === "number" ? `${pathText(outer)}[${step}]` : `${pathText(outer)}.${step}`;
}

export function prune(schema: z.ZodType, value: unknown): Pruned {
  const findings: Findings = { unknown: [], long: [], items: 0 };
  const pruned = prunerOf(schema)?.(value, undefined, findings) ?? value;
  return { value: pruned, ...findings };
}
