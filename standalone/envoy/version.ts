/**
 * Which versions of Envoy Gatehouse works with, in one place.
 *
 * @module
 */

/** The minor versions of Envoy 1.x that are supported, both ends included. */
export const supported = { from: 37, to: 40 } as const;

/** As people read it: `1.37 to 1.40`. */
export const supportedText = `1.${supported.from} to 1.${supported.to}`;

/** The release that is fetched where the machine has none. */
export const pinnedVersion = "1.40.0";

/** Reads `1.40.0` out of what `envoy --version` prints; `undefined` if that is not Envoy's. */
export function parseVersion(output: string): string | undefined {
  return /version: [0-9a-f]+\/(\d+\.\d+\.\d+[^/\s]*)\/(?:Clean|Modified|Distribution)/.exec(output)?.[1];
}

/** Whether a version that {@linkcode parseVersion} read is in the supported range. Patch releases do not matter. */
export function isSupported(version: string): boolean {
  const [major, minor] = version.split(".").map(Number);
  return major === 1 && minor !== undefined && minor >= supported.from && minor <= supported.to;
}
