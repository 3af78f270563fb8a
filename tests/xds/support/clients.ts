/**
 * Clients that keep their connections for as long as the server lets them, and never send a request twice.
 *
 * @module
 */
import * as http2 from "node:http2";
import { systemClock } from "../../../controllers/runtime/clock.ts";
import { destroyLater } from "../../../controllers/runtime/destroy_later.ts";

/** What became of the requests of some clients. */
export interface Tally {
  answered: number;
  /** Connections that were made. */
  connections: number;
  /** Requests that got no complete answer, or none with 200, with the reason. */
  readonly lost: string[];
}

export interface Clients extends AsyncDisposable {
  readonly tally: Tally;
  /** Resolves after so many more answers. */
  more(count: number): Promise<void>;
}

export interface ClientsOptions {
  readonly http1: number;
  readonly http2: number;
  /** Between two requests of a client, in milliseconds. */
  readonly pause?: number;
}

/** Starts clients of a port. */
export function startClients(port: number, { http1, http2, pause = 0 }: ClientsOptions): Clients {
  const tally: Tally = { answered: 0, connections: 0, lost: [] };
  const state = { going: true, wake: Promise.withResolvers<void>() };
  const answered = (status: string | undefined) => {
    if (status === "200") tally.answered++;
    else tally.lost.push(`status ${status}`);
    state.wake.resolve();
    state.wake = Promise.withResolvers();
  };
  const lost = (error: unknown) => {
    tally.lost.push(String(error));
    state.wake.resolve();
    state.wake = Promise.withResolvers();
  };
  const going = () => state.going;
  const run = async (
    connect: (tell: typeof answered, pause: number, going: () => boolean) => Promise<void>,
  ) => {
    while (state.going) {
      tally.connections++;
      await connect(answered, pause, going).catch(lost);
    }
  };
  const runs = [
    ...Array.from({ length: http1 }, () => run((...rest) => overHttp1(port, ...rest))),
    ...Array.from({ length: http2 }, () => run((...rest) => overHttp2(port, ...rest))),
  ];
  return {
    tally,
    async more(count) {
      for (const enough = tally.answered + count; tally.answered < enough && tally.lost.length === 0;) {
        await state.wake.promise;
      }
    },
    async [Symbol.asyncDispose]() {
      state.going = false;
      await Promise.all(runs);
    },
  };
}

/** Sends requests on one connection until the server asks to close it. */
async function overHttp1(
  port: number,
  tell: (status: string | undefined) => void,
  pause: number,
  going: () => boolean,
): Promise<void> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: www.example.com\r\n\r\n");
  while (going()) {
    await connection.write(request);
    const head = await readResponse(connection);
    tell(/^HTTP\/1.1 (\d+)/.exec(head)?.[1]);
    if (/^connection: close\r?$/im.test(head)) return;
    if (pause > 0) await systemClock.sleep(pause);
  }
}

/** Reads a response whose body is as long as it says. */
async function readResponse(connection: Deno.TcpConn): Promise<string> {
  const buffer = new Uint8Array(16 * 1024);
  let text = "";
  for (;;) {
    const count = await connection.read(buffer);
    if (count === null) throw new Error(`The connection ended after "${text}"`);
    text += new TextDecoder().decode(buffer.subarray(0, count));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
    if (text.length >= end + 4 + length) return text.slice(0, end);
  }
}

/** Sends requests on one connection until the server says GOAWAY. */
async function overHttp2(
  port: number,
  tell: (status: string | undefined) => void,
  pause: number,
  going: () => boolean,
): Promise<void> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  destroyLater(session);
  const closed = Promise.withResolvers<void>(), failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  let leaving = false;
  session.on("goaway", () => leaving = true);
  session.on("error", (error) => failed.reject(error));
  session.on("close", () => {
    leaving = true;
    closed.resolve();
  });
  try {
    while (going() && !leaving) {
      tell(await Promise.race([ask(session), failed.promise]));
      if (pause > 0) await systemClock.sleep(pause);
    }
  } finally {
    session.destroy();
    await closed.promise;
  }
}

function ask(session: http2.ClientHttp2Session): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const stream = session.request({ ":path": "/", ":authority": "www.example.com" });
  let status = "none";
  stream.on("response", (headers) => status = String(headers[":status"]));
  stream.on("error", reject);
  stream.on("end", () => resolve(status));
  stream.on("close", () => reject(new Error(`The stream ended with ${stream.rstCode}`)));
  stream.resume();
  stream.end();
  return promise;
}
