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

/**
 * A terminal's Ctrl-C reaches every process of its group, and `npx` and `deno task` pass on what they got: one press of a
 * key comes as three signals within a millisecond. Those within this many milliseconds of the last are one.
 */
const echo = 500;

/**
 * Signals that SIGINT, SIGTERM and SIGHUP (the terminal is closed) abort: the first one `signal`, the second one `hurry`. A
 * third is not waited for.
 */
function interruption(): Pick<Io, "signal" | "hurry"> {
  const stop = new AbortController(), hurry = new AbortController();
  let last = -Infinity;
  for (const [name, status] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
    Deno.addSignalListener(name, () => {
      const now = performance.now(), again = now - last < echo;
      last = now;
      if (again) return;
      if (hurry.signal.aborted) Deno.exit(status);
      (stop.signal.aborted ? hurry : stop).abort(new Interrupted(name));
    });
  }
  return { signal: stop.signal, hurry: hurry.signal };
}

/**
 * Keeps V8 from growing the young generation to 48 MB, and the old one to twice what is in it, for a throughput that nobody asks
 * for. A start reads everything: nothing is to be collected until it has. Of what a collection moves, little is moved at once: for
 * that everything has to wait, and so it would for the tasks that mark, which Deno runs one after the other until there is none; the
 * threads beside do it. As in the tasks; on a cluster, where memory is counted, there is less of it. What the tasks set for
 * malloc is handed on with the environment.
 */
const memoryFlags = `--v8-flags=${
  [
    "--max-semi-space-size=4",
    "--initial-old-space-size=128",
    "--heap-growing-percent=60",
    "--compaction-max-evacuated-bytes-mb=2",
    "--compaction-max-evacuated-bytes-mb-for-reduce-memory=3",
    "--no-incremental-marking-task",
  ].join()
}`;

/** Runs this same program again, with just the permissions that are asked for. An executable's are fixed when it is compiled. */
function self(permissions: readonly string[]): readonly [string, ...string[]] {
  if (Deno.build.standalone) return [Deno.execPath()];
  return [Deno.execPath(), "run", "--quiet", "--no-prompt", memoryFlags, ...permissions, Deno.mainModule];
}

/** As the README has it, where this is a clone; npx leaves a note in the environment. */
function invocation(): string {
  if (Deno.build.standalone || !Deno.mainModule.endsWith("/main.ts")) return "gatehouse";
  const deno = Deno.env.get("npm_command") === "exec" ? `npx -y deno@${Deno.version.deno}` : "deno";
  return `${deno} task gatehouse`;
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
  let interrupted: Pick<Io, "signal" | "hurry"> | undefined; // Listening for signals changes what they do: only once somebody asks.
  return {
    out: (text) => {
      try {
        writeAll(Deno.stdout, text);
      } catch (error) {
        // As of `gatehouse status | head`: whoever asked has seen enough.
        throw error instanceof Deno.errors.BrokenPipe ? new Interrupted("SIGPIPE") : error;
      }
    },
    err: (line) => {
      try {
        writeAll(Deno.stderr, line + "\n");
      } catch {
        // Nobody is left to be told, as when the terminal was closed; whatever was going on has to come to its end all the same.
      }
    },
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
      return (interrupted ??= interruption()).signal;
    },
    get hurry() {
      return (interrupted ??= interruption()).hurry;
    },
    invocation: invocation(),
    self,
  };
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
