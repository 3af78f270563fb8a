/**
 * Entity tags: made, and compared with what a client has. RFC 9110, 8.8.3 and 13.1.
 *
 * @module
 */

/** What is known of a file without reading it. */
export interface FileInfo {
  mtime: Date | null;
  /** In bytes. */
  size: number;
}

export interface ETagOptions {
  /** By default SHA-256. */
  algorithm?: AlgorithmIdentifier;
  /** By default, a file's tag is weak and a content's is strong. */
  weak?: boolean;
}

/** The tag of nothing, which the package does not compute. */
const emptyTag = "0-47DEQpj8HBSa+/TImW+5JCeuQeR";

/** The tag of a content. */
export async function eTag(
  entity: string | ReturnType<TextEncoder["encode"]>,
  options?: ETagOptions,
): Promise<string>;
/** The tag of a file, `undefined` without a time. */
export async function eTag(entity: FileInfo, options?: ETagOptions): Promise<string | undefined>;
export async function eTag(
  entity: string | ReturnType<TextEncoder["encode"]> | FileInfo,
  options: ETagOptions = {},
): Promise<string | undefined> {
  const { algorithm = "SHA-256" } = options;
  const encoder = new TextEncoder();
  const tag = async (size: number, hashed: Uint8Array<ArrayBuffer>) => {
    const hash = new Uint8Array(await crypto.subtle.digest(algorithm, hashed)).toBase64();
    return `${size.toString(16)}-${hash.slice(0, 27)}`;
  };
  if (typeof entity === "object" && "mtime" in entity && "size" in entity) {
    if (!entity.mtime) return undefined;
    const value = await tag(entity.size, encoder.encode(entity.mtime.toJSON()));
    return quote(value, options.weak ?? true);
  }
  const bytes = typeof entity === "string" ? encoder.encode(entity) : entity as Uint8Array<ArrayBuffer>;
  return quote(bytes.length === 0 ? emptyTag : await tag(bytes.length, bytes), options.weak ?? false);
}

function quote(tag: string, weak: boolean): string {
  return `${weak ? "W/" : ""}"${tag}"`;
}

function strong(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}

function isAny(value: string): boolean {
  return value.trim() === "*";
}

/** Whether an `If-Match` header lets the request pass; a weak tag never does. */
export function ifMatch(value: string | null, etag: string | undefined): boolean {
  if (!value || !etag || etag.startsWith("W/")) return false;
  return isAny(value) || value.split(/\s*,\s*/).includes(etag);
}

/** Whether an `If-None-Match` header lets the request pass: `false` means that the client has it already. */
export function ifNoneMatch(value: string | null, etag: string | undefined): boolean {
  if (!value || !etag) return true;
  return !isAny(value) && !value.split(/\s*,\s*/).map(strong).includes(strong(etag));
}
