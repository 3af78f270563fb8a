/**
 * Runs Gatehouse and other programs as a user does.
 *
 * @module
 */
import manifest from "../../deno.json" with { type: "json" };
import { TextLineStream } from "./lines.ts";

export const root: string = new URL("../..", import.meta.url).pathname;

/** How long a line of a program is waited for, in milliseconds: long enough for one that builds something first. */
const patience = 120_000;

/** What a program did. */
export interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** What the tasks set for malloc and V8 when they run it, since memory and speed depend on it. */
const { command } = manifest.tasks.gatehouse;
const malloc = command.match(/MALLOC\S+/g)!, v8 = command.match(/--v8-flags=\S+/)![0];

/** The command line that runs `gatehouse`: this tree, or what `$GATEHOUSE` names, such as a bundle or an executable. */
export function gatehouse(...args: readonly string[]): readonly [string, ...string[]] {
  const [program, ...first] = Deno.env.get("GATEHOUSE")?.split(" ") ?? [];
  if (program) return [program, ...first, ...args];
  const deno = [Deno.execPath(), "run", "--quiet", "--no-prompt", "--allow-all", v8];
  return ["/usr/bin/env", ...malloc, ...deno, `${root}main.ts`, ...args];
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  readonly cwd?: string;
}

/** Runs a program to its end. */
export async function run(
  [program, ...args]: readonly [string, ...string[]],
  options: RunOptions = {},
): Promise<Result> {
  const child = new Deno.Command(program, {
    args,
    env: options.env ?? {},
    ...options.cwd !== undefined && { cwd: options.cwd },
    stdin: options.input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (options.input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.input));
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** Runs a program to its end and expects it to succeed; gives what it printed. */
export async function succeed(
  command: readonly [string, ...string[]],
  options: RunOptions = {},
): Promise<string> {
  const { code, out, err } = await run(command, options);
  if (code !== 0) throw new Error(`${command.join(" ")}: exit status ${code}\n${out}\n${err}`);
  return out;
}

/** A program that runs until it is told to stop, with the lines that it has printed. */
export class Running implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly errors: string[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<unknown>;
  #wake = Promise.withResolvers<void>();
  #ended = false;

  constructor([program, ...args]: readonly [string, ...string[]], env: Record<string, string> = {}) {
    this.#child = new Deno.Command(program, { args, env, stdin: "null", stdout: "piped", stderr: "piped" })
      .spawn();
    this.#reading = Promise.all([
      this.#read(this.#child.stdout, this.lines),
      this.#read(this.#child.stderr, this.errors),
    ]).finally(() => {
      this.#ended = true;
      this.#wake.resolve();
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Resolves with the first line of standard output that matches. Rejects once the program has ended without it, or after a while. */
  async line(pattern: RegExp): Promise<RegExpMatchArray> {
    const late = Promise.withResolvers<"late">(), timer = setTimeout(() => late.resolve("late"), patience);
    try {
      for (let at = 0, waited = "";;) {
        for (; at < this.lines.length; at++) {
          const match = this.lines[at]!.match(pattern);
          if (match) return match;
        }
        if (this.#ended || waited === "late") throw new Error(`No line like ${pattern} in:\n${this.#all()}`);
        waited = await Promise.race([this.#wake.promise.then(() => "more"), late.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a signal and resolves with the exit status. */
  async stop(signal: Deno.Signal = "SIGINT"): Promise<number> {
    // As one Ctrl-C arrives: from the terminal, from npx and from deno task.
    for (let i = 0; i < 3 && !this.#ended; i++) {
      this.#child.kill(signal);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGTERM");
  }

  #all(): string {
    return [...this.lines, ...this.errors].join("\n");
  }

  async #read(stream: ReadableStream<Uint8Array>, lines: string[]): Promise<void> {
    for await (const line of stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())) {
      lines.push(line);
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    }
  }
}
