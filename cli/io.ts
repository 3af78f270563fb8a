/**
 * What a command may touch of the process that it runs in.
 *
 * @module
 */
import type { Surroundings } from "../kube/surroundings.ts";

export interface Io {
  /** Writes to standard output, as it is. Throws an {@linkcode Interrupted} if nobody reads it any more. */
  out(text: string): void;
  /** Writes a line to standard error. */
  err(line: string): void;
  readonly env: { readonly [name: string]: string | undefined };
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly platform: { readonly os: string; readonly arch: string; readonly target: string };
  /** Reads a file, or standard input for `-`. */
  read(path: string): Promise<string>;
  /** Runs a program to its end, for credential plugins. */
  readonly run: Surroundings["run"];
  /** Resolves once standard input has ended. */
  stdinEnds(): Promise<void>;
  /** Aborted by SIGINT, SIGTERM and SIGHUP, with an {@linkcode Interrupted} as its reason. */
  readonly signal: AbortSignal;
  /** Aborted by the second of these signals: whoever asked does not want to wait. A third one ends the process. */
  readonly hurry: AbortSignal;
  /** What a user types to run this same program, for messages. */
  readonly invocation: string;
  /** The program and first arguments that run this same program again, with these permissions of Deno. */
  self(permissions: readonly string[]): readonly [string, ...string[]];
}

/** Somebody asked the process to stop, or, of SIGPIPE, does not read what it writes any more. */
export class Interrupted extends Error {
  override name = "Interrupted";
  constructor(readonly by: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGPIPE") {
    super(`Stopped by ${by}`);
  }
}

/** What a user can correct: printed without a stack trace. */
export class UsageError extends Error {
  override name = "UsageError";
  /** The process's exit status. */
  readonly status: number;
  constructor(message: string, options: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(message, { cause: options.cause });
    this.status = options.status ?? 2;
  }
}
