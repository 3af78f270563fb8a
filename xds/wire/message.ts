/**
 * Protobuf messages as plain objects.
 *
 * A schema is a table of facts copied from the .proto files: a message's full name and, for each field
 * that Gatehouse uses, its snake_case name, number and type. The TypeScript type of a message follows from
 * its table, and values read exactly like the YAML in Envoy's documentation.
 *
 * A message may refer to itself, or to one declared later, through a getter:
 * `get and_rules() { return field(1, PermissionSet); }`.
 *
 * @module
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expectObject, type Field, SchemaError, show, type Type } from "./type.ts";

// deno-lint-ignore no-explicit-any -- Field<unknown> would make the types of recursive tables circular.
export type Fields = Record<string, any>;

/** The object that a message's table describes. */
export type Value<F> = { readonly [K in keyof F]?: F[K] extends Field<infer T> ? T : never };

export interface Message<N extends string, F> extends Type<Value<F>> {
  readonly name: N;
  readonly fields: F;
  /** Groups of fields of which at most one may be set. */
  readonly oneofs: readonly (readonly (keyof F)[])[];
}

// deno-lint-ignore no-explicit-any -- no other argument accepts every message and keeps its fields inferable.
export type AnyMessage = Message<string, any>;

interface Table {
  readonly byName: ReadonlyMap<string, Field<unknown>>;
  readonly byNumber: ReadonlyMap<number, readonly [name: string, field: Field<unknown>]>;
}

/**
 * Declares a message. With `memo`, an object is encoded once and its bytes are reused while it lives, so
 * values must never be changed.
 */
export function message<const N extends string, F extends Fields>(
  name: N,
  fields: F,
  options: { readonly oneofs?: readonly (readonly (keyof F)[])[]; readonly memo?: boolean } = {},
): Message<N, F> {
  const oneofs = options.oneofs ?? [];
  const memo = options.memo ? new WeakMap<object, Uint8Array>() : undefined;
  let table: Table | undefined; // Built on first use: getters may name messages declared later.

  const writeFields = (to: BinaryWriter, value: Record<string, unknown>): void => {
    const { byName } = table ??= tableOf(fields);
    for (const key in value) {
      const item = value[key];
      if (item === undefined || key === "@type") continue;
      const field = byName.get(key);
      if (!field) throw new SchemaError(`not a field of ${name}`, key);
      try {
        writeField(to, field, item);
      } catch (thrown) {
        throw SchemaError.of(thrown).under(key);
      }
    }
    for (const oneof of oneofs) {
      const set = oneof.filter((key) => value[key as string] !== undefined);
      if (set.length > 1) throw new SchemaError(`only one of ${set.join(" and ")} may be set in ${name}`);
    }
  };

  return {
    name,
    fields,
    oneofs,
    wire: WireType.LengthDelimited,
    write(to, value) {
      expectObject(value, name);
      if (!memo) {
        writeFields(to.fork(), value);
        to.join();
        return;
      }
      let bytes = memo.get(value);
      if (!bytes) memo.set(value, bytes = written((writer) => writeFields(writer, value)));
      to.bytes(bytes);
    },
    read(from) {
      const { byNumber } = table ??= tableOf(fields);
      const value: Record<string, unknown> = {};
      const end = from.uint32() + from.pos;
      while (from.pos < end) {
        const [number, wire] = from.tag();
        const found = byNumber.get(number);
        if (found) readField(from, wire, value, found[0], found[1]);
        else from.skip(wire, number);
      }
      return value as Value<F>;
    },
  };
}

function tableOf(fields: Fields): Table {
  const byName = new Map<string, Field<unknown>>(Object.keys(fields).map((key) => [key, fields[key]]));
  return { byName, byNumber: new Map([...byName].map(([key, field]) => [field.number, [key, field]])) };
}

function writeField(to: BinaryWriter, { number, kind, type }: Field<unknown>, item: unknown): void {
  if (kind === "field") {
    to.tag(number, type.wire);
    type.write(to, item);
  } else if (kind === "repeated") {
    if (!Array.isArray(item)) throw new SchemaError(`expected a list, got ${show(item)}`);
    for (let index = 0; index < item.length; index++) {
      try {
        to.tag(number, type.wire);
        type.write(to, item[index]);
      } catch (thrown) {
        throw SchemaError.of(thrown).under(`[${index}]`);
      }
    }
  } else {
    for (const [key, content] of Object.entries(expectObject(item, "a map") as object)) {
      try {
        to.tag(number, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(key);
        type.write(to.tag(2, type.wire), content);
        to.join();
      } catch (thrown) {
        throw SchemaError.of(thrown).under(`["${key}"]`);
      }
    }
  }
}

function readField(
  from: BinaryReader,
  wire: WireType,
  into: Record<string, unknown>,
  key: string,
  { kind, type }: Field<unknown>,
): void {
  if (kind === "field") {
    into[key] = type.read(from);
  } else if (kind === "map") {
    const [name, content] = readEntry(from, type);
    const entries = (into[key] ??= {}) as Record<string, unknown>;
    entries[name] = content;
  } else {
    const list = (into[key] ??= []) as unknown[];
    if (wire !== WireType.LengthDelimited || type.wire === wire) {
      list.push(type.read(from));
    } else { // Packed: numbers one after the other, without tags.
      const end = from.uint32() + from.pos;
      while (from.pos < end) list.push(type.read(from));
    }
  }
}

function readEntry(from: BinaryReader, type: Type<unknown>): [key: string, value: unknown] {
  let key = "", value: unknown;
  const end = from.uint32() + from.pos;
  while (from.pos < end) {
    const [number, wire] = from.tag();
    if (number === 1) key = from.string();
    else if (number === 2) value = type.read(from);
    else from.skip(wire, number);
  }
  return [key, value];
}

/** Writers that are not in use: each holds on to a buffer, which is the larger part of the cost of a new one. */
const spare: BinaryWriter[] = [];

/** What `write` writes. */
function written(write: (to: BinaryWriter) => void): Uint8Array {
  const writer = spare.pop() ?? new BinaryWriter();
  write(writer); // Should it throw, the writer is left in no good state and is lost.
  const bytes = writer.finish();
  spare.push(writer);
  return bytes;
}

/** The bytes of a message. Throws {@linkcode SchemaError} for a value that does not fit. */
export function encode<T>(type: Type<T>, value: T): Uint8Array {
  const bytes = written((to) => type.write(to, value));
  const length = new BinaryReader(bytes).uint32();
  return bytes.subarray(bytes.length - length);
}

/** The message in some bytes; fields that the schema does not name are skipped. Throws on malformed bytes. */
export function decode<T>(type: Type<T>, bytes: Uint8Array): T {
  return type.read(new BinaryReader(new BinaryWriter().bytes(bytes).finish()));
}
