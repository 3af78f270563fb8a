/**
 * Certificates, keys and tokens: given as they are, or kept in files that somebody renews.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import type { Credentials } from "./cluster.ts";
import { ConfigError } from "./errors.ts";
import type { Tls } from "./http_clients.ts";

/** A text, or where to read it. */
export type Source = { readonly data: string } | { readonly file: string };

/** What a connection can be secured with. */
export interface Sources {
  readonly ca?: Source | undefined;
  readonly cert?: Source | undefined;
  readonly key?: Source | undefined;
  readonly token?: Source | undefined;
}

export interface MaterialsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly readFile: (path: string) => Promise<string>;
  /** Whose credentials these are, for messages. */
  readonly name: string;
  readonly proxy?: string | undefined;
}

/** How long what was read from a file is good for, in milliseconds. Tokens of pods live an hour and are renewed long before. */
const fresh = 60_000;

type Texts = { readonly [name in keyof Sources]?: string };

/** Reads the sources again every minute, and when the server has rejected them. */
export class Materials {
  readonly #sources: Sources;
  readonly #options: MaterialsOptions;
  readonly #hasFiles: boolean;
  #texts: Texts | undefined;
  #credentials: Credentials | undefined;
  #due = 0;
  #reading: Promise<void> | undefined;

  constructor(sources: Sources, options: MaterialsOptions) {
    this.#sources = sources;
    this.#options = options;
    this.#hasFiles = Object.values(sources).some((source) => source && "file" in source);
  }

  /** The same object as long as nothing has changed; `tls` likewise. */
  async credentials(): Promise<Credentials> {
    if (!this.#credentials || this.#hasFiles && this.#options.clock.monotonic() >= this.#due) {
      await (this.#reading ??= this.#read().finally(() => this.#reading = undefined));
    }
    return this.#credentials!;
  }

  /** The server did not accept what it was given. */
  reject(credentials: Credentials): void {
    // Others may have noticed before.
    if (credentials === this.#credentials) this.#due = 0;
  }

  async #read(): Promise<void> {
    const { clock, log, name } = this.#options;
    const texts: Record<string, string> = {};
    try {
      for (const [what, source] of Object.entries(this.#sources) as [keyof Sources, Source | undefined][]) {
        if (source) texts[what] = "data" in source ? source.data : await this.#readFile(what, source.file);
      }
    } catch (error) {
      if (!this.#credentials) throw error;
      // Files are away for a moment while they are exchanged; what we have may be good for long.
      log.warn("Cannot read credentials again; keeping the old ones", { cluster: name, error });
      this.#due = clock.monotonic() + fresh / 6;
      return;
    }
    this.#due = clock.monotonic() + fresh;
    const before = this.#texts;
    if (before && Object.keys(texts).every((what) => texts[what] === before[what as keyof Texts])) return;
    this.#texts = texts;
    const { ca, cert, key, token } = this.#texts;
    const sameTls = before && ca === before.ca && cert === before.cert && key === before.key;
    const tls: Tls = sameTls && this.#credentials ? this.#credentials.tls : {
      ...(ca === undefined ? {} : { caCerts: [ca] }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(this.#options.proxy === undefined ? {} : { proxy: this.#options.proxy }),
    };
    this.#credentials = { tls, ...(token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }) };
  }

  async #readFile(what: keyof Sources, path: string): Promise<string> {
    const names = {
      ca: "certificate authority",
      cert: "client certificate",
      key: "client key",
      token: "token",
    } as const;
    let text: string;
    try {
      text = await this.#options.readFile(path);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ConfigError(`Cannot read the ${names[what]} "${path}" of ${this.#options.name}: ${why}`, {
        cause,
      });
    }
    if (text.trim() === "") {
      throw new ConfigError(`Cannot use the ${names[what]} "${path}" of ${this.#options.name}: it is empty`);
    }
    return text;
  }
}
