/**
 * The part of JSONPath that printer columns may use: `.status.addresses[*].value`,
 * `.status.conditions[?(@.type=="Accepted")].status`, `.metadata.labels['a.b/c']`.
 *
 * @module
 */

type Step = (values: readonly unknown[]) => readonly unknown[];

/** @throws {SyntaxError} if it is not of this part */
export function compileJsonPath(path: string): (value: unknown) => readonly unknown[] {
  const steps: Step[] = [];
  const fail = () => new SyntaxError(`Cannot read JSONPath "${path}"`);
  let rest = path.replace(/^\{(.*)\}$/, "$1").replace(/^\$/, "");
  while (rest !== "") {
    const filter = /^\[\?\(@\.([\w.]+)\s*==\s*(?:"([^"]*)"|'([^']*)')\)\]/.exec(rest);
    const part = filter ?? /^\.([\w-]+(?:\\\.[\w/-]+)*)/.exec(rest) ?? /^\['([^']*)'\]/.exec(rest) ??
      /^\[(\d+|\*)\]/.exec(rest);
    if (!part) throw fail();
    rest = rest.slice(part[0].length);
    if (filter) {
      const inner = compileJsonPath(`.${filter[1]}`);
      const wanted = filter[2] ?? filter[3];
      steps.push((values) =>
        values.flatMap(items).filter((item) => inner(item).some((found) => String(found) === wanted))
      );
    } else if (part[0].startsWith("[") && /^\d+$/.test(part[1]!)) {
      const index = Number(part[1]);
      steps.push((values) => values.flatMap((value) => items(value).slice(index, index + 1)));
    } else if (part[1] === "*") steps.push((values) => values.flatMap(items));
    else {
      const name = part[1]!.replaceAll("\\.", ".");
      steps.push((values) => values.flatMap((value) => field(value, name)));
    }
  }
  return (value) => steps.reduce<readonly unknown[]>((values, step) => step(values), [value]);
}

function items(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}

function field(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const found = (value as Record<string, unknown>)[name];
  return found === undefined || found === null ? [] : [found];
}
