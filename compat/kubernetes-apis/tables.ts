/**
 * Structures as tables: field, kind of value, whether it may be absent. Their types, decoders and encoders all follow.
 *
 * A decoder keeps the fields of the table and drops all others; an encoder keeps whatever it is given.
 *
 * @module
 */
import type { JSONValue } from "./deps.ts";
import * as v from "./values.ts";

/** How one kind of value is read and written. Without `from` it is written as it is. */
export interface Codec<T> {
  to(input: JSONValue): T;
  from?(value: T): JSONValue;
  /** Whether `null` is written as `null`; everything else that is converted leaves it out. */
  readonly keepsNull?: boolean;
}

/** A field that may be absent. */
export interface Optional<T> {
  readonly optional: Codec<T>;
}

type Fields = { readonly [name: string]: Codec<unknown> | Optional<unknown> };

/** The type that a table describes. */
export type Struct<F extends Fields> =
  & { [K in keyof F as F[K] extends Codec<unknown> ? K : never]: F[K] extends Codec<infer T> ? T : never }
  & {
    [K in keyof F as F[K] extends Optional<unknown> ? K : never]?: F[K] extends Optional<infer T> ? T | null
      : never;
  };

/** What a codec reads. */
export type Value<C> = C extends Codec<infer T> ? T : never;

export const str: Codec<string> = { to: v.checkStr };
export const num: Codec<number> = { to: v.checkNum };
export const bool: Codec<boolean> = { to: v.checkBool };
export const any: Codec<JSONValue> = { to: v.identity };
export const intOrString: Codec<v.IntOrString> = { to: v.toIntOrString };
export const time: Codec<v.Time> = { to: v.toTime, from: v.fromTime };
export const microTime: Codec<v.MicroTime> = { to: v.toMicroTime, from: v.fromMicroTime };
export const quantity: Codec<v.Quantity> = { to: v.toQuantity, from: v.fromQuantity };

export function opt<T>(codec: Codec<T>): Optional<T> {
  return { optional: codec };
}

export function list<T>(item: Codec<T>): Codec<Array<T>> {
  const { from } = item;
  return {
    to: (input) => v.readList(input, item.to),
    ...(from ? { from: (value: Array<T>) => value.map((each) => from(each)) } : {}),
  };
}

export function map<T>(item: Codec<T>): Codec<Record<string, T>> {
  const { from } = item;
  return {
    to: (input) => v.readMap(input, item.to),
    ...(from
      ? { from: (value: Record<string, T>) => v.writeMap(value, (each) => from(each)), keepsNull: true }
      : {}),
  };
}

/** A structure with these fields, in this order. */
export function struct<F extends Fields>(fields: F): Required<Pick<Codec<Struct<F>>, "to" | "from">> {
  const readers: [name: string, read: (input: JSONValue) => unknown][] = [];
  const writers: [name: string, codec: Codec<unknown>][] = [];
  for (const [name, field] of Object.entries(fields) as [string, Codec<unknown> | Optional<unknown>][]) {
    const codec = "optional" in field ? field.optional : field;
    readers.push([name, "optional" in field ? (input) => v.readOpt(input, codec.to) : codec.to]);
    if (codec.from) writers.push([name, codec]);
  }
  return {
    to(input) {
      const object = v.checkObj(input);
      return Object.fromEntries(readers.map(([name, read]) => [name, read(object[name])])) as Struct<F>;
    },
    from(value) {
      const given = value as Record<string, unknown>;
      const output = { ...given } as Record<string, JSONValue>;
      for (const [name, codec] of writers) {
        const field = given[name];
        output[name] = field != null
          ? codec.from?.(field)
          : codec.keepsNull
          ? field as null | undefined
          : undefined;
      }
      return output;
    },
  };
}
