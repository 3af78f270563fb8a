/**
 * Random changes of objects: fields that vanish, appear, or get values that they should not have.
 *
 * @module
 */
import type { ApiObject } from "../../crds/mod.ts";

type Container = Record<string | number, unknown>;

const values: readonly unknown[] = [
  "",
  "a",
  "A",
  "*",
  "a.b",
  "-",
  0,
  1,
  -1,
  65536,
  1.5,
  true,
  null,
  [],
  {},
  [1],
  ["a", "a"],
  [{}],
  [{ name: "a" }, { name: "a" }],
  "All",
  "x".repeat(300),
  "ä😀",
  "a b",
  "10.0.0.1",
  "::1",
  "1s",
  "/",
  "//",
  "HTTP",
  "TLS",
  "Exact",
  "RegularExpression",
  "Service",
  "2026-01-02T03:04:05Z",
];

const fields: readonly string[] = [
  "name",
  "port",
  "type",
  "value",
  "namespace",
  "group",
  "kind",
  "weight",
  "foo",
  "sectionName",
  "hostname",
  "tls",
  "mode",
  "filters",
  "matches",
  "rules",
  "hostnames",
  "selector",
  "percent",
  "conditions",
  "cookie",
  "sessionName",
  "cookieConfig",
  "retry",
  "attempts",
  "useDefaultGateways",
  "routability",
];

/** Every place inside of a value: what holds it, and its name there. */
function places(value: unknown): [Container, string | number][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    [value as Container, Array.isArray(value) ? Number(name) : name] as [Container, string | number],
    ...places(inner),
  ]);
}

/** A copy of an object with one to three changes in its spec and status. */
export function variation<T extends ApiObject>(object: T, random: () => number): T {
  const pick = <V>(list: readonly V[]): V => list[Math.floor(random() * list.length)]!;
  const copy = structuredClone(object) as T & { readonly spec?: unknown; readonly status?: unknown };
  for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes--) {
    const all = [...places(copy.spec), ...places(copy.status)];
    if (all.length === 0) break;
    const [holder, name] = pick(all);
    const inner = holder[name];
    const dice = random();
    if (dice < 0.3) {
      if (Array.isArray(holder)) holder.splice(Number(name), 1);
      else delete holder[name];
    } else if (dice < 0.6) holder[name] = structuredClone(pick(values));
    else if (dice < 0.75 && Array.isArray(holder)) holder.push(structuredClone(inner));
    else {
      const isObject = typeof inner === "object" && inner !== null && !Array.isArray(inner);
      const target = isObject ? inner as Container : holder;
      if (!Array.isArray(target)) target[pick(fields)] = structuredClone(pick(values));
    }
  }
  return copy;
}
