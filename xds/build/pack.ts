/**
 * Puts serialized messages into `envoy.service.discovery.v3.Resource`, by hand: the large ones are never copied
 * through an encoder.
 *
 * @module
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type ResourceType, typeUrls } from "../types.ts";

/** Pieces are about as large as what HTTP/2 is given at once. */
const pieceSize = 32 * 1024;

const urls = Object.fromEntries(
  Object.entries(typeUrls).map(([type, url]) => [type, field(1, url)]),
) as { readonly [T in ResourceType]: Uint8Array };

/**
 * The serialized Resource of a message which is serialized as `body`, itself in any number of pieces. The result has as few
 * pieces as is good for sending; those that are large enough already are passed on as they are.
 */
export function packResource(
  type: ResourceType,
  name: string,
  version: string,
  body: readonly Uint8Array[],
): readonly Uint8Array[] {
  const url = urls[type];
  const bodySize = sizeOf(body);
  const writer = new BinaryWriter()
    .tag(3, WireType.LengthDelimited).string(name)
    .tag(1, WireType.LengthDelimited).string(version)
    .tag(2, WireType.LengthDelimited).uint32(url.length + 1 + varintSize(bodySize) + bodySize)
    .raw(url)
    .tag(2, WireType.LengthDelimited).uint32(bodySize);
  if (bodySize > pieceSize) return chunk([writer.finish(), ...body]);
  for (const piece of body) writer.raw(piece);
  return [writer.finish()];
}

/** How many bytes a number takes as a varint. */
function varintSize(value: number): number {
  let size = 1;
  for (let limit = 128; value >= limit; limit *= 128) size++;
  return size;
}

/** How many bytes some pieces have. */
export function sizeOf(pieces: readonly Uint8Array[]): number {
  let size = 0;
  for (const piece of pieces) size += piece.length;
  return size;
}

function field(number: number, text: string): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).string(text).finish();
}

/** The same bytes in pieces of {@linkcode pieceSize} or less: small neighbours are put together, large ones cut. */
function chunk(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let small: Uint8Array[] = [], gathered = 0;
  const flush = () => {
    if (gathered === 0) return;
    chunks.push(concatenated(small, gathered));
    small = [];
    gathered = 0;
  };
  for (const piece of pieces) {
    if (piece.length >= pieceSize / 2) {
      flush();
      for (let start = 0; start < piece.length; start += pieceSize) {
        chunks.push(piece.subarray(start, start + pieceSize));
      }
    } else {
      if (gathered + piece.length > pieceSize) flush();
      small.push(piece);
      gathered += piece.length;
    }
  }
  flush();
  return chunks;
}

/** Some pieces as one, of `size` bytes in all. */
export function concatenated(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
