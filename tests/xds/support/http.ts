/**
 * Clients and backends for tests with a real Envoy.
 *
 * @module
 */
import * as http from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  readonly body: string;
}

export interface Ask {
  readonly host?: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly agent?: http.Agent;
}

/** Sends one request to a port of 127.0.0.1, on a connection of its own unless there is an agent. */
export function ask(port: number, path: string, options: Ask = {}): Promise<Answer> {
  return exchange({
    host: "127.0.0.1",
    port,
    path,
    method: options.method ?? "GET",
    agent: options.agent ?? false,
    headers: { host: options.host ?? "www.example.com", ...options.headers },
  });
}

/** Sends one request and reads the answer. */
export function exchange(options: http.RequestOptions): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = http.request({ agent: false, timeout: 10_000, ...options }, (response) => {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (chunk) => body += chunk);
    response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    response.on("error", reject);
  });
  request.on("timeout", () => request.destroy(new Error("No answer within 10 seconds")));
  request.on("error", reject);
  request.end();
  return promise;
}

/** What a {@linkcode backend} tells about a request. */
export interface Echo {
  readonly backend: string;
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
}

export interface Backend extends AsyncDisposable {
  readonly port: number;
}

/** A server that answers with what it was asked, as JSON. */
export function backend(name: string): Backend {
  const stop = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {}, signal: stop.signal };
  const server = Deno.serve(options, (request) => {
    const { pathname, search } = new URL(request.url);
    const echo: Echo = {
      backend: name,
      method: request.method,
      path: pathname + search,
      headers: Object.fromEntries(request.headers),
    };
    return Response.json(echo);
  });
  return {
    port: server.addr.port,
    [Symbol.asyncDispose]: () => {
      stop.abort(); // Proxies keep connections open; nobody waits for them.
      return server.finished;
    },
  };
}

/** Requests that go on until they are stopped. */
export interface Load extends AsyncDisposable {
  /** How often each status was the answer. */
  readonly counts: ReadonlyMap<number, number>;
  /** Resolves after so many more answers: however slow the machine is, what comes next meets requests. */
  more(count: number): Promise<void>;
  /** Stops, and rejects if a request had no answer. */
  stop(): Promise<void>;
}

/** Asks over and over, from several sides at once. Where nobody listens it tries again. */
export function load(sides: number, next: (turn: number) => Promise<Answer>): Load {
  const counts = new Map<number, number>();
  let going = true, answered = 0, wake = Promise.withResolvers<void>();
  const run = async (side: number) => {
    for (let turn = side; going; turn += sides) {
      const answer = await next(turn).catch((error) => {
        if (error.code === "ECONNREFUSED") return undefined;
        throw error;
      });
      if (!answer) continue;
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
      answered++;
      wake.resolve();
      wake = Promise.withResolvers();
    }
  };
  const runs = Promise.all(Array.from({ length: sides }, (_, side) => run(side)));
  runs.catch(() => {}); // Told by stop and more.
  const stop = async () => {
    going = false;
    await runs;
  };
  const more = async (count: number) => {
    for (const enough = answered + count; answered < enough;) await Promise.race([wake.promise, runs]);
  };
  return { counts, more, stop, [Symbol.asyncDispose]: () => stop().catch(() => {}) };
}
