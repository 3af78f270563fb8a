/**
 * A connection between two replicas: each tells the other what has changed, a line of JSON at a time, for as long as both live.
 *
 * Replicas may be of different versions: what is not understood is passed over.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { TLSSocket } from "node:tls";
import { z } from "zod";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { Log } from "../controllers/runtime/log.ts";
import { Nap } from "../controllers/runtime/nap.ts";
import { linkSignals } from "../controllers/runtime/signals.ts";
import type { Addressee, Ledger, News } from "../xds/ledger/mod.ts";

/** In milliseconds: how often something is said, if only that one is there, and for how long nothing may be. */
const times = { beat: 5_000, silence: 16_000, gather: 10 };

/** The longest line, in characters. */
const longestLine = 64 * 1024 * 1024;

export interface ReportStreamOptions {
  readonly ledger: Pick<Ledger, "outbox" | "hear" | "leave">;
  /** The replica at the other end, and whether it is told how far proxies are. */
  readonly addressee: Addressee;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Talks until the connection ends, `signal` is aborted, or nothing has been heard for too long. Never rejects. */
export async function exchangeReports(socket: TLSSocket, options: ReportStreamOptions): Promise<void> {
  const { ledger, addressee, clock, log, signal } = options, source = addressee.to;
  const ended = new AbortController(), nap = new Nap();
  using life = linkSignals(signal, ended.signal);
  const cut = () => socket.destroy();
  life.signal.addEventListener("abort", cut, { once: true });
  socket.on(
    "error",
    (error) => log.debug("Connection to another replica failed", { replica: source, error }),
  );
  socket.on("close", () => ended.abort());
  using outbox = ledger.outbox(addressee, () => nap.wake());
  const telling = tell(socket, { outbox, nap, clock, signal: life.signal }).catch(() => ended.abort());
  const heard = { at: clock.monotonic() };
  using _watchdog = watch(clock, heard, () => ended.abort());
  try {
    for await (const line of linesOf(socket)) {
      heard.at = clock.monotonic();
      const news = line === "" ? undefined : readNews(line);
      if (news) ledger.hear(source, news);
    }
  } catch (error) {
    if (!life.signal.aborted) log.debug("Connection to another replica failed", { replica: source, error });
  } finally {
    ended.abort();
    ledger.leave(source);
    await telling;
  }
}

interface Telling {
  readonly outbox: { take(): Iterable<News> };
  readonly nap: Nap;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

async function tell(socket: TLSSocket, { outbox, nap, clock, signal }: Telling): Promise<void> {
  while (true) {
    let said = false;
    for (const news of outbox.take()) {
      said = true;
      await write(socket, `${JSON.stringify(news)}\n`, signal);
      // What is long is told in pieces; others have their turn between them.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    if (!said) await write(socket, "\n", signal);
    await nap.sleep(clock, times.beat, signal);
    await clock.sleep(times.gather, { signal });
  }
}

async function write(socket: TLSSocket, text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (socket.write(text)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once("drain", resolve);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  socket.off("drain", resolve);
}

/** Calls `late` once nothing has been heard for too long. */
function watch(clock: Clock, heard: { readonly at: number }, late: () => void): Disposable {
  const look = (): Disposable =>
    clock.timer(heard.at + times.silence - clock.monotonic(), () => {
      if (clock.monotonic() - heard.at >= times.silence) late();
      else state.timer = look();
    });
  const state = { timer: look() };
  return { [Symbol.dispose]: () => state.timer[Symbol.dispose]() };
}

async function* linesOf(socket: TLSSocket): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of socket) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
    rest = lines.pop()!;
    if (rest.length > longestLine) throw new RangeError("Cannot read a line: it is too long");
    yield* lines;
  }
}

const newsSchema = z.object({
  gateway: z.string(),
  proxies: z.array(z.object({ id: z.string(), arriving: z.boolean(), silent: z.boolean() })).optional(),
  contributions: z.array(z.object({
    origin: z.string(),
    generation: z.number().optional(),
    waiting: z.array(z.string()),
    rejected: z.string().optional(),
  })).optional(),
  rejections: z.array(
    z.object({ piece: z.string(), hash: z.string(), software: z.string(), message: z.string() }),
  ).optional(),
  software: z.array(z.string()).optional(),
});

function readNews(line: string): News | undefined {
  try {
    return newsSchema.parse(JSON.parse(line)) as News;
  } catch {
    return undefined; // Another version's way of saying something.
  }
}
