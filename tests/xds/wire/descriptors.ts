/**
 * Envoy's own descriptors: every .proto file that it was built from is in its executable.
 *
 * @module
 */
import { create, createFileRegistry, createRegistry, fromBinary, type Registry } from "@bufbuild/protobuf";
import {
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_struct,
  file_google_protobuf_wrappers,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { envoyForTests } from "../../standalone/envoy_for_tests.ts";

/** The types that the Envoy of the tests knows. */
export async function envoyRegistry(): Promise<Registry> {
  const files = descriptorsIn(await Deno.readFile(await envoyForTests()));
  const ordered: FileDescriptorProto[] = [], seen = new Set<string>();
  const add = (name: string) => {
    const file = files.get(name);
    if (seen.has(name) || !file) return;
    seen.add(name);
    file.dependency.forEach(add);
    ordered.push(file);
  };
  for (const name of files.keys()) add(name);
  return createRegistry(
    createFileRegistry(create(FileDescriptorSetSchema, { file: ordered })),
    file_google_protobuf_wrappers,
    file_google_protobuf_duration,
    file_google_protobuf_struct,
    file_google_protobuf_any,
    file_google_protobuf_empty,
  );
}

const dot = ".".charCodeAt(0);
const suffix = new TextEncoder().encode(".proto");

/**
 * Finds every FileDescriptorProto in some bytes, by name. They are compiled in as they are: field 1, the file's name, comes
 * first and ends with `.proto`; from there on one field follows the other.
 */
export function descriptorsIn(bytes: Uint8Array): ReadonlyMap<string, FileDescriptorProto> {
  const found = new Map<string, FileDescriptorProto>();
  for (let at = bytes.indexOf(dot); at >= 0; at = bytes.indexOf(dot, at + 1)) {
    if (!suffix.every((char, i) => bytes[at + i] === char)) continue;
    const start = startOf(bytes, at + suffix.length);
    if (start === undefined) continue;
    try {
      const file = fromBinary(FileDescriptorProtoSchema, bytes.subarray(start, endOf(bytes, start)));
      if (!found.has(file.name)) found.set(file.name, file);
    } catch {
      // Only looked like one.
    }
  }
  return found;
}

/** Where a message begins whose first field is a name that ends at `end`. */
function startOf(bytes: Uint8Array, end: number): number | undefined {
  for (let at = end - suffix.length - 1; at > end - 130 && at > 0; at--) {
    if (bytes[at - 1] === 0x0a && bytes[at] === end - at - 1) return at - 1;
    if (!/[a-z0-9_/]/.test(String.fromCharCode(bytes[at]!))) return undefined;
  }
  return undefined;
}

/** Where the last field ends that can be one of a FileDescriptorProto. */
function endOf(bytes: Uint8Array, start: number): number {
  for (let at = start;;) {
    const [tag, afterTag] = varint(bytes, at);
    const number = tag >> 3, wire = tag & 7;
    const known = number >= 1 && number <= 14 && number !== 13 && (number !== 1 || at === start);
    if (!known || wire !== 0 && wire !== 2) return at;
    const [value, afterValue] = varint(bytes, afterTag);
    if (value < 0 || wire === 2 && value > 2_000_000) return at;
    at = wire === 2 ? afterValue + value : afterValue;
  }
}

function varint(bytes: Uint8Array, at: number): [value: number, end: number] {
  let value = 0;
  for (let shift = 0; shift <= 35; shift += 7) {
    const byte = bytes[at++] ?? 0;
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return [value, at];
  }
  return [-1, at];
}
