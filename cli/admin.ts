/**
 * What an operator tells about itself: probes, metrics, and what only its owner may see.
 *
 * @module
 */
import { Hono } from "hono";
import { eTag, ifNoneMatch } from "@std/http/etag";
import { accepts } from "@std/http/negotiation";
import { ServerSentEventStream } from "@std/http/server-sent-event-stream";
import { STATUS_CODE } from "@std/http/status";
import type { Clock } from "../controllers/runtime/clock.ts";
import type { GatewayKey } from "../controllers/ir/mod.ts";
import { type Level, levels } from "../controllers/runtime/log.ts";
import type { Metrics } from "../controllers/runtime/metrics.ts";

/** A proxy, as `gatehouse status` shows it. */
export interface ProxyReport {
  readonly proxy: string;
  readonly connected: boolean;
  /** Resources that it does not have in their current version. */
  readonly behind: number;
  /** It has owed an answer for too long. */
  readonly silent: boolean;
  /** Resources that it has refused, with its own words. */
  readonly refused: readonly { readonly id: string; readonly message: string }[];
  /** How its process is doing, where it is a child of the operator. */
  readonly process?: {
    readonly state: string;
    readonly version: string;
    readonly pid?: number;
    readonly restarts: number;
    readonly lastExit?: string;
  };
}

export interface Report {
  readonly version: string;
  /** Counts the settles that changed anything: if it is the same, so is everything else. */
  readonly sequence: number;
  readonly gateways: { readonly [gateway: GatewayKey]: readonly ProxyReport[] };
  /** What each watch is doing, where that is not simply watching. */
  readonly watches: { readonly [plural: string]: string };
  /** Tables with rows whose derivation throws: bugs. */
  readonly failures: readonly string[];
}

export interface AdminOptions {
  readonly metrics: Metrics;
  /** What is missing before the operator is ready; empty once it is. */
  readonly awaited: () => readonly string[];
  /** Resolves once it is ready for the first time. */
  readonly ready?: Promise<void>;
  readonly report: () => Report;
  /** Calls `listener` whenever the report may have changed, until disposed of. */
  readonly watch: (listener: () => void) => Disposable;
  readonly clock: Clock;
  readonly log: { level: Level };
}

/** How long a probe is kept that comes too early, in milliseconds: for less than the second that a kubelet waits for an answer. */
const patience = 800;

/** Probes and metrics, for everybody who can connect. */
export function probes(
  { metrics, awaited, ready, clock }: Pick<AdminOptions, "metrics" | "awaited" | "ready" | "clock">,
): Hono {
  const app = new Hono();
  // Whoever answers is alive: there is one thread.
  for (const path of ["/healthz", "/livez"]) app.get(path, (c) => c.text("ok\n"));
  app.get("/readyz", async (c) => {
    // Who asks each second is told at once all the same.
    if (ready && awaited().length > 0) {
      const { promise: over, resolve } = Promise.withResolvers<void>();
      using _ = clock.timer(patience, resolve);
      await Promise.race([ready, over]);
    }
    const missing = awaited();
    return missing.length === 0
      ? c.text("ok\n")
      : c.text(`waiting for ${missing.join(", ")}\n`, STATUS_CODE.ServiceUnavailable);
  });
  app.get(
    "/metrics",
    async (c) => c.body(await metrics.render(), 200, { "content-type": metrics.contentType }),
  );
  return app;
}

/**
 * The whole of it, for a socket that only the owner can open. `/report` is JSON with an entity tag, or a stream of server-sent events
 * for who asks for that: a report at once and after every change, until `signal` is aborted.
 */
export function admin(options: AdminOptions, signal: AbortSignal): Hono {
  const app = probes(options);
  app.get("/report", async (c) => {
    const types = ["application/json", "text/event-stream"];
    const type = accepts(c.req.raw, ...types);
    if (type === undefined) {
      return c.text(`Only ${types.join(" and ")} can be had here\n`, STATUS_CODE.NotAcceptable);
    }
    if (type === "text/event-stream") {
      return c.body(reports(options, signal), 200, { "content-type": type, "cache-control": "no-store" });
    }
    const body = JSON.stringify(options.report()), etag = await eTag(body);
    if (!ifNoneMatch(c.req.header("if-none-match") ?? null, etag)) {
      return c.body(null, STATUS_CODE.NotModified, { etag });
    }
    return c.body(body, 200, { "content-type": type, etag });
  });
  app.get("/log-level", (c) => c.text(`${options.log.level}\n`));
  app.put("/log-level", async (c) => {
    const wanted = (await c.req.text()).trim(), level = levels.find((level) => level === wanted);
    if (!level) {
      return c.text(
        `Cannot set the log level: expected one of ${levels.join(", ")}\n`,
        STATUS_CODE.BadRequest,
      );
    }
    options.log.level = level;
    return c.text(`${level}\n`);
  });
  return app;
}

/** The shortest time between two reports of a stream, in milliseconds. */
const pause = 100;

/** Reports as server-sent events; one that says the same as the one before is left out. */
function reports({ report, watch, clock }: AdminOptions, signal: AbortSignal): ReadableStream<Uint8Array> {
  const stack = new DisposableStack();
  return new ReadableStream<{ readonly data: string }>({
    start(controller) {
      let last: string | undefined, timer: Disposable | undefined;
      const send = () => {
        timer = undefined;
        const data = JSON.stringify(report());
        if (data !== last) controller.enqueue({ data: last = data });
      };
      const end = () => {
        stack.dispose();
        controller.close();
      };
      stack.use(watch(() => timer ??= clock.timer(pause, send)));
      stack.defer(() => timer?.[Symbol.dispose]());
      stack.defer(() => signal.removeEventListener("abort", end));
      signal.addEventListener("abort", end);
      send();
    },
    cancel: () => stack.dispose(),
  }).pipeThrough(new ServerSentEventStream());
}

/** Serves the admin interface on a Unix socket; what an earlier process left there is replaced. */
export async function serveAdmin(
  path: string,
  options: AdminOptions,
): Promise<AsyncDisposable> {
  await Deno.remove(path).catch(() => {});
  const stop = new AbortController(), app = admin(options, stop.signal);
  const server = Deno.serve({ transport: "unix", path, onListen: () => {} }, (request) => app.fetch(request));
  await Deno.chmod(path, 0o600);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.shutdown();
      await Deno.remove(path).catch(() => {});
    },
  };
}

/** Asks an operator on this machine for its report; nothing if none is running. */
export async function askReport(path: string, signal: AbortSignal): Promise<Report | undefined> {
  for await (const report of followReports(path, signal, "application/json")) return report;
}

/** Gives an operator's report, and with `text/event-stream` each later one, until it stops; none if none is running. */
export async function* followReports(
  path: string,
  signal: AbortSignal,
  accept: "application/json" | "text/event-stream" = "text/event-stream",
): AsyncGenerator<Report, void> {
  using client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
  let response: Response;
  try {
    response = await fetch("http://operator/report", { client, signal, headers: { accept } });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TypeError || error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  if (accept === "application/json") return yield await response.json() as Report;
  let rest = "";
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split(/\r?\n\r?\n/);
    rest = events.pop()!;
    for (const event of events) yield JSON.parse(event.replace(/^data:/, "")) as Report;
  }
}
