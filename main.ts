/**
 * The composition root: the only place that touches the process itself.
 *
 * @module
 */
import { Interrupted, type Io } from "./cli/io.ts";
import { run } from "./cli/program.ts";

const encoder = new TextEncoder();

function writeAll(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  let bytes = encoder.encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(to.writeSync(bytes));
}

/** A signal that SIGINT and SIGTERM abort. The second one does not wait for an orderly stop. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const [name, status] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    Deno.addSignalListener(name, () => {
      if (controller.signal.aborted) Deno.exit(status);
      controller.abort(new Interrupted(name));
    });
  }
  return controller.signal;
}

/** Runs this same program again, with no more permissions than this one has been given. */
function self(): readonly [string, ...string[]] {
  if (Deno.build.standalone) return [Deno.execPath()];
  return [Deno.execPath(), "run", "--quiet", "--no-prompt", "--allow-all", Deno.mainModule];
}

const runProgram: Io["run"] = async ({ program, args, env, signal }) => {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    env,
    signal,
    stdin: "null",
  })
    .output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
};

function processIo(): Io {
  let signal: AbortSignal | undefined; // Listening for signals changes what they do: only once somebody asks.
  return {
    out: (text) => writeAll(Deno.stdout, text),
    err: (line) => writeAll(Deno.stderr, line + "\n"),
    env: Deno.env.toObject(),
    outIsTerminal: Deno.stdout.isTerminal(),
    errIsTerminal: Deno.stderr.isTerminal(),
    platform: Deno.build,
    read: async (path) =>
      path === "-" ? await new Response(Deno.stdin.readable).text() : await Deno.readTextFile(path),
    run: runProgram,
    stdinEnds: async () => {
      for await (const _ of Deno.stdin.readable) { /* It says nothing but that it is there. */ }
    },
    get signal() {
      return signal ??= interruption();
    },
    get self() {
      return self();
    },
  };
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
