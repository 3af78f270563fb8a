/**
 * A log file of bounded size that also remembers its last lines.
 *
 * @module
 */

export interface LogFileOptions {
  readonly path: string;
  /** The size in bytes at which the file is moved to `PATH.1`, in place of the one before. */
  readonly limit: number;
  /** How many lines {@linkcode LogFile.lastLines} tells. */
  readonly remember: number;
  /** Called once if the file cannot be written, which never stops the program that logs. */
  onFailure(error: unknown): void;
}

/** Appends; writes from several streams do not mix within a chunk. */
export class LogFile implements AsyncDisposable {
  readonly #options: LogFileOptions;
  #file: Deno.FsFile | undefined;
  #size = 0;
  #failed = false;
  #queue: Promise<void> = Promise.resolve();
  #lines: string[] = [];
  #rest = "";
  readonly #decoder = new TextDecoder();

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /** The last complete lines since {@linkcode forget}, oldest first. */
  get lastLines(): readonly string[] {
    return this.#lines;
  }

  forget(): void {
    this.#lines = [];
    this.#rest = "";
  }

  /** Resolves once the chunk is written, or given up. */
  write(chunk: Uint8Array): Promise<void> {
    this.#remember(chunk);
    this.#queue = this.#queue.then(() => this.#append(chunk));
    return this.#queue;
  }

  #remember(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    // A line without an end must not grow for ever.
    this.#rest = lines.pop()!.slice(-4096);
    const { remember } = this.#options;
    this.#lines = [...this.#lines, ...lines.slice(-remember)].slice(-remember);
  }

  async #append(chunk: Uint8Array): Promise<void> {
    const { path, limit } = this.#options;
    try {
      if (this.#file && this.#size >= limit) {
        this.#close();
        await Deno.rename(path, `${path}.1`);
      }
      if (!this.#file) {
        this.#file = await Deno.open(path, { append: true, create: true, mode: 0o600 });
        this.#size = (await this.#file.stat()).size;
      }
      for (let at = 0; at < chunk.length;) at += await this.#file.write(chunk.subarray(at));
      this.#size += chunk.length;
    } catch (error) {
      this.#close();
      if (!this.#failed) this.#options.onFailure(error);
      this.#failed = true;
    }
  }

  #close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue;
    this.#close();
  }
}
