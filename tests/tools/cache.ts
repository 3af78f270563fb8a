/**
 * Keeps what takes long to make in the user's cache, so that it is made once for all checkouts, tests and sessions.
 *
 * @module
 */

export interface CacheOptions {
  /** The folder of the cache, as from `cacheDirectory`. */
  readonly cache: string;
  /** Tells people what is going on. */
  progress(line: string): void;
}

export interface Made {
  /** The folder is called so, and by the key. */
  readonly name: string;
  /** Whatever the contents depend on; see {@linkcode hashOf}. */
  readonly key: string;
  /** What is said before it is made, as in `building x: this takes a minute`. */
  readonly says: string;
  /** Fills the folder. */
  make(folder: string): Promise<void>;
}

/** Others of the same name go when they have not been used for so long, in milliseconds. */
const keptFor = 7 * 24 * 3600_000;

/**
 * The folder that `make` has filled for this key, now or earlier. Of several processes that want it, one makes it and
 * the others wait; nobody ever sees half of it.
 */
export async function cachedFolder(made: Made, { cache, progress }: CacheOptions): Promise<string> {
  const folder = `${cache}/${made.name}-${made.key}`;
  if (await use(folder)) return folder;
  await Deno.mkdir(cache, { recursive: true });
  using lock = await Deno.open(`${cache}/${made.name}.lock`, { create: true, write: true });
  await lock.lock(true);
  if (await use(folder)) return folder;
  const temporary = `${folder}.partial`;
  await Deno.remove(temporary, { recursive: true }).catch(() => {});
  await Deno.mkdir(temporary);
  progress(made.says);
  await made.make(temporary);
  await Deno.rename(temporary, folder);
  await prune(cache, made.name, folder);
  return folder;
}

/** Whether the folder is there; marks it as used. */
async function use(folder: string): Promise<boolean> {
  const now = new Date();
  return await Deno.utime(folder, now, now).then(() => true, () => false);
}

async function prune(cache: string, name: string, except: string): Promise<void> {
  for await (const { name: other } of Deno.readDir(cache)) {
    const path = `${cache}/${other}`;
    if (!new RegExp(`^${name}-[0-9a-f]{16}$`).test(other) || path === except) continue;
    const { mtime } = await Deno.stat(path);
    if (mtime && Date.now() - mtime.getTime() > keptFor) await Deno.remove(path, { recursive: true });
  }
}

/** A key for {@linkcode cachedFolder}: 16 hexadecimal digits. */
export async function hashOf(...parts: readonly (string | Uint8Array<ArrayBuffer>)[]): Promise<string> {
  const digests: string[] = [];
  for (const part of parts) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
    digests.push(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex());
  }
  if (digests.length === 1) return digests[0]!.slice(0, 16);
  return await hashOf(digests.join(""));
}

/** The hash of all files in a folder, their names included, but for those whose name `ignored` matches. */
export async function hashOfFolder(folder: string, ignored?: RegExp): Promise<string> {
  const entries = (await Array.fromAsync(Deno.readDir(folder))).toSorted((a, b) => a.name < b.name ? -1 : 1);
  const parts: string[] = [];
  for (const { name, isDirectory } of entries) {
    if (ignored?.test(name)) continue;
    const path = `${folder}/${name}`;
    parts.push(
      name,
      isDirectory ? await hashOfFolder(path, ignored) : await hashOf(await Deno.readFile(path)),
    );
  }
  return await hashOf(parts.join("\n"));
}
