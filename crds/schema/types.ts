/**
 * From a schema to the TypeScript type of its values.
 *
 * @module
 */
import type { z } from "zod";

/** Plain data that nobody changes. */
export type Immutable<T> = T extends readonly (infer Item)[] ? readonly Immutable<Item>[]
  : T extends object ? { readonly [Field in keyof T]: Immutable<T[Field]> }
  : T;

/** An object of a schema after validation, with its defaults. */
export type Infer<S extends z.ZodType> = Immutable<z.output<S>>;
