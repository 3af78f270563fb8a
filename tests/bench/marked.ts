/**
 * Pages that several programs write: each has a part of its own, between two marks.
 *
 * @module
 */

function marks(part: string): readonly [begin: string, end: string] {
  return [`<!-- ${part}: begin -->`, `<!-- ${part}: end -->`];
}

/** What a page has in a part, its marks included; `undefined` if there is no such part. */
export function partOf(page: string, part: string): string | undefined {
  const [begin, end] = marks(part);
  const from = page.indexOf(begin), to = page.indexOf(end, from);
  return from < 0 || to < 0 ? undefined : page.slice(from, to + end.length);
}

/** The page with this text in a part, which is added at the end if there is none. */
export function withPart(page: string, part: string, text: string): string {
  const [begin, end] = marks(part), old = partOf(page, part);
  const now = `${begin}\n\n${text.trim()}\n\n${end}`;
  return old === undefined ? `${page.trimEnd()}\n\n${now}\n` : page.replace(old, () => now);
}
