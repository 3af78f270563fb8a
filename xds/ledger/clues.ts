/**
 * Whom Envoy's words point at.
 *
 * @module
 */

/**
 * Those whose content a complaint quotes: Envoy names the regular expression, hostname or header that it does not like. Of
 * all texts that occur in the complaint, the one that fewest have decides. Only a hint: the complaint may quote nothing, or
 * something harmless.
 */
export function named<T extends { readonly content: unknown }>(
  suspects: readonly T[],
  complaint: string,
): readonly T[] {
  const byText = new Map<string, T[]>();
  for (const suspect of suspects) {
    const texts = new Set<string>();
    collect(suspect.content, complaint, texts);
    for (const text of texts) {
      const holders = byText.get(text);
      if (holders) holders.push(suspect);
      else byText.set(text, [suspect]);
    }
  }
  let best: readonly T[] = [], bestText = "";
  for (const [text, holders] of byText) {
    const rarer = best.length === 0 || holders.length < best.length;
    if (rarer || holders.length === best.length && text.length > bestText.length) {
      best = holders;
      bestText = text;
    }
  }
  return best;
}

/** Adds the strings of a value that occur in a text; a single character says nothing. */
function collect(value: unknown, text: string, into: Set<string>): void {
  if (typeof value === "string") {
    if (value.length > 1 && text.includes(value)) into.add(value);
  } else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) collect(inner, text, into);
  }
}
