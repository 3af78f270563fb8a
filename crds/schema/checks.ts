/**
 * The checks that zod runs on a node, made from its facts; they report what kube-apiserver would.
 *
 * @module
 */
import { z } from "zod";
import type { Facts, Fault, Rule } from "./facts.ts";
import { serves, type Surface } from "./surface.ts";

/** Names as `metav1.CauseType` has them, without their prefix `FieldValue`. */
export type Reason =
  | "Required"
  | "Invalid"
  | "TypeInvalid"
  | "Duplicate"
  | "NotSupported"
  | "TooLong"
  | "TooMany"
  | "Forbidden";

/** What an issue of ours carries in zod's `params`. */
export interface Finding {
  readonly reason: Reason;
  /** Follows the reason; `FIELD in body` stands before it if `inBody`. */
  readonly detail?: string;
  readonly inBody?: true;
  /** Shown instead of the value itself; `omitted` shows none. */
  readonly value?: unknown;
  readonly omitted?: true;
  /** Found by a rule, which Kubernetes leaves out while the object's shape is wrong. */
  readonly rule?: true;
}

type Payload = z.core.ParsePayload<unknown>;
type Check = z.core.$ZodCheck<unknown>;

function report(payload: Payload, finding: Finding, path: readonly PropertyKey[] = []): void {
  payload.issues.push({
    code: "custom",
    message: finding.detail ?? finding.reason,
    input: payload.value,
    path: [...path],
    params: finding as unknown as Record<string, unknown>,
    continue: true,
  });
}

/** A check that runs although something inside of the value is wrong; it looks at the type itself. */
function always(applies: (value: unknown) => boolean, check: (payload: Payload) => void): Check {
  return z.core._check(check as (payload: z.core.ParsePayload) => void, {
    when: (payload: Payload) => applies(payload.value),
  }) as Check;
}

/** The length as Go's `utf8.RuneCountInString` counts it. */
function runes(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next < 0xe000) {
        count--;
        i++;
      }
    }
  }
  return count;
}

const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:?\d\d)$/;

export function stringCheck(facts: Facts): Check | undefined {
  const { minLength, maxLength, pattern, format } = facts;
  if (minLength === undefined && maxLength === undefined && pattern === undefined && format !== "date-time") {
    return;
  }
  const regex = facts.safePattern ?? (pattern === undefined ? undefined : new RegExp(pattern));
  return z.core._check((payload) => {
    const text = payload.value as string;
    // An endless text is not worth looking at any closer.
    if (maxLength !== undefined && text.length > maxLength && runes(text) > maxLength) {
      const unit = maxLength === 1 ? "byte" : "bytes";
      report(payload, {
        reason: "TooLong",
        detail: `may not be more than ${maxLength} ${unit}`,
        omitted: true,
      });
      return;
    }
    if (minLength !== undefined && text.length < minLength) {
      report(payload, {
        reason: "Invalid",
        detail: `should be at least ${minLength} chars long`,
        inBody: true,
      });
    } else if (regex && !regex.test(text)) {
      report(payload, { reason: "Invalid", detail: `should match '${pattern}'`, inBody: true });
    }
    if (format === "date-time" && !(dateTime.test(text) && !Number.isNaN(Date.parse(text)))) {
      report(payload, {
        reason: "TypeInvalid",
        detail: `must be of type date-time: ${JSON.stringify(text)}`,
        inBody: true,
      });
    }
  }) as Check;
}

export function integerCheck(facts: Facts): Check | undefined {
  const { format } = facts;
  const minimum = facts.minimum ?? -Infinity;
  const maximum = facts.maximum ?? Infinity;
  if (minimum === -Infinity && maximum === Infinity && format !== "int32") return;
  return z.core._check((payload) => {
    const value = payload.value as number;
    if (value > maximum) {
      const detail = `should be less than or equal to ${maximum}`;
      report(payload, { reason: "Invalid", detail, inBody: true });
    }
    if (value < minimum) {
      const detail = `should be greater than or equal to ${minimum}`;
      report(payload, { reason: "Invalid", detail, inBody: true });
    }
    if (format === "int32" && value !== (value | 0)) {
      const detail = "must be of type integer with format int32";
      report(payload, { reason: "TypeInvalid", detail, inBody: true });
    }
  }) as Check;
}

