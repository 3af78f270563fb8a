/**
 * The API server as a child process: its own process, so that a list of thousands of objects does not hold up xDS.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Io, UsageError } from "./io.ts";

export interface ApiProcessOptions {
  /** Absolute. */
  readonly data: string;
  readonly apiPort: number;
  readonly channel: string;
  readonly logLevel: string;
  readonly logFormat: "auto" | "text" | "json";
  readonly clock: Clock;
  readonly io: Pick<Io, "self" | "err" | "errIsTerminal">;
}

/** How many of its last lines are kept to explain an end. */
const remembered = 20;

/** Restarts wait 100 ms, twice as long each time, at most 5 s; a minute of life makes it 100 ms again. */
const backoff = { first: 100, most: 5_000, healthy: 60_000 } as const;

/** How many restarts in a row may fail to serve before there is no point in another one. */
const mostFailures = 4;

/**
 * Keeps an API server running until it is disposed of. One that dies is started again, at the same port and with the same
 * certificates, so that clients find it where it was; gateways go on serving meanwhile. It ends with its parent, however
 * that ends: it stops once its standard input is closed.
 */
export class ApiProcess implements AsyncDisposable {
  readonly #options: ApiProcessOptions;
  readonly #ended = new AbortController();
  readonly #stopping = new AbortController();
  #life: Life;
  #supervising: Promise<void> | undefined;
  #path = "";

  private constructor(options: ApiProcessOptions) {
    this.#options = options;
    this.#life = new Life(options, options.apiPort);
  }

  /** Resolves once it serves. Throws a {@linkcode UsageError} with its own words if it does not get there. */
  static async start(options: ApiProcessOptions): Promise<ApiProcess> {
    const process = new ApiProcess(options);
    const served = await process.#life.serves;
    if (!served) {
      await process.#life.ended;
      throw new UsageError(process.lastWords || "The API server did not start", { status: 1 });
    }
    process.#path = served.kubeconfig;
    process.#supervising = process.#supervise(served.port);
    return process;
  }

  /** The path of the kubeconfig that leads to it. */
  get kubeconfig(): string {
    return this.#path;
  }

  /** The number of the process that serves now. */
  get pid(): number {
    return this.#life.pid;
  }

  /** Aborted when it has ended for good, since it cannot be started again. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get lastWords(): string {
    return this.#life.words.join("\n").replace(/^error: /, "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#life.stop();
    await this.#supervising;
  }

  async #supervise(port: number): Promise<void> {
    const { clock, io } = this.#options, { signal } = this.#stopping;
    let delay: number = backoff.first, failures = 0;
    for (;;) {
      const began = clock.monotonic();
      const how = await this.#life.ended;
      if (signal.aborted) return;
      if (clock.monotonic() - began >= backoff.healthy) delay = backoff.first;
      failures = await this.#life.serves ? 0 : failures + 1;
      if (failures >= mostFailures) break;
      io.err(`the API server ended (${how}), starting it again; what is programmed goes on being served`);
      try {
        await clock.sleep(delay, { signal });
      } catch {
        return;
      }
      delay = Math.min(2 * delay, backoff.most);
      this.#life = new Life(this.#options, port);
    }
    this.#ended.abort();
  }
}

/** What a process says once it serves. */
interface Served {
  readonly kubeconfig: string;
  readonly port: number;
}

/** One process, from its start to its end. */
class Life {
  /** The last lines that it wrote to standard error. */
  readonly words: string[] = [];
  /** Resolves once it serves, or with nothing if it ends before. */
  readonly serves: Promise<Served | undefined>;
  /** Resolves with how it ended, for people. */
  readonly ended: Promise<string>;
  readonly #child: Deno.ChildProcess;

  constructor(options: ApiProcessOptions, port: number) {
    const { data, channel, logLevel, logFormat, io } = options;
    const [program, ...args] = io.self([
      "--allow-read",
      // A comma separates paths, and there is no way to write one that does not.
      data.includes(",") ? "--allow-write" : `--allow-write=${data}`,
      "--allow-net=127.0.0.1",
      "--allow-env",
    ]);
    const format = logFormat === "auto" ? (io.errIsTerminal ? "text" : "json") : logFormat;
    const flags = ["--data", data, "--port", String(port), "--channel", channel, "--until-stdin-ends"];
    this.#child = new Deno.Command(program, {
      args: [...args, "apiserver", ...flags, "--log-level", logLevel, "--log-format", format],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      // Ctrl-C reaches the whole group of the terminal, but this one has to stay until the others have stopped.
      detached: true,
    }).spawn();
    const serves = Promise.withResolvers<Served | undefined>();
    let serving = false, found = port;
    const reading = Promise.all([
      readLines(this.#child.stdout, (line) => {
        const [, number] = /listens on \S+:(\d+)$/.exec(line) ?? [];
        if (number) found = Number(number);
        const [, kubeconfig] = /KUBECONFIG=(.*)/.exec(line) ?? [];
        if (!kubeconfig) return;
        serving = true;
        serves.resolve({ kubeconfig, port: found });
      }),
      readLines(this.#child.stderr, (line) => {
        this.words.push(line);
        if (this.words.length > remembered) this.words.shift();
        if (serving) io.err(line);
      }),
    ]);
    this.serves = serves.promise;
    this.ended = reading.then(() => this.#child.status).then(async ({ code, signal }) => {
      serves.resolve(undefined);
      await this.#closeInput();
      return signal ? `killed by ${signal}` : `exit status ${code}`;
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  async stop(): Promise<void> {
    await this.#closeInput();
    await this.ended;
  }

  async #closeInput(): Promise<void> {
    await this.#child.stdin.close().catch(() => {}); // It may be closed already, or broken by the end of the process.
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) take(line);
  }
  if (rest) take(rest);
}
