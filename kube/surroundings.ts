/**
 * What the client takes from the machine that it runs on. `main.ts` passes the real one, tests pass their own.
 *
 * @module
 */

export interface Surroundings {
  readonly env: { readonly [name: string]: string | undefined };
  /** Rejects with `Deno.errors.NotFound` if there is no such file. */
  readFile(path: string): Promise<string>;
  /** Runs a program to its end. Rejects with `Deno.errors.NotFound` if there is no such program. */
  run(command: Command): Promise<Output>;
}

export interface Command {
  /** Looked up in PATH if it has no slash. */
  readonly program: string;
  readonly args: readonly string[];
  /** Added to the environment. */
  readonly env: { readonly [name: string]: string };
  readonly signal: AbortSignal;
}

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The machine as it is, with this environment. */
export function systemSurroundings(env: Surroundings["env"]): Surroundings {
  return {
    env,
    readFile: (path) => Deno.readTextFile(path),
    async run({ program, args, env, signal }) {
      const command = new Deno.Command(program, { args: [...args], env: { ...env }, stdin: "null", signal });
      const { code, stdout, stderr } = await command.output();
      const decoder = new TextDecoder();
      return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
    },
  };
}
