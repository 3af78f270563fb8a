/**
 * Events have two forms, of the core group and of `events.k8s.io`; they are kept in the first.
 *
 * @module
 */
import type { ApiObject } from "../../crds/kind.ts";

/** Names of fields, core to events.k8s.io. */
const names: readonly (readonly [core: string, other: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];
const toOther = new Map(names);
const toCore = new Map(names.map(([core, other]) => [other, core]));

function rename(object: ApiObject, apiVersion: string, to: ReadonlyMap<string, string>): ApiObject {
  const fields = Object.entries(object).map(([name, value]) => [to.get(name) ?? name, value]);
  return { ...Object.fromEntries(fields), apiVersion };
}

export function toCoreEvent(object: ApiObject): ApiObject {
  return rename(object, "v1", toCore);
}

export function fromCoreEvent(object: ApiObject, version: string): ApiObject {
  return rename(object, `events.k8s.io/${version}`, toOther);
}
