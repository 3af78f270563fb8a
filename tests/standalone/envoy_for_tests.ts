/**
 * The Envoy that tests run: `$ENVOY`, the one on PATH, or the pinned one.
 *
 * @module
 */
import { systemClock } from "../../controllers/runtime/clock.ts";
import { cacheDirectory, type EnvoyBinary, findEnvoy } from "../../standalone/envoy/find.ts";

/** Finds Envoy as the command line does, fetching it into the user's cache if need be. */
export async function envoyBinaryForTests(): Promise<EnvoyBinary> {
  const env = (name: string) => Deno.env.get(name);
  const found = await findEnvoy({
    variable: env("ENVOY"),
    path: env("PATH"),
    cache: cacheDirectory(env, ".gatehouse"),
    platform: Deno.build,
    clock: systemClock,
    progress: (line) => Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`)),
  });
  if ("problem" in found) throw new Error(found.problem);
  return found.envoy;
}

/** The path of {@linkcode envoyBinaryForTests}. */
export async function envoyForTests(): Promise<string> {
  return (await envoyBinaryForTests()).path;
}
