/**
 * Checks and conversions of single values on their way from and to JSON, with the quirks of the package.
 *
 * @module
 */
import type { JSONObject, JSONValue } from "./deps.ts";

const apology = "This is likely a library bug. Feel free to file an issue with a stack trace.";

/** An error that ends as all of the package's do. */
export function bug(message: string): Error {
  return new Error(`${message}. ${apology}`);
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? "an" : "a";
}

function check(input: unknown, expected: string): void {
  if (input == null) throw bug("Expected a value here, but got null");
  const found: string = typeof input;
  if (found !== expected) throw bug(`Expected ${article(expected)} ${expected} here, but got a ${found}`);
}

/** The value itself. */
export function identity(input: JSONValue): JSONValue {
  return input;
}

/** Maps a value unless it is `null` or `undefined`, which stay as they are. */
export function readOpt<T>(input: JSONValue, mapper: (raw: JSONValue) => T): T | null | undefined {
  return input == null ? input : mapper(input);
}

export function checkStr(input: JSONValue): string {
  check(input, "string");
  return input as string;
}

export function checkNum(input: JSONValue): number {
  check(input, "number");
  return input as number;
}

export function checkBool(input: JSONValue): boolean {
  check(input, "boolean");
  return input as boolean;
}

export function checkObj(input: JSONValue): JSONObject {
  check(input, "object");
  if (Array.isArray(input)) throw bug("Didn't expect an array here, but got one anyway");
  return input as JSONObject;
}

export function readList<V>(input: JSONValue, encoder: (x: JSONValue) => V): Array<V> {
  if (input == null) throw bug("Expected a value here, but got null");
  if (!Array.isArray(input)) throw bug(`Expected an array here, but got a ${typeof input}`);
  return input.map((item) => encoder(item));
}

/** A map without prototype, so that any key is just a key. */
export function readMap<V>(input: JSONValue, valEncoder: (x: JSONValue) => V): Record<string, V> {
  const map: Record<string, V> = Object.create(null);
  for (const [key, value] of Object.entries(checkObj(input))) map[key] = valEncoder(value);
  return map;
}

/** The opposite of {@linkcode readMap}; entries without value are left out. */
export function writeMap<T, U extends JSONValue>(
  input: Record<string, T> | null | undefined,
  valEncoder: (x: T) => U,
): JSONValue {
  if (input == null) return input;
  const map: Record<string, U> = Object.create(null);
  for (const [key, value] of Object.entries(input)) if (value != null) map[key] = valEncoder(value);
  return map;
}

/** A member of an enumeration that is not known here. */
export type UnexpectedEnumValue = string & { unexpected: never };

export function readEnum<T extends string>(raw: unknown): T {
  if (raw == null) throw bug("Expected a string here, but got null");
  check(raw, "string");
  return raw as T;
}

/** A number with a unit, as in `resources.limits`. */
export class Quantity {
  number: number;
  suffix: string;
  constructor(number: number, suffix: string) {
    this.number = number;
    this.suffix = suffix;
  }
  serialize(): string {
    return `${this.number}${this.suffix}`;
  }
}

/** Reads a quantity. The package keeps just the whole part of the number: `1.5Gi` becomes `1Gi`. */
export function toQuantity(raw: JSONValue): Quantity {
  const text = checkStr(raw);
  const suffix = /([KMGTPE]i|[mkMGTPE]|[eE][-+]?[0-9.]+)$/.exec(text)?.[0] ?? "";
  return new Quantity(parseInt(text.slice(0, text.length - suffix.length), 10), suffix);
}

export function fromQuantity(val: Quantity): JSONValue {
  return val?.serialize();
}

export type Time = Date;

export function toTime(input: JSONValue): Time {
  check(input, "string");
  const text = input as string;
  if (!text.includes("T")) {
    throw bug(`Expected a time string here, but I didn't see a "T" in ${JSON.stringify(text)}`);
  }
  const date = new Date(text);
  if (Number.isNaN(date.valueOf())) throw bug(`Time string ${JSON.stringify(text)} failed to parse`);
  return date;
}

/** A number counts seconds since 1970. */
export function fromTime(input: Time | number | null | undefined): JSONValue {
  if (input == null) return input;
  return (typeof input === "number" ? new Date(input * 1000) : input).toISOString();
}

/** A time in microseconds, of which the package has no arithmetic. */
export class MicroTime {
  /** Its fraction of a second does not count. */
  baseDate: Date;
  micros: number;
  constructor(baseDate: Date, micros: number) {
    this.baseDate = baseDate;
    this.micros = micros;
  }
  toISOString(): string {
    const fraction = String(this.micros).padStart(6, "0");
    return this.baseDate.toISOString().replace(/\.\d+Z$/, `.${fraction}Z`);
  }
}

/**
 * Reads a time that has a fraction; the package refuses one that has none, and takes the digits of a short fraction for
 * microseconds.
 */
export function toMicroTime(raw: JSONValue): MicroTime {
  const text = checkStr(raw);
  const fraction = /\.(\d+)Z$/.exec(text);
  if (!fraction) throw bug(`TODO: toMicroTime for ${text}`);
  const date = new Date(`${text.slice(0, fraction.index)}Z`);
  if (Number.isNaN(date.valueOf())) throw bug(`BUG: toMicroTime NaN for ${text}`);
  return new MicroTime(date, parseInt(fraction[1]!));
}

export function fromMicroTime(val: MicroTime): JSONValue {
  return val == null ? val : val.toISOString();
}

export type IntOrString = number | string;

export function toIntOrString(input: JSONValue): string | number {
  if (input == null) throw bug("Expected a value here, but got null");
  if (typeof input === "string" || typeof input === "number") return input;
  throw bug(`Expected a string or number here, but got a ${typeof input}`);
}
