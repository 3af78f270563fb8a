/**
 * Constant traffic through a gateway, over HTTP/1.1 and HTTP/2 at once, by clients that behave: they keep connections open,
 * open new ones where they are asked to, and never ask twice. So whatever goes wrong is the gateway's fault.
 *
 * @module
 */
import * as http from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import * as https from "node:https";
import * as tls from "node:tls";
import { destroyLater } from "../../controllers/runtime/destroy_later.ts";

/** What is asked for. */
export interface Target {
  readonly host: string;
  readonly path: string;
}

export interface Answer extends Target {
  readonly protocol: Protocol;
  readonly status: number;
  /** Who answered, by the header `x-backend`; empty if it was the gateway itself. */
  readonly backend: string;
}

export type Protocol = "http1" | "http2";

export interface TrafficOptions {
  readonly address: string;
  readonly port?: number;
  /** Asked for in turn. */
  readonly targets: readonly Target[];
  /** What is wrong with an answer, if anything is. Looked at as each comes in. */
  readonly judge: (answer: Answer) => string | undefined;
  /** TLS is spoken, with whoever these authorities (PEM) vouch for; otherwise it is not. */
  readonly authorities?: string;
  /** As long as nobody listens yet, nothing is lost by asking again. */
  readonly patientAtFirst?: true;
  /** How long each client waits after an answer, in milliseconds; not at all if absent. */
  readonly pause?: number;
}

/** Goes on until it is stopped or disposed of. */
export interface Traffic extends AsyncDisposable {
  /** How many answers there were. */
  readonly answers: { readonly [P in Protocol]: number };
  /** How many connections it took. */
  readonly connections: { readonly [P in Protocol]: number };
  /** What went wrong, the first hundred. */
  readonly failures: readonly string[];
  /** Resolves as soon as `holds`, which is looked at after each answer. */
  until(what: string, holds: () => boolean): Promise<void>;
  /** Resolves after so many more answers over each protocol: what comes next meets requests. */
  more(count: number): Promise<void>;
  /** Resolves once the last answer is there. */
  stop(): Promise<void>;
}

/** How many requests of each protocol are under way at a time; those over HTTP/2 share a connection. */
const sides = 3;

/** How long a test waits for anything, in milliseconds. */
const patience = 20_000;

type Send = (target: Target) => Promise<{ readonly status: number; readonly backend: string }>;

export function startTraffic(options: TrafficOptions): Traffic {
  const { port = options.authorities === undefined ? 80 : 443, targets, judge } = options;
  const answers = { http1: 0, http2: 0 }, connections = { http1: 0, http2: 0 };
  const failures: string[] = [];
  const looks = new Set<() => void>();
  let going = true;
  const senders = {
    http1: overHttp1({ ...options, port }, () => connections.http1++),
    http2: overHttp2({ ...options, port }, () => connections.http2++),
  };
  const run = async (protocol: Protocol, side: number) => {
    for (let turn = side; going; turn++) {
      const target = targets[turn % targets.length]!;
      let wrong: string | undefined;
      try {
        const answer = { protocol, ...target, ...await senders[protocol].send(target) };
        wrong = judge(answer);
      } catch (error) {
        wrong = String(error);
        if (options.patientAtFirst && answers[protocol] === 0 && wrong.includes("ECONNREFUSED")) continue;
      }
      answers[protocol]++;
      if (wrong !== undefined && failures.length < 100) {
        failures.push(`${protocol} ${target.host}${target.path}: ${wrong}`);
      }
      for (const look of looks) look();
      if (options.pause !== undefined) await new Promise((resolve) => setTimeout(resolve, options.pause));
    }
  };
  const all = Array.from({ length: sides }, (_, side) => [run("http1", side), run("http2", side)]).flat();
  const ended = Promise.all(all);
  const stop = async () => {
    going = false;
    await ended;
    for (const { close } of Object.values(senders)) await close();
  };
  const until = async (what: string, holds: () => boolean) => {
    const done = Promise.withResolvers<void>();
    const timer = setTimeout(() => done.reject(new Error(`Not within ${patience} ms: ${what}`)), patience);
    const look = () => void (holds() && done.resolve());
    looks.add(look);
    try {
      look();
      await done.promise;
    } finally {
      looks.delete(look);
      clearTimeout(timer);
    }
  };
  return {
    answers,
    connections,
    failures,
    until,
    more(count) {
      const enough = { http1: answers.http1 + count, http2: answers.http2 + count };
      return until(
        `${count} more answers`,
        () => answers.http1 >= enough.http1 && answers.http2 >= enough.http2,
      );
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Sender {
  readonly send: Send;
  close(): Promise<void>;
}

interface Server {
  readonly address: string;
  readonly port: number;
  readonly authorities?: string;
}

function overHttp1({ address, port, authorities }: Server, connected: () => void): Sender {
  const pool = { keepAlive: true, maxSockets: sides };
  const secure = authorities === undefined ? undefined : new https.Agent({ ...pool, ca: authorities });
  const agent = secure ?? new http.Agent(pool);
  const send: Send = ({ host, path }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Send>>>();
    const what = { host: address, port, path, headers: { host } };
    const call = secure
      ? https.request({ ...what, agent: secure, servername: host })
      : http.request({ ...what, agent });
    call.on("socket", (socket) => socket.connecting && connected());
    call.on("response", (response) => {
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          backend: String(response.headers["x-backend"] ?? ""),
        }));
      response.resume();
    });
    call.on("error", reject);
    call.end();
    return promise;
  };
  return { send, close: () => Promise.resolve(agent.destroy()) };
}

/** With TLS as agreed in the handshake, without it by prior knowledge (RFC 9113, section 3.3). */
function overHttp2({ address, port, authorities }: Server, connected: () => void): Sender {
  const sessions = new Map<ClientHttp2Session, Promise<void>>();
  const current = new Map<string, ClientHttp2Session>();
  const open = (host: string) => {
    const servername = authorities === undefined ? "" : host;
    const known = current.get(servername);
    // One that was told to go away finishes what it has, and takes nothing new.
    if (known && !known.closed && !known.destroyed) return known;
    connected();
    const session = authorities === undefined
      ? connect(`http://${address}:${port}`)
      : connect(`https://${host}`, {
        createConnection: () =>
          tls.connect({ host: address, port, servername, ca: authorities, ALPNProtocols: ["h2"] }),
      });
    destroyLater(session);
    current.set(servername, session);
    const closed = Promise.withResolvers<void>();
    sessions.set(session, closed.promise);
    session.on("goaway", () => current.get(servername) === session && current.delete(servername));
    session.on("error", () => {}); // Each of its streams tells.
    session.on("close", () => {
      sessions.delete(session);
      closed.resolve();
    });
    return session;
  };
  const send: Send = ({ host, path }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Send>>>();
    const stream = open(host).request({ ":authority": host, ":path": path });
    let answer: Awaited<ReturnType<Send>> | undefined;
    stream.on("response", (headers) => {
      answer = { status: Number(headers[":status"]), backend: String(headers["x-backend"] ?? "") };
    });
    stream.on("end", () => answer && resolve(answer));
    // Why there is none comes after the end.
    stream.on("error", reject);
    stream.on("close", () => reject(new Error("The stream ended without an answer")));
    stream.resume();
    stream.end();
    return promise;
  };
  const close = async () => {
    const open = [...sessions];
    for (const [session] of open) session.close();
    await Promise.all(open.map(([, closed]) => closed));
  };
  return { send, close };
}
