/**
 * How a failed assertion shows values, and the difference of two of them.
 *
 * @module
 */

/** A value over as many lines as it needs, keys in order: made to be compared line by line. */
export function format(value: unknown): string {
  return Deno.inspect(value, {
    depth: Infinity,
    sorted: true,
    trailingComma: true,
    compact: false,
    iterableLimit: Infinity,
    getters: true,
    strAbbreviateSize: Infinity,
  });
}

function paint(
  text: string,
  ...codes: readonly (readonly [on: number, off: number])[]
): string {
  if (Deno.noColor) return text;
  return codes.reduce(
    (inner, [on, off]) => `\x1b[${on}m${inner}\x1b[${off}m`,
    text,
  );
}

const bold = [1, 22] as const,
  red = [31, 39] as const,
  green = [32, 39] as const,
  gray = [90, 39] as const;

/** Red, unless colours are switched off. */
export function inRed(text: string): string {
  return paint(text, red);
}

/** Takes colours out of a text. */
export function withoutColors(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/\x1b\[[0-9;]*m/g, "");
}

type Line = readonly [sign: " " | "-" | "+", text: string];

/** The most cells of the table of common subsequences; texts that differ in more lines are shown one after the other. */
const mostCells = 4_000_000;

function compareLines(
  actual: readonly string[],
  expected: readonly string[],
): Line[] {
  let start = 0;
  let [endA, endB] = [actual.length, expected.length];
  while (start < endA && start < endB && actual[start] === expected[start]) {
    start++;
  }
  while (
    endA > start && endB > start && actual[endA - 1] === expected[endB - 1]
  ) endA--, endB--;
  const a = actual.slice(start, endA), b = expected.slice(start, endB);
  return [
    ...actual.slice(0, start).map((text): Line => [" ", text]),
    ...compareMiddles(a, b),
    ...actual.slice(endA).map((text): Line => [" ", text]),
  ];
}

function compareMiddles(a: readonly string[], b: readonly string[]): Line[] {
  const width = b.length + 1;
  const lines: Line[] = [];
  let i = 0, j = 0;
  if (a.length > 0 && b.length > 0 && a.length * b.length <= mostCells) {
    // longest[i, j]: how many lines a[i…] and b[j…] have in common, in order.
    const longest = new Uint32Array((a.length + 1) * width);
    const at = (i: number, j: number): number => longest[i * width + j]!;
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
      }
    }
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) lines.push([" ", a[i++]!]), j++;
      else if (at(i + 1, j) >= at(i, j + 1)) lines.push(["-", a[i++]!]);
      else lines.push(["+", b[j++]!]);
    }
  }
  for (const text of a.slice(i)) lines.push(["-", text]);
  for (const text of b.slice(j)) lines.push(["+", text]);
  return lines;
}

/** The lines of a string; what cannot be seen is escaped, ends of lines included. */
function linesOf(text: string): string[] {
  const names: Record<string, string> = {
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\t": "\\t",
    "\v": "\\v",
    "\r": "\\r",
  };
  return text
    .replace(/[\\\b\f\t\v]|\r(?!\n)/g, (char) => names[char] ?? char)
    .replace(/\r?\n/g, (end) => `${end === "\n" ? "\\n" : "\\r\\n"}\n`)
    .split("\n");
}

/** The lines that tell `actual` (`-`) from `expected` (`+`), under a heading. */
export function difference(actual: unknown, expected: unknown): string {
  const strings = typeof actual === "string" && typeof expected === "string";
  const lines = strings
    ? compareLines(linesOf(actual), linesOf(expected))
    : compareLines(format(actual).split("\n"), format(expected).split("\n"));
  const shown = lines.map(([sign, text]) => {
    const line = `${sign}   ${text}`;
    return sign === " " ? line : paint(line, bold, sign === "-" ? red : green);
  });
  const heading = `    ${paint("[Diff]", bold, gray)} ${paint("Actual", bold, red)} / ${
    paint("Expected", bold, green)
  }`;
  return ["", "", heading, "", "", ...shown, ...(strings ? ["", ""] : [""])].join("\n");
}
