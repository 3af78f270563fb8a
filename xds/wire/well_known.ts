/**
 * The types of google.protobuf which are plain values in YAML: each is a message seen through a function.
 *
 * @module
 */
import { WireType } from "@bufbuild/protobuf/wire";
import { type AnyMessage, decode, type Message, message, type Value } from "./message.ts";
import { bool, double, int32, int64, string, uint32, uint64 } from "./scalar.ts";
import { expectObject, field, map, repeated, SchemaError, show, type Type } from "./type.ts";

function seen<T, F>(
  as: Message<string, F>,
  pack: (value: T) => Value<F>,
  unpack: (value: Value<F>) => T,
): Type<T> {
  return {
    name: as.name,
    wire: as.wire,
    write: (to, value) => as.write(to, pack(value)),
    read: (from) => unpack(as.read(from)),
  };
}

function wrapper<T>(name: string, type: Type<T>, zero: T): Type<T> {
  const fields = { value: field(1, type) };
  return seen(
    message(name, fields),
    (value) => ({ value } as Value<typeof fields>),
    ({ value }) => (value as T | undefined) ?? zero,
  );
}

export const BoolValue = wrapper("google.protobuf.BoolValue", bool, false);
export const StringValue = wrapper("google.protobuf.StringValue", string, "");
export const UInt32Value = wrapper("google.protobuf.UInt32Value", uint32, 0);
export const UInt64Value = wrapper("google.protobuf.UInt64Value", uint64, 0);
export const DoubleValue = wrapper("google.protobuf.DoubleValue", double, 0);

/** Seconds, as in "1.5s". */
export const Duration: Type<`${number}s`> = seen(
  message("google.protobuf.Duration", { seconds: field(1, int64), nanos: field(2, int32) }),
  (text) => {
    const [, sign, seconds, fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(text) ?? [];
    if (seconds === undefined) throw new SchemaError(`expected a duration like "1.5s", got ${show(text)}`);
    const unit = sign ? -1 : 1;
    const whole = Number(seconds) * unit, nanos = Number(fraction.padEnd(9, "0")) * unit;
    return { ...(whole ? { seconds: whole } : {}), ...(nanos ? { nanos } : {}) };
  },
  ({ seconds = 0, nanos = 0 }) => {
    const sign = seconds < 0 || nanos < 0 ? "-" : "";
    const fraction = String(Math.abs(nanos)).padStart(9, "0").replace(/0+$/, "");
    return `${sign}${Math.abs(seconds)}${fraction && `.${fraction}`}s` as `${number}s`;
  },
);

export const Empty = message("google.protobuf.Empty", {});

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const JsonValue = message("google.protobuf.Value", {
  null_value: field(1, int32),
  number_value: field(2, double),
  string_value: field(3, string),
  bool_value: field(4, bool),
  get struct_value() {
    return field(5, Struct);
  },
  get list_value() {
    return field(6, JsonList);
  },
});
const JsonList = message("google.protobuf.ListValue", {
  get values() {
    return repeated(1, Json);
  },
});

/** google.protobuf.Value: any JSON. */
export const Json: Type<Json> = seen(
  JsonValue,
  (json) => {
    if (json === null) return { null_value: 0 };
    if (typeof json === "number") return { number_value: json };
    if (typeof json === "string") return { string_value: json };
    if (typeof json === "boolean") return { bool_value: json };
    if (Array.isArray(json)) return { list_value: { values: json } };
    return { struct_value: json as { [key: string]: Json } };
  },
  (value) =>
    value.number_value ?? value.string_value ?? value.bool_value ?? value.struct_value ??
      (value.list_value && (value.list_value.values ?? [])) ?? null,
);

/** google.protobuf.Struct: a JSON object. */
export const Struct: Type<{ readonly [key: string]: Json }> = seen(
  message("google.protobuf.Struct", { fields: map(1, Json) }),
  (fields) => ({ fields: expectObject(fields, "google.protobuf.Struct") }),
  ({ fields = {} }) => fields,
);

const prefix = "type.googleapis.com/";

/** A message in a google.protobuf.Any: its fields next to its type's URL. */
export type Packed<M> = M extends Message<infer N, infer F>
  ? { readonly "@type": `${typeof prefix}${N}` } & Value<F>
  : never;

/** A google.protobuf.Any which holds one of some messages; `of` lists them. */
export interface AnyOf<M extends readonly AnyMessage[]> extends Type<Packed<M[number]>> {
  readonly of: M;
}

/** Declares an Any by what it may hold: there is no global registry. Anything else is read as bytes. */
export function anyOf<const M extends readonly AnyMessage[]>(...types: M): AnyOf<M> {
  const allowed = new Map<string, AnyMessage>(types.map((type) => [type.name, type]));
  return {
    name: "google.protobuf.Any",
    of: types,
    wire: WireType.LengthDelimited,
    write(to, value) {
      const url = value?.["@type"] as string | undefined;
      const type = url?.startsWith(prefix) ? allowed.get(url.slice(prefix.length)) : undefined;
      if (!url || !type) {
        const names = [...allowed.keys()].join(", ");
        throw new SchemaError(`expected an @type among ${names}, got ${show(url ?? value)}`);
      }
      to.fork().tag(1, WireType.LengthDelimited).string(url).tag(2, WireType.LengthDelimited);
      type.write(to, value);
      to.join();
    },
    read(from) {
      let url = "", content = new Uint8Array() as Uint8Array;
      const end = from.uint32() + from.pos;
      while (from.pos < end) {
        const [number, wire] = from.tag();
        if (number === 1) url = from.string();
        else if (number === 2) content = from.bytes();
        else from.skip(wire, number);
      }
      const type = allowed.get(url.slice(prefix.length));
      const fields = type ? decode(type as Type<object>, content) : { value: content };
      return { "@type": url, ...fields } as unknown as Packed<M[number]>;
    },
  };
}

/** A google.protobuf.Any whose content is of no interest. */
export const Any = anyOf() as Type<unknown> as Type<
  { readonly "@type": string; readonly value?: Uint8Array }
>;
