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
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
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
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A port that was free a moment ago. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
