/**
 * The API server as replicas of the operator see it who do not survive a write: it takes the write, tells of it, and never answers
 * that replica again, so that whoever hears of it can kill the replica before it does anything more.
 *
 *     deno run -A tests/cluster/support/fatal_api.ts API-SERVER AUTHORITIES HOST:PORT PREFIX
 *
 * runs inside of a cluster, until its input ends.
 *
 * @module
 */
import { root } from "../../support/command.ts";
import { TextLineStream } from "../../support/lines.ts";
import type { Cluster } from "./cluster.ts";

/** A write that was accepted, and the replica that does not know. */
export interface FatalWrite {
  readonly pod: string;
  /** As in `PATCH /api/v1/…`. */
  readonly write: string;
}

export interface FatalApi extends AsyncDisposable {
  /** For pods. */
  readonly url: string;
  /** To be read once. */
  readonly writes: AsyncIterable<FatalWrite>;
}

/** Where it listens: on the node, as the API server does. */
const node = "172.18.0.2", address = `${node}:7443`;

/** Starts one; writes are fatal to replicas in pods whose names begin with `prefix`, and to nobody else. */
export async function startFatalApi(cluster: Cluster, prefix: string): Promise<FatalApi> {
  const [program, ...args] = cluster.command([
    Deno.execPath(),
    "run",
    "--allow-all",
    `${root}tests/cluster/support/fatal_api.ts`,
    `https://${node}:6443`,
    `${cluster.folder}/pki/ca.crt`,
    address,
    prefix,
  ]);
  const child = new Deno.Command(program, { args, stdin: "piped", stdout: "piped", stderr: "inherit" })
    .spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  const told = lines[Symbol.asyncIterator]();
  if ((await told.next()).done) throw new Error("The API server for replicas has not started");
  return {
    url: `http://${address}`,
    writes: (async function* () {
      for (let line = await told.next(); !line.done; line = await told.next()) {
        yield JSON.parse(line.value) as FatalWrite;
      }
    })(),
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await child.status;
    },
  };
}

/** Requests that are no writes of anything that belongs to a Gateway. */
const apart = /\/leases|tokenreviews|\/events/;

/** Passes requests on. */
class Forwarder {
  readonly #client: Deno.HttpClient;
  readonly #dead = new Set<string>();
  /** The last write of each replica: there is one at a time, so that the fatal one is the last. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(readonly server: string, authorities: string, readonly prefix: string) {
    // Each watch on a connection of its own: there is no limit to these.
    this.#client = Deno.createHttpClient({ caCerts: [authorities], http2: false, poolMaxIdlePerHost: 64 });
  }

  async handle(request: Request): Promise<Response> {
    const pod = request.headers.get("user-agent")?.match(/\(operator (\S+)\)/)?.[1] ?? "";
    const { pathname } = new URL(request.url);
    if (this.#dead.has(pod)) return await silence(request);
    if (request.method === "GET" || apart.test(pathname)) return await this.#forward(request);
    const turn = (this.#turns.get(pod) ?? Promise.resolve()).then(() => this.#write(pod, pathname, request));
    this.#turns.set(pod, turn.catch(() => {}));
    return await turn ?? await silence(request);
  }

  /** The answer, unless nobody is to hear it. */
  async #write(pod: string, pathname: string, request: Request): Promise<Response | undefined> {
    if (this.#dead.has(pod)) return undefined;
    const answer = await this.#forward(request);
    if (!answer.ok || !pod.startsWith(this.prefix)) return answer;
    this.#dead.add(pod);
    await answer.body?.cancel();
    print(JSON.stringify({ pod, write: `${request.method} ${pathname}` } satisfies FatalWrite));
    return undefined;
  }

  async #forward(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url), { method, signal } = request;
    const headers = new Headers(request.headers);
    for (const name of ["host", "connection", "content-length"]) headers.delete(name);
    headers.set("accept-encoding", "identity");
    const body = method === "GET" ? null : await request.arrayBuffer();
    return await fetch(this.server + pathname + search, {
      ...{ method, headers, body, signal, client: this.#client },
    });
  }
}

/** Lasts until the replica is gone. */
async function silence({ signal }: Request): Promise<Response> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (!signal.aborted) await promise;
  return new Response(null, { status: 503 });
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) {
  const [server = "", authorities = "", address = "", prefix = ""] = Deno.args;
  const forwarder = new Forwarder(server, await Deno.readTextFile(authorities), prefix);
  const [hostname, port] = address.split(":");
  Deno.serve({
    hostname: hostname!,
    port: Number(port),
    onListen: () => print("listening"),
    handler: (request) => forwarder.handle(request),
    // Who is gone hears nothing; whoever asked for it asks again.
    onError: () => new Response(null, { status: 502 }),
  });
  for await (const _ of Deno.stdin.readable);
  Deno.exit();
}
