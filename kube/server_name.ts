/**
 * Connects to a server under another name than its address has, as `tls-server-name` of a kubeconfig asks.
 *
 * `fetch` takes the name that it verifies from the URL and has no way to connect elsewhere. But it does connect through
 * proxies; so here is one, on the loopback interface, that leads wherever it is asked to the one server there is. TLS goes
 * through it untouched.
 *
 * @module
 */

/** The longest head of a CONNECT request. */
const mostHeadBytes = 8192;

/** A proxy to one server. Listens until it is disposed of. */
export class ServerNameProxy implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #server: { readonly hostname: string; readonly port: number };
  readonly #connections = new Set<Deno.Conn>();
  readonly #done: Promise<void>;

  constructor(server: { readonly hostname: string; readonly port: number }) {
    this.#server = server;
    this.#done = this.#accept();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  async #accept(): Promise<void> {
    const running = new Set<Promise<void>>();
    for await (const connection of this.#listener) {
      const run = this.#lead(connection).finally(() => running.delete(run));
      running.add(run);
    }
    await Promise.all(running);
  }

  async #lead(client: Deno.Conn): Promise<void> {
    this.#connections.add(client);
    let server: Deno.Conn | undefined;
    try {
      await readHead(client);
      server = await Deno.connect(this.#server);
      this.#connections.add(server);
      await client.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
      await Promise.all([
        client.readable.pipeTo(server.writable),
        server.readable.pipeTo(client.writable),
      ]);
    } catch {
      // Either end has gone; `fetch` sees a broken connection and says so.
    } finally {
      for (const connection of [client, server]) {
        if (connection && this.#connections.delete(connection)) close(connection);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) close(connection);
    await this.#done;
  }
}

async function readHead(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(mostHeadBytes);
  let length = 0;
  while (!new TextDecoder().decode(buffer.subarray(0, length)).endsWith("\r\n\r\n")) {
    const read = await connection.read(buffer.subarray(length));
    if (!read) throw new Error("Cannot read a CONNECT request: it is incomplete or too long");
    length += read;
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // Closed already, by the pipe that ended.
  }
}
