/**
 * Whether an object has what was applied to it.
 *
 * Only what is wanted is compared: the API server fills in defaults, and others may add to maps and to lists whose elements
 * have a name. What is wanted no longer does not show this way; a hash of what was applied tells (`due.ts`).
 *
 * @module
 */
import { sameQuantity } from "./quantities.ts";

type Plain = { readonly [field: string]: unknown };

/** The fields that name an element, of lists that are merged by it; all others are as a whole (`x-kubernetes-list-type`). */
const keys: { readonly [list: string]: readonly string[] } = {
  containers: ["name"],
  env: ["name"],
  imagePullSecrets: ["name"],
  ownerReferences: ["uid"],
  topologySpreadConstraints: ["topologyKey", "whenUnsatisfiable"],
  volumeMounts: ["mountPath"],
  volumes: ["name"],
};

/** Ports of a container and of a Service are told apart by number and protocol. */
function keysOf(list: string, element: unknown): readonly string[] | undefined {
  if (list !== "ports") return keys[list];
  return [isPlain(element) && "containerPort" in element ? "containerPort" : "port", "protocol"];
}

/** The path of the first field in which `observed` is not what is wanted, such as `spec.ports[80/TCP].name`. */
export function difference(wanted: unknown, observed: unknown, path = ""): string | undefined {
  if (Array.isArray(wanted)) return listDifference(wanted, observed, path);
  if (isPlain(wanted)) {
    if (Object.keys(wanted).length === 0 && observed === undefined) return undefined;
    if (!isPlain(observed)) return path;
    const quantities = /\.(requests|limits)$/.test(path);
    for (const [field, value] of Object.entries(wanted)) {
      if (quantities && sameQuantity(value, observed[field])) continue;
      const found = difference(value, observed[field], path === "" ? field : `${path}.${field}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return wanted === observed ? undefined : path;
}

function listDifference(wanted: readonly unknown[], observed: unknown, path: string): string | undefined {
  if (wanted.length === 0 && observed === undefined) return undefined;
  if (!Array.isArray(observed)) return path;
  const names = keysOf(path.slice(path.lastIndexOf(".") + 1), wanted[0]);
  if (names === undefined && wanted.length !== observed.length) return path;
  const nameOf = (element: unknown) =>
    names?.map((field) => isPlain(element) ? String(element[field]) : "").join("/") ?? "";
  const byName = new Map(observed.map((element) => [nameOf(element), element]));
  for (const [i, element] of wanted.entries()) {
    const name = nameOf(element), other = names === undefined ? observed[i] : byName.get(name);
    const found = difference(element, other, `${path}[${names === undefined ? i : name}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
