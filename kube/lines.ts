/**
 * A stream of bytes cut into lines, none longer than a limit.
 *
 * @module
 */

/** A line that is longer than allowed. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
  constructor(limit: number) {
    super(`Cannot read a line: it is longer than ${limit} bytes`);
  }
}

const newline = 10;

/**
 * Yields the non-empty lines of `stream`, decoded; what comes after the last end of line is incomplete and dropped.
 * Returning early cancels the stream, and so does `signal`, which just ends the lines.
 *
 * @throws {LineTooLongError} as soon as more than `limit` bytes come without an end of line.
 */
export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  limit: number,
  options: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  // A pending read ends at once, even if the peer is gone; whatever the cancellation itself fails with is of no use.
  const stop = () => void reader.cancel().catch(() => {});
  options.signal?.addEventListener("abort", stop, { once: true });
  if (options.signal?.aborted) stop();
  const parts: Uint8Array[] = [];
  let held = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const chunk = next.value;
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        parts.push(chunk.subarray(start, end));
        held += end - start;
        start = end + 1;
        if (held > limit) throw new LineTooLongError(limit);
        // Bytes, not texts, are put together: a chunk may end in the middle of a character.
        if (held > 0) yield decoder.decode(parts.length === 1 ? parts[0] : join(parts, held));
        parts.length = 0;
        held = 0;
      }
      if (start < chunk.length) {
        parts.push(chunk.subarray(start));
        held += chunk.length - start;
        if (held > limit) throw new LineTooLongError(limit);
      }
    }
  } finally {
    options.signal?.removeEventListener("abort", stop);
    stop();
    reader.releaseLock();
  }
}

/** Puts pieces together. `length` is the sum of theirs. */
export function join(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
