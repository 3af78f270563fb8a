/**
 * What an operator tells about itself: probes, metrics, and what only its owner may see.
 *
 * @module
 */
import { Hono } from "hono";
import { STATUS_CODE } from "@std/http/status";
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
  readonly report: () => Report;
  readonly log: { level: Level };
}

/** Probes and metrics, for everybody who can connect. */
export function probes({ metrics, awaited }: Pick<AdminOptions, "metrics" | "awaited">): Hono {
  const app = new Hono();
  app.get("/healthz", (c) => c.text("ok\n"));
  app.get("/readyz", (c) => {
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

/** The whole of it, for a socket that only the owner can open. */
export function admin(options: AdminOptions): Hono {
  const app = probes(options);
  app.get("/report", (c) => c.json(options.report()));
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

/** Serves the admin interface on a Unix socket; what an earlier process left there is replaced. */
export async function serveAdmin(
  path: string,
  options: AdminOptions,
): Promise<AsyncDisposable> {
  await Deno.remove(path).catch(() => {});
  const app = admin(options);
  const server = Deno.serve({ transport: "unix", path, onListen: () => {} }, (request) => app.fetch(request));
  await Deno.chmod(path, 0o600);
  return {
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await Deno.remove(path).catch(() => {});
    },
  };
}

/** Asks an operator on this machine for its report; nothing if none is running. */
export async function askReport(path: string, signal: AbortSignal): Promise<Report | undefined> {
  using client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
  try {
    const response = await fetch("http://operator/report", { client, signal });
    return await response.json() as Report;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TypeError || error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
