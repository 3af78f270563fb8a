/**
 * Label selectors, as in `metav1.LabelSelector`.
 *
 * @module
 */
import type { LabelSelector } from "../../crds/mod.ts";
import { isSubdomain } from "../../crds/schema/formats.ts";

/** Whether labels satisfy all of a selector. An empty selector takes everything, one with a fault nothing. */
export function matchesSelector(
  selector: LabelSelector,
  labels: { readonly [name: string]: string },
): boolean {
  if (selectorFault(selector) !== undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
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
        default:
          return !has(key);
      }
    });
}

/** Whether an operator compares with values; it then needs one, and otherwise may have none. */
const operators: { readonly [operator: string]: { readonly values: boolean } } = {
  In: { values: true },
  NotIn: { values: true },
  Exists: { values: false },
  DoesNotExist: { values: false },
};

/**
 * Why a selector is none, as the rest of a message that begins with its field; `undefined` if it is one. Kubernetes stores
 * selectors of custom resources unseen, and its libraries find out when they read them.
 */
export function selectorFault(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
): string | undefined {
  for (const [key, value] of Object.entries(matchLabels)) {
    const problem = keyFault(key) ?? valueFault(value);
    if (problem) return `.matchLabels: ${problem}`;
  }
  for (const [i, { key, operator, values = [] }] of matchExpressions.entries()) {
    const known = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
    const problem = known === undefined
      ? `operator "${operator}" is not supported, use ${Object.keys(operators).join(", ")}`
      : known.values && values.length === 0
      ? `${operator} needs values`
      : !known.values && values.length > 0
      ? `${operator} takes no values, remove them`
      : keyFault(key) ?? values.map(valueFault).find((fault) => fault !== undefined);
    if (problem) return `.matchExpressions[${i}]: ${problem}`;
  }
  return undefined;
}

const name = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

function keyFault(key: string): string | undefined {
  const slash = key.indexOf("/");
  const isKey = name.test(key.slice(slash + 1)) && (slash < 0 || isSubdomain(key.slice(0, slash)));
  return isKey ? undefined : `"${key}" is no label, write it like example.com/team`;
}

function valueFault(value: string): string | undefined {
  return value === "" || name.test(value) ? undefined : `"${value}" is no value of a label`;
}
