/**
 * Runs a short-lived program and keeps what it says.
 *
 * @module
 */

/** How a program ended, or why it could not be started. */
export type Captured =
  | {
    readonly started: true;
    readonly code: number;
    readonly signal: string | undefined;
    readonly stdout: string;
    readonly stderr: string;
  }
  | {
    readonly started: false;
    readonly missing: boolean;
    /** Somebody holds its file open for writing: ETXTBSY. */
    readonly busy: boolean;
    readonly reason: string;
  };

/** Runs `command` with more arguments, no input and a limited patience: it is killed once `signal` is aborted. */
export async function capture(
  command: readonly string[],
  args: readonly string[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<Captured> {
  const [program = "", ...first] = command;
  try {
    const output = await new Deno.Command(program, {
      args: [...first, ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      ...options,
    }).output();
    options.signal?.throwIfAborted();
    const text = new TextDecoder();
    return {
      started: true,
      code: output.code,
      signal: output.signal ?? undefined,
      stdout: text.decode(output.stdout),
      stderr: text.decode(output.stderr),
    };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof Error)) throw error;
    return {
      started: false,
      missing: error instanceof Deno.errors.NotFound,
      busy: error.message.includes("(os error 26)"),
      reason: error.message,
    };
  }
}
