/**
 * gRPC's framing of messages on an HTTP/2 stream: a byte for compression, four for the length, the message.
 *
 * @module
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { sizeOf } from "../build/pack.ts";
import type { DeltaResponse } from "../delta/stream.ts";
import { typeUrls, type XdsResource } from "../types.ts";

/** A call that ends with something else than OK. */
export class GrpcError extends Error {
  override name = "GrpcError";
  constructor(readonly code: GrpcCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** The status codes that Gatehouse answers. */
export const grpcCodes = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcCode = keyof typeof grpcCodes;

const headSize = 5;

/** Cuts a byte stream into messages. Throws {@linkcode GrpcError} for one that is longer than `limit` or compressed. */
export async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
): AsyncGenerator<Uint8Array, void> {
  let pending: Uint8Array[] = [], size = 0;
  for await (const chunk of chunks) {
    pending.push(chunk);
    size += chunk.length;
    while (size >= headSize) {
      const head = take(pending, headSize, false);
      if (head[0] !== 0) throw new GrpcError("UNIMPLEMENTED", "Compressed messages are not supported");
      const length = new DataView(head.buffer, head.byteOffset).getUint32(1);
      if (length > limit) {
        throw new GrpcError("RESOURCE_EXHAUSTED", `A request has ${length} bytes, more than ${limit}`);
      }
      if (size < headSize + length) break;
      const rest = [take(pending, size, true)];
      yield rest[0]!.slice(headSize, headSize + length);
      pending = [rest[0]!.subarray(headSize + length)];
      size -= headSize + length;
    }
  }
}

/** The first `size` bytes of some chunks; `all` spares the copy where they are one already. */
function take(chunks: readonly Uint8Array[], size: number, all: boolean): Uint8Array {
  const [first] = chunks;
  if (first && (all ? chunks.length === 1 : first.length >= size)) return first.subarray(0, size);
  const taken = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    if (at >= size) break;
    const part = chunk.subarray(0, size - at);
    taken.set(part, at);
    at += part.length;
  }
  return taken;
}

/** A response as a message on the wire, in pieces: those of its resources are shared among streams. */
export function frameResponse(response: DeltaResponse): readonly Uint8Array[] {
  const head = new BinaryWriter()
    .tag(4, WireType.LengthDelimited).string(typeUrls[response.type])
    .tag(5, WireType.LengthDelimited).string(response.nonce);
  for (const name of response.removed) head.tag(6, WireType.LengthDelimited).string(name);
  const pieces: Uint8Array[] = [head.finish()];
  for (const { bytes } of response.resources) pieces.push(headOf(bytes), ...bytes);
  const frame = new Uint8Array(headSize);
  new DataView(frame.buffer).setUint32(1, sizeOf(pieces));
  return [frame, ...pieces];
}

const heads = new WeakMap<XdsResource["bytes"], Uint8Array>();

/** What comes before a resource in a response: the number of its field and its length. Made once for all streams. */
function headOf(bytes: XdsResource["bytes"]): Uint8Array {
  let head = heads.get(bytes);
  if (!head) {
    head = new BinaryWriter().tag(2, WireType.LengthDelimited).uint32(sizeOf(bytes)).finish();
    heads.set(bytes, head);
  }
  return head;
}

/** Puts small neighbours together, so that a write is worth its while; large pieces are passed on as they are. */
export function* gather(pieces: readonly Uint8Array[], size: number): Generator<Uint8Array, void> {
  let small: Uint8Array[] = [], gathered = 0;
  for (const piece of pieces) {
    if (gathered > 0 && gathered + piece.length > size) {
      yield take(small, gathered, true);
      small = [];
      gathered = 0;
    }
    small.push(piece);
    gathered += piece.length;
  }
  if (gathered > 0) yield take(small, gathered, true);
}
