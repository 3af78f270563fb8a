import { deepStrictEqual } from "node:assert";
export function assertEquals<T>(actual: T, expected: T, msg?: string): void { deepStrictEqual(actual, expected, msg); }
export function assert(expr: unknown, msg = ""): asserts expr { if (!expr) throw new Error(msg); }
