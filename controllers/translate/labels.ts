/**
 * Label selectors, as in `metav1.LabelSelector`.
 *
 * @module
 */
import type { LabelSelector } from "../../crds/mod.ts";

/** Whether labels satisfy all of a selector. An empty selector takes everything; an unknown operator nothing. */
export function matchesSelector(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: { readonly [name: string]: string },
): boolean {
  const has = (key: string) => Object.hasOwn(labels, key);
  return Object.entries(matchLabels).every(([key, value]) => has(key) && labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      switch (operator) {
        case "In":
          return has(key) && values.includes(labels[key] ?? "");
        case "NotIn":
          return !has(key) || !values.includes(labels[key] ?? "");
        case "Exists":
          return has(key);
        case "DoesNotExist":
          return !has(key);
        default:
          return false;
      }
    });
}
