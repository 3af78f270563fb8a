/**
 * The shape of a protobuf schema in this folder, and how a value that does not fit it is reported.
 *
 * @module
 */
import type { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** How values of one protobuf type are written and read; `T` is how they look in TypeScript. */
export interface Type<T> {
  /** The protobuf name: `uint32`, `envoy.config.cluster.v3.Cluster`. */
  readonly name: string;
  readonly wire: WireType;
  write(to: BinaryWriter, value: T): void;
  read(from: BinaryReader): T;
}

/** One line of a message's table. */
export interface Field<T> {
  readonly number: number;
  readonly kind: "field" | "repeated" | "map";
  readonly type: Type<unknown>;
  /** Never set; carries the type of the field's value. */
  readonly value?: T;
}

/** A field that holds one value. */
export function field<T>(number: number, type: Type<T>): Field<T> {
  return { number, kind: "field", type: type as Type<unknown> };
}

/** A field that holds a list. */
export function repeated<T>(number: number, type: Type<T>): Field<readonly T[]> {
  return { number, kind: "repeated", type: type as Type<unknown> };
}

/** A field that holds values by string. */
export function map<T>(number: number, type: Type<T>): Field<{ readonly [key: string]: T }> {
  return { number, kind: "map", type: type as Type<unknown> };
}

/** The type of the values that a schema describes. */
export type Infer<M> = M extends Type<infer T> ? T : never;

/** A value that does not fit its schema. The message starts with the path of the offending field. */
export class SchemaError extends Error {
  override name = "SchemaError";

  constructor(readonly problem: string, readonly path = "", options?: ErrorOptions) {
    super(path ? `${path}: ${problem}` : problem, options);
  }

  /** The same problem, seen from the value that holds the offending one. */
  under(step: string): SchemaError {
    const path = this.path && !this.path.startsWith("[") ? `${step}.${this.path}` : step + this.path;
    return new SchemaError(this.problem, path, { cause: this.cause });
  }

  /** Whatever was thrown, as a problem with a value. */
  static of(thrown: unknown): SchemaError {
    if (thrown instanceof SchemaError) return thrown;
    return new SchemaError(thrown instanceof Error ? thrown.message : String(thrown), "", { cause: thrown });
  }
}

/** Describes a value in an error message. */
export function show(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return JSON.stringify(value) ?? typeof value;
}

/** The value, if it is an object that is not a list. */
export function expectObject<T>(value: T, expected: string): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SchemaError(`expected ${expected}, got ${show(value)}`);
  }
  return value;
}
