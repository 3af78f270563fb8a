/**
 * The streams that are open, by connection, and whether anybody is left at the other end.
 *
 * A stream by which nothing comes looks the same whether nothing happens or the peer is gone without a word.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";

/** One stream. */
export interface OpenStream {
  readonly client: Deno.HttpClient;
  /** Ends it since nobody is there any more. */
  readonly end: () => void;
  /** Asks for something small by the same connection; any answer will do. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
}

/** Milliseconds without a word after which a connection is asked, and for its answer. */
const times = { quiet: 15_000, answer: 10_000 };

interface Connection {
  readonly streams: Set<OpenStream>;
  /** When something last came by it, by our clock. */
  heard: number | undefined;
  timer: Disposable;
  readonly closed: AbortController;
}

/** See the module. */
export class Streams {
  readonly #clock: Clock;
  readonly #connections = new Map<Deno.HttpClient, Connection>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a stream that is about to be opened, until it is disposed of; to be told whenever something comes by it. */
  add(stream: OpenStream): Disposable & { readonly heard: () => void } {
    const { client } = stream, connection = this.#connections.get(client) ?? this.#connect(client);
    connection.streams.add(stream);
    return {
      heard: () => void (connection.heard = this.#clock.monotonic()),
      [Symbol.dispose]: () => {
        if (!connection.streams.delete(stream) || connection.streams.size > 0) return;
        this.#connections.delete(client);
        connection.timer[Symbol.dispose]();
        connection.closed.abort();
      },
    };
  }

  /** Ends those by whose connections nothing has come since then. */
  endSilent(since: number): void {
    for (const { heard = -Infinity, streams } of [...this.#connections.values()]) {
      if (heard < since) end(streams);
    }
  }

  #connect(client: Deno.HttpClient): Connection {
    const connection: Connection = {
      streams: new Set(),
      heard: undefined,
      timer: this.#clock.timer(times.quiet, () => this.#look(connection)),
      closed: new AbortController(),
    };
    this.#connections.set(client, connection);
    return connection;
  }

  #look(connection: Connection): void {
    const { heard, streams, closed: { signal } } = connection, clock = this.#clock;
    const again = (wait: number) => connection.timer = clock.timer(wait, () => this.#look(connection));
    // Whoever opens a stream that is not answered hears of it by the time that this may take.
    const left = heard === undefined ? times.quiet : heard + times.quiet - clock.monotonic();
    if (left > 0) return void again(left);
    const [{ ask }] = [...streams] as [OpenStream];
    connection.timer = clock.timer(times.answer, () => end(streams));
    const answered = () => {
      connection.timer[Symbol.dispose]();
      if (!signal.aborted) again(times.quiet);
    };
    // What breaks the connection breaks the streams as well, and they tell.
    ask(signal).then(() => connection.heard = clock.monotonic(), () => {}).finally(answered);
  }
}

function end(streams: ReadonlySet<OpenStream>): void {
  for (const { end } of [...streams]) end();
}
