/**
 * What a case of the core kinds is, and how one is written down.
 *
 * @module
 */
import type { Kind } from "../../../crds/mod.ts";
import type { Json } from "./case.ts";

export interface CoreCase {
  readonly kind: Kind;
  /** What is told of the second object: `field: message`, or several of them. */
  readonly told: readonly string[];
  /** Whole objects but for apiVersion and kind; `metadata` if it is the name that matters. */
  readonly keeps: Json;
  readonly breaks: Json;
}

export type Row = readonly [told: string | readonly string[], keeps: Json, breaks: Json];

export const of = (kind: unknown, rows: readonly Row[]): readonly CoreCase[] =>
  rows.map(([told, keeps, breaks]) => ({
    kind: kind as Kind,
    told: typeof told === "string" ? [told] : told,
    keeps,
    breaks,
  }));

export const label = 'must be a lowercase RFC 1123 label of at most 63 characters, such as "my-name"';
/** The whole object. */
export const coreObject = (kind: Kind, body: Json): Json => ({
  apiVersion: kind.group ? `${kind.group}/v1` : "v1",
  kind: kind.kind,
  metadata: { name: "x" },
  ...body,
});
