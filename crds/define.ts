/**
 * Turns a schema of spec and status into a {@linkcode Kind}.
 *
 * @module
 */
import { z } from "zod";
import type { ApiObject, Channel, Column, Kind, ObjectMeta, Version } from "./kind.ts";
import { objectMeta } from "./meta.ts";
import * as k from "./schema/build.ts";
import type { Infer } from "./schema/types.ts";

type Body = { readonly [field: string]: z.ZodType };

const customMeta = objectMeta();

/** The whole object: `body` besides apiVersion, kind and metadata. */
export function resource<const K extends string, B extends Body>(
  kind: K,
  body: B,
  metadata: z.ZodType<ObjectMeta> = customMeta,
): z.ZodObject<{ apiVersion: z.ZodString; kind: z.ZodLiteral<K>; metadata: z.ZodType<ObjectMeta> } & B> {
  return k.object({ apiVersion: z.string(), kind: z.literal(kind), metadata, ...body }) as never;
}

/** The type of a whole object, which is an {@linkcode ApiObject}. */
export type ObjectOf<S extends z.ZodType> =
  & { readonly metadata: ObjectMeta }
  & Omit<Infer<S>, "metadata">;

export interface Names {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced?: boolean;
  readonly hasStatus?: boolean;
}

export interface VersionOptions {
  readonly channel?: Channel;
  readonly deprecated?: boolean;
  readonly storage?: boolean;
  readonly columns?: readonly Column[];
}

export const age: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

export function version<T extends ApiObject>(
  name: string,
  schema: z.ZodType,
  options: VersionOptions = {},
): Version<T> {
  const { channel = "standard", deprecated, storage = false, columns = [age] } = options;
  return {
    name,
    channel,
    storage,
    ...(deprecated ? { deprecated } : {}),
    schema: schema as unknown as z.ZodType<T>,
    columns,
  };
}

/** The first version is the one that objects are stored in. */
export function defineKind<T extends ApiObject>(
  names: Names,
  storage: Version<T>,
  ...others: readonly Version[]
): Kind<T> {
  return {
    group: names.group,
    kind: names.kind,
    listKind: `${names.kind}List`,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: names.namespaced ?? true,
    hasStatus: names.hasStatus ?? true,
    versions: [{ ...storage, storage: true }, ...others],
  };
}
