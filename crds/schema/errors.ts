/**
 * Errors as kube-apiserver words them: a field, a reason, the value, a detail.
 *
 * @module
 */
import type { z } from "zod";
import type { Finding, Reason } from "./checks.ts";

/** What is wrong with one field of an object. */
export interface FieldError {
  /** `spec.listeners[0].port`. */
  readonly field: string;
  readonly reason: Reason | "Unknown";
  /** Without the field: `Invalid value: 0: spec.listeners[0].port in body should be greater than or equal to 1`. */
  readonly message: string;
  readonly badValue?: unknown;
  /** Found by a rule, not by the shape. */
  readonly rule?: true;
}

const titles: { readonly [R in Reason]: string } = {
  Required: "Required value",
  Invalid: "Invalid value",
  TypeInvalid: "Invalid value",
  Duplicate: "Duplicate value",
  NotSupported: "Unsupported value",
  TooLong: "Too long",
  TooMany: "Too many",
  Forbidden: "Forbidden",
};

/** `spec.rules[0].matches[1].path.value`; a step in brackets, such as `[tls.crt]`, stands for itself. */
export function pathOf(steps: readonly PropertyKey[]): string {
  let path = "";
  for (const step of steps) {
    if (typeof step === "number") path += `[${step}]`;
    else if (typeof step === "string" && step.startsWith("[")) path += step;
    else path += path ? `.${String(step)}` : String(step);
  }
  return path;
}

export function fieldError(field: string, finding: Finding, input: unknown): FieldError {
  const { reason, detail, inBody, omitted, rule } = finding;
  const value = "value" in finding ? finding.value : input;
  const shown = !omitted && reason !== "Required" && reason !== "Forbidden";
  const parts = [titles[reason]];
  if (shown) parts.push(JSON.stringify(value) ?? "null");
  if (detail !== undefined) parts.push(inBody ? `${field} in body ${detail}` : detail);
  return {
    field,
    reason,
    message: parts.join(": "),
    ...(shown ? { badValue: value } : {}),
    ...(rule ? { rule } : {}),
  };
}

/** The name of a JSON value's type. */
function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  return typeof value;
}

const typeNames: { readonly [zod: string]: string } = { int: "integer", number: "integer", record: "object" };

function wrongType(expected: string, input: unknown): Finding {
  const type = typeOf(input);
  const detail = `must be of type ${typeNames[expected] ?? expected}: "${type}"`;
  return { reason: "TypeInvalid", detail, inBody: true, value: type };
}

/** What an issue of zod's means; a missing field is zod's most frequent way to say that a type is wrong. */
export function errorsOf(issue: z.core.$ZodRawIssue): FieldError[] {
  const field = pathOf(issue.path ?? []);
  const { input } = issue;
  if (issue.code === "custom") return [fieldError(field, issue.params as unknown as Finding, input)];
  if (input === undefined) return [fieldError(field, { reason: "Required" }, input)];
  switch (issue.code) {
    case "invalid_type":
      return [fieldError(field, wrongType(issue.expected, input), input)];
    case "invalid_union":
      return [fieldError(field, wrongType("integer,string", input), input)];
    case "too_big":
    case "too_small":
      return [fieldError(field, wrongType("integer", input), input)];
    case "invalid_value": {
      const values = issue.values.map((value) => JSON.stringify(String(value))).join(", ");
      const unsupported: Finding = { reason: "NotSupported", detail: `supported values: ${values}` };
      const type = typeof issue.values[0] === "number" ? "integer" : "string";
      const errors = [fieldError(field, unsupported, input)];
      return typeOf(input) === type ? errors : [fieldError(field, wrongType(type, input), input), ...errors];
    }
    default:
      return [fieldError(field, { reason: "Invalid", detail: issue.message ?? issue.code }, input)];
  }
}
