/**
 * Traffic from within a cluster: a program that sends it until its input ends, and then says what came of it. It tells each
 * hundred answers of both protocols.
 *
 *     deno run -A tests/cluster/support/traffic.ts ADDRESS HOST [PAUSE [AUTHORITIES]]
 *
 * @module
 */
import { root } from "../../support/command.ts";
import { TextLineStream } from "../../support/lines.ts";
import { startTraffic } from "../../e2e/traffic.ts";
import type { Cluster } from "./cluster.ts";

export interface Summary {
  readonly answers: { readonly http1: number; readonly http2: number };
  readonly connections: { readonly http1: number; readonly http2: number };
  readonly failures: readonly string[];
}

/** Traffic that is under way. */
export interface ClusterTraffic extends AsyncDisposable {
  /** Resolves after some more answers. */
  more(): Promise<void>;
  stop(): Promise<Summary>;
}

/**
 * Sends requests to an address of the cluster; every answer is to be a 200. With a `pause`, in milliseconds, each client waits so
 * long after an answer. With `authorities` (PEM) TLS is spoken.
 */
export function sendTraffic(
  cluster: Cluster,
  address: string,
  host: string,
  pause = 0,
  authorities?: string,
): ClusterTraffic {
  const script = [
    Deno.execPath(),
    "run",
    "--allow-all",
    `${root}tests/cluster/support/traffic.ts`,
    address,
    host,
    String(pause),
    ...authorities === undefined ? [] : [authorities],
  ];
  const [program, ...args] = cluster.command(script);
  const child = new Deno.Command(program, { args, stdin: "piped", stdout: "piped", stderr: "inherit" })
    .spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    .getReader();
  const ending: { done?: Promise<Summary> } = {};
  const next = async () => {
    const { value, done } = await lines.read();
    if (done) throw new Error("The traffic has ended by itself");
    return value;
  };
  const end = async () => {
    await child.stdin.close();
    for (;;) {
      const line = await next();
      if (!line.startsWith("{")) continue;
      await lines.cancel();
      await child.status;
      return JSON.parse(line) as Summary;
    }
  };
  const stop = () => ending.done ??= end();
  return {
    async more() {
      await next();
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

if (import.meta.main) {
  const [address = "", host = "", pause, authorities] = Deno.args;
  const traffic = startTraffic({
    address,
    ...pause !== "0" && { pause: Number(pause) },
    ...authorities !== undefined && { authorities },
    targets: [{ host, path: "/" }],
    judge: ({ status }) => status === 200 ? undefined : `status ${status}`,
  });
  const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  const telling = (async () => {
    for (;;) {
      await traffic.more(100);
      print("more");
    }
  })();
  telling.catch(() => {});
  for await (const _ of Deno.stdin.readable);
  await traffic.stop();
  const { answers, connections, failures } = traffic;
  print(JSON.stringify({ answers, connections, failures }));
  Deno.exit();
}
