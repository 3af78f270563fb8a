/** What `writer.ts` writes under the `i`th name in a round; `undefined` is a deletion, one in ten. */
export function valueAt(mark: string, i: number, round: number): string | undefined {
  return (round + i) % 10 === 9 ? undefined : `${mark}-${round}`;
}
