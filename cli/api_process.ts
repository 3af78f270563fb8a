/**
 * The API server as a child process: its own process, so that a list of thousands of objects does not hold up xDS.
 *
 * @module
 */
import { type Io, UsageError } from "./io.ts";

export interface ApiProcessOptions {
  /** Absolute. */
  readonly data: string;
  readonly apiPort: number;
  readonly channel: string;
  readonly logLevel: string;
  readonly logFormat: "auto" | "text" | "json";
  readonly io: Io;
}

/** How many of its last lines are kept to explain an end. */
const remembered = 20;

/** Ends with its parent, however that ends: it stops once its standard input is closed. */
export class ApiProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #ended = new AbortController();
  readonly #words: string[] = [];
  readonly #reading: Promise<unknown>;
  readonly #kubeconfig = Promise.withResolvers<string>();
  #path = "";

  private constructor({ data, apiPort, channel, logLevel, logFormat, io }: ApiProcessOptions) {
    const [program, ...args] = io.self([
      "--allow-read",
      // A comma separates paths unless it is doubled.
      `--allow-write=${data.replaceAll(",", ",,")}`,
      "--allow-net=127.0.0.1",
      "--allow-env",
    ]);
    const format = logFormat === "auto" ? (io.errIsTerminal ? "text" : "json") : logFormat;
    const flags = ["--data", data, "--port", String(apiPort), "--channel", channel, "--until-stdin-ends"];
    this.#child = new Deno.Command(program, {
      args: [...args, "apiserver", ...flags, "--log-level", logLevel, "--log-format", format],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      // Ctrl-C reaches the whole group of the terminal, but this one has to stay until the others have stopped.
      detached: true,
    }).spawn();
    this.#reading = Promise.all([
      this.#read(this.#child.stdout, (line) => {
        const [, path] = /KUBECONFIG=(.*)/.exec(line) ?? [];
        if (path) this.#kubeconfig.resolve(path);
      }),
      this.#read(this.#child.stderr, (line) => {
        this.#words.push(line);
        if (this.#words.length > remembered) this.#words.shift();
        if (this.#path) io.err(line);
      }),
    ]).then(() => this.#child.status).then(() => {
      this.#ended.abort();
      this.#kubeconfig.reject(
        new UsageError(this.lastWords || "The API server did not start", { status: 1 }),
      );
    });
  }

  /** Resolves once it serves. Throws a {@linkcode UsageError} with its own words if it does not get there. */
  static async start(options: ApiProcessOptions): Promise<ApiProcess> {
    const process = new ApiProcess(options);
    try {
      process.#path = await process.#kubeconfig.promise;
      return process;
    } catch (error) {
      await process[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The path of the kubeconfig that leads to it. */
  get kubeconfig(): string {
    return this.#path;
  }

  /** Aborted when the process has ended, expected or not. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get lastWords(): string {
    return this.#words.join("\n").replace(/^error: /, "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.stdin.close().catch(() => {});
    await this.#reading;
  }

  async #read(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
    let rest = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) take(line);
    }
    if (rest) take(rest);
  }
}
