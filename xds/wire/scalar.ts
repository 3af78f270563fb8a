/**
 * The scalar types of protobuf, and its enums.
 *
 * @module
 */
import { type BinaryReader, type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { SchemaError, show, type Type } from "./type.ts";

function scalar<T>(
  name: string,
  wire: WireType,
  is: "string" | "boolean" | "number" | "object",
  write: (to: BinaryWriter, value: T) => void,
  read: (from: BinaryReader) => T,
): Type<T> {
  return {
    name,
    wire,
    read,
    write(to, value) {
      const found: string = typeof value;
      if (found !== is) throw new SchemaError(`expected ${name}, got ${show(value)}`);
      write(to, value);
    },
  };
}

const { Bit64, LengthDelimited, Varint } = WireType;

export const string = scalar<string>(
  "string",
  LengthDelimited,
  "string",
  (to, value) => to.string(value),
  (from) => from.string(),
);
export const bytes = scalar<Uint8Array>(
  "bytes",
  LengthDelimited,
  "object",
  (to, value) => to.bytes(value),
  (from) => from.bytes(),
);
export const bool = scalar<boolean>(
  "bool",
  Varint,
  "boolean",
  (to, value) => to.bool(value),
  (from) => from.bool(),
);
export const uint32 = scalar<number>(
  "uint32",
  Varint,
  "number",
  (to, value) => to.uint32(value),
  (from) => from.uint32(),
);
export const int32 = scalar<number>(
  "int32",
  Varint,
  "number",
  (to, value) => to.int32(value),
  (from) => from.int32(),
);
/** As a number: exact up to 2^53. */
export const uint64 = scalar<number>(
  "uint64",
  Varint,
  "number",
  (to, value) => to.uint64(value),
  (from) => Number(from.uint64()),
);
/** As a number: exact up to 2^53 in either direction. */
export const int64 = scalar<number>(
  "int64",
  Varint,
  "number",
  (to, value) => to.int64(value),
  (from) => Number(from.int64()),
);
export const double = scalar<number>(
  "double",
  Bit64,
  "number",
  (to, value) => to.double(value),
  (from) => from.double(),
);

/** An enum, whose values are their names as in YAML. */
export interface Enumeration<N extends string> extends Type<N> {
  readonly numbers: { readonly [K in N]: number };
}

/** Declares an enum. A number without a name is read as its decimal digits. */
export function enumeration<const N extends string>(
  name: string,
  numbers: { readonly [K in N]: number },
): Enumeration<N> {
  const names = new Map(Object.entries<number>(numbers).map(([key, number]) => [number, key as N]));
  return {
    name,
    numbers,
    wire: Varint,
    write(to, value) {
      const number = Object.hasOwn(numbers, value) ? numbers[value] : undefined;
      if (number === undefined) {
        throw new SchemaError(`expected one of ${Object.keys(numbers).join(", ")}, got ${show(value)}`);
      }
      to.int32(number);
    },
    read(from) {
      const number = from.int32();
      return names.get(number) ?? (String(number) as N);
    },
  };
}
