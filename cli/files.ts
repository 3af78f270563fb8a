/**
 * Manifests: YAML files, directories of them, or standard input.
 *
 * @module
 */
import { parseAllDocuments } from "yaml";
import type { ApiObject, Kind } from "../crds/kind.ts";
import { type Io, UsageError } from "./io.ts";

/** An object and where it stands, for messages. */
export interface Manifest {
  readonly file: string;
  /** Counted from 1 in its file. */
  readonly document: number;
  readonly object: ApiObject;
}

/** The most that is read from one file, in characters. */
const limit = 64 * 1024 * 1024;

/** How many nodes the aliases of a document may stand for, as a bound on documents that grow when they are read. */
const maxAliasCount = 100;

/** Reads the objects of some files; directories are read in the order of their files' names, lists are taken apart. */
export async function readManifests(paths: readonly string[], io: Io): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const path of paths) {
    for (const file of await filesIn(path)) {
      let text: string;
      try {
        text = await io.read(file);
      } catch (cause) {
        throw new UsageError(`Cannot read "${file}": ${(cause as Error).message}`);
      }
      manifests.push(...parseManifests(file, text));
    }
  }
  return manifests;
}

async function filesIn(path: string): Promise<readonly string[]> {
  if (path === "-") return ["-"];
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (cause) {
    throw new UsageError(`Cannot read "${path}": ${(cause as Error).message}`);
  }
  if (!info.isDirectory) return [path];
  const names: string[] = [];
  for await (const entry of Deno.readDir(path)) {
    if (!entry.isDirectory && /\.(ya?ml|json)$/.test(entry.name)) names.push(entry.name);
  }
  return names.sort().map((name) => `${path}/${name}`);
}

/** Parses the documents of one file. Throws a {@linkcode UsageError} that names file, line and remedy. */
export function parseManifests(file: string, text: string): readonly Manifest[] {
  if (text.length > limit) {
    throw new UsageError(`Cannot read "${file}": it is larger than ${limit >> 20} MiB; split it`);
  }
  const manifests: Manifest[] = [];
  const documents = parseAllDocuments(text, { prettyErrors: true });
  for (const [index, document] of ("empty" in documents ? [] : documents).entries()) {
    const [error] = document.errors;
    if (error) throw new UsageError(`Cannot parse "${file}", document ${index + 1}: ${error.message.trim()}`);
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount });
    } catch (cause) {
      throw new UsageError(`Cannot use "${file}", document ${index + 1}: ${(cause as Error).message}`, {
        cause,
      });
    }
    if (value === null || value === undefined) continue;
    for (const object of objectsIn(value)) {
      const problem = missing(object);
      if (problem) {
        throw new UsageError(
          `Cannot use "${file}", document ${
            index + 1
          }: ${problem}; each document needs apiVersion, kind and metadata.name`,
        );
      }
      manifests.push({ file, document: index + 1, object: object as ApiObject });
    }
  }
  return manifests;
}

/** An object as it is read: without a namespace it is in `default`, if its kind has namespaces. */
export function placed(kind: Pick<Kind, "namespaced">, object: ApiObject): ApiObject {
  return kind.namespaced && object.metadata.namespace === undefined
    ? { ...object, metadata: { ...object.metadata, namespace: "default" } }
    : object;
}

function objectsIn(value: unknown): readonly unknown[] {
  const list = value as { kind?: unknown; items?: unknown };
  return list?.kind === "List" && Array.isArray(list.items) ? list.items : [value];
}

function missing(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "it is not an object";
  const object = value as { apiVersion?: unknown; kind?: unknown; metadata?: { name?: unknown } };
  if (typeof object.apiVersion !== "string") return "apiVersion is missing";
  if (typeof object.kind !== "string") return "kind is missing";
  if (typeof object.metadata?.name !== "string") return "metadata.name is missing";
}
