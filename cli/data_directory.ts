/**
 * The directory of everything that lasts.
 *
 * @module
 */
import { pathProblem } from "../standalone/envoy/fleet.ts";
import { UsageError } from "./io.ts";

/**
 * Makes the directory if it is not there, for its owner alone, and resolves with its absolute path. Throws a
 * {@linkcode UsageError} if it cannot be used, before anything is started in it.
 */
export async function openDataDirectory(path: string): Promise<string> {
  const failed = (why: string, cause?: unknown) =>
    new UsageError(`Cannot use data directory "${path}": ${why}; choose another one with --data`, {
      status: 1,
      cause,
    });
  if (path === "") throw failed("it has no name");
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    const data = await Deno.realPath(path), probe = `${data}/.probe`;
    await Deno.writeTextFile(probe, "", { mode: 0o600 });
    await Deno.remove(probe);
    const problem = pathProblem(envoyDirectory(data));
    if (problem) throw failed(problem);
    return data;
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof Error)) throw error;
    if (error instanceof Deno.errors.AlreadyExists) throw failed("it is a file");
    // Deno keeps whoever has not every permission out of /proc and the like, and advises to take them all.
    if (error instanceof Deno.errors.NotCapable) {
      throw failed("this program has no right to write there", error);
    }
    // "Permission denied (os error 13): mkdir '/x'"
    throw failed(error.message.replace(/ \(os error \d+\).*/, "").toLowerCase());
  }
}

/** Where the Envoys of a data directory live. */
export function envoyDirectory(data: string): string {
  return `${data}/envoy`;
}