export const mostItems = (max: number): string => `must have at most ${max} ${max === 1 ? "item" : "items"}`;

export function listChecks(facts: Facts): Check[] {
  const { minItems, maxItems, listType, listMapKeys } = facts;
  const checks: Check[] = [];
  if (minItems !== undefined || maxItems !== undefined) {
    checks.push(always(Array.isArray, (payload) => {
      const { length } = payload.value as unknown[];
      if (minItems !== undefined && length < minItems) {
        const detail = `should have at least ${minItems} items`;
        report(payload, { reason: "Invalid", detail, inBody: true, value: length });
      }
      if (maxItems !== undefined && length > maxItems) {
        report(payload, {
          reason: "TooMany",
          detail: mostItems(maxItems),
          value: length,
        });
      }
    }));
  }
  if (listType === "set") {
    checks.push(always(Array.isArray, (payload) => findDuplicates(payload, (item) => item)));
  }
  if (listType === "map") {
    const keys = listMapKeys ?? [];
    checks.push(always(Array.isArray, (payload) => {
      const stranger = (payload.value as readonly unknown[]).findIndex((item) => !isMap(item));
      if (stranger < 0) return findDuplicates(payload, (item) => keysOf(item as object, keys));
      const value = (payload.value as readonly unknown[])[stranger];
      if (value === null) return; // its type alone is reported
      report(payload, { reason: "Invalid", detail: "must be an object, since the list is a map", value }, [
        stranger,
      ]);
    }));
  }
  return checks;
}

function keysOf(item: object, keys: readonly string[]): unknown {
  const found: Record<string, unknown> = {};
  for (const key of keys) if (key in item) found[key] = (item as Record<string, unknown>)[key];
  return found;
}

/** Reports the second of equal members, and no third, as kube-apiserver does. */
function findDuplicates(payload: Payload, identity: (item: unknown) => unknown): void {
  const list = payload.value as readonly unknown[];
  if (list.length < 2) return;
  const seen = new Map<string, number>();
  list.forEach((item, i) => {
    const value = identity(item);
    const text = JSON.stringify(value);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    if (times === 1) report(payload, { reason: "Duplicate", value }, [i]);
  });
}

const isMap = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

export function mapCheck({ maxProperties }: Facts): Check | undefined {
  if (maxProperties === undefined) return;
  return always(isMap, (payload) => {
    const size = Object.keys(payload.value as object).length;
    if (size <= maxProperties) return;
    report(payload, {
      reason: "TooMany",
      detail: mostItems(maxProperties),
      value: size,
    });
  });
}

export function faultsCheck({ faults }: Facts): Check | undefined {
  if (!faults) return;
  const find = faults as (self: unknown) => readonly Fault[];
  return z.core._check((payload) => {
    for (const { path, ...finding } of find(payload.value)) report(payload, finding, path);
  }) as Check;
}

export function normalization({ normalize }: Facts): Check | undefined {
  return normalize && z.core._overwrite(normalize as (self: unknown) => unknown) as Check;
}

/** One check for all the rules that a surface has. */
export function rulesCheck(rules: readonly Rule[] | undefined, surface: Surface): Check | undefined {
  const served = rules?.filter((rule) => rule.holds && serves(surface, rule.in)) as
    | Rule<unknown>[]
    | undefined;
  if (!served?.length) return;
  return z.core._check((payload) => {
    for (const { holds, message } of served) {
      if (holds!(payload.value)) continue;
      const omitted = typeof payload.value === "object" ? { omitted: true } as const : {};
      report(payload, { reason: "Invalid", detail: message, rule: true, ...omitted });
    }
  }) as Check;
}
