/**
 * Text for people: colours where a terminal shows them, columns that line up.
 *
 * @module
 */
import { stripVTControlCharacters, styleText } from "node:util";

export type Paint = (style: "bold" | "dim" | "red" | "green" | "yellow" | "cyan", text: string) => string;

/** Colours only on a terminal, and never with `NO_COLOR` (https://no-color.org). */
export function painter(
  terminal: boolean,
  env: { readonly [name: string]: string | undefined },
): Paint {
  if (!terminal || env.NO_COLOR || env.TERM === "dumb") return (_style, text) => text;
  return (style, text) => styleText(style, text, { validateStream: false });
}

/** Rows as lines of aligned columns, two spaces apart. */
export function columns(rows: readonly (readonly string[])[], indent = ""): string {
  const width = (cell: string) => [...stripVTControlCharacters(cell)].length;
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, width(cell)));
  return rows.map((row) =>
    indent + row.map((cell, i) => i === row.length - 1 ? cell : cell + " ".repeat(widths[i]! - width(cell)))
      .join("  ").trimEnd() +
    "\n"
  ).join("");
}

/** A word of a shell's command line, in quotes if it needs some. */
export function shellWord(word: string): string {
  return /^[\w./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
