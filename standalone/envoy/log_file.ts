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

/** In characters. */
const longestLine = 4096;

/** Appends; writes from several streams do not mix within a chunk. */
export class LogFile implements AsyncDisposable {
  readonly #options: LogFileOptions;
  #file: Deno.FsFile | undefined;
  #size = 0;
  #failed = false;
  #queue: Promise<void> = Promise.resolve();
  #lines: readonly string[] = [];

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /** The last complete lines since {@linkcode forget}, oldest first. */
  get lastLines(): readonly string[] {
    return this.#lines;
  }

  forget(): void {
    this.#lines = [];
  }

  /**
   * Begins a stream of output, whose lines are put together apart from those of others. Its function takes the next
   * chunk, and resolves once that is written or given up.
   */
  stream(): (chunk: Uint8Array) => Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    return (chunk) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      // A line without an end must not grow for ever.
      rest = lines.pop()!.slice(-longestLine);
      this.#remember(lines);
      this.#queue = this.#queue.then(() => this.#append(chunk));
      return this.#queue;
    };
  }

  #remember(lines: readonly string[]): void {
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
