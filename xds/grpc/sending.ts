/**
 * Writes responses to streams.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { ServerHttp2Stream } from "node:http2";
import { sizeOf } from "../build/pack.ts";
import { gather } from "./frames.ts";
import type { Turns } from "./turns.ts";

/** How much is given to HTTP/2 at once. */
const writeSize = 32 * 1024;

/** From how many bytes on a response waits for its turn. One that is smaller is handed over at once, whatever the peer does. */
const large = 64 * 1024;

/** Writes a response as fast as the peer takes it, a large one in its turn. Returns how many bytes that were. */
export async function send(
  stream: ServerHttp2Stream,
  pieces: readonly Uint8Array[],
  turns: Turns,
  gone: AbortSignal,
): Promise<number> {
  using turn = sizeOf(pieces) < large ? undefined : await turns.take();
  void turn;
  let size = 0;
  for (const piece of gather(pieces, writeSize)) {
    if (gone.aborted) return size;
    size += piece.length;
    const free = stream.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    if (!free) await drained(stream, gone);
  }
  return size;
}

function drained(stream: ServerHttp2Stream, gone: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (gone.aborted || !stream.writableNeedDrain) return Promise.resolve();
  const done = () => {
    stream.off("drain", done);
    gone.removeEventListener("abort", done);
    resolve();
  };
  stream.on("drain", done);
  gone.addEventListener("abort", done);
  return promise;
}
