/**
 * A client of Envoy's admin interface on a Unix socket.
 *
 * The socket is for its owner only, so nothing else on the machine can make an Envoy drain or read its secrets.
 *
 * @module
 */
import { request } from "node:http";

/** How busy an Envoy is, its admin interface left out. */
export interface Activity {
  /** Connections from clients. */
  readonly connections: number;
  /** Those of them that carry HTTP. */
  readonly httpConnections: number;
  /** Requests that have no complete response yet. */
  readonly requests: number;
}

export interface Admin {
  /** The path of the socket. */
  readonly socket: string;
  /** Whether Envoy has initialized, its first configuration included. `false` too while nobody answers. */
  ready(signal?: AbortSignal): Promise<boolean>;
  /** What `/server_info` says. */
  serverInfo(signal?: AbortSignal): Promise<{ readonly state: string; readonly version: string }>;
  /** `/config_dump`, with endpoints if asked for; `resource` as in `dynamic_listeners`. */
  configDump(
    options?: { readonly resource?: string; readonly endpoints?: boolean; readonly signal?: AbortSignal },
  ): Promise<unknown>;
  /** `/clusters` in JSON: every endpoint with its health and counters. */
  clusters(signal?: AbortSignal): Promise<unknown>;
  /** `/listeners` in JSON: what is bound. */
  listeners(signal?: AbortSignal): Promise<unknown>;
  /** Counters and gauges whose names match a regular expression (RE2). */
  stats(filter: string, signal?: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** `undefined` if the statistics that it needs are switched off in the bootstrap. */
  activity(signal?: AbortSignal): Promise<Activity | undefined>;
  /** Makes responses end their connections from now on, while everything goes on being served. */
  startDrain(signal?: AbortSignal): Promise<void>;
  /** Closes the listening sockets; connections that there are stay. */
  stopListening(signal?: AbortSignal): Promise<void>;
}

/** A client of the admin interface at `socket`. Nothing is kept open between two calls. */
export function adminClient(socket: string): Admin {
  const get = (path: string, signal?: AbortSignal) => call(socket, "GET", path, signal);
  const json = async (path: string, signal?: AbortSignal): Promise<unknown> =>
    JSON.parse(await get(path, signal));
  const post = async (path: string, signal?: AbortSignal) => void await call(socket, "POST", path, signal);
  const stats = async (filter: string, signal?: AbortSignal) => {
    const answer = await json(`/stats?format=json&filter=${encodeURIComponent(filter)}`, signal) as {
      readonly stats: readonly { readonly name?: string; readonly value?: unknown }[];
    };
    return new Map(
      answer.stats.flatMap(({ name, value }) =>
        name !== undefined && typeof value === "number" ? [[name, value] as const] : []
      ),
    );
  };
  return {
    socket,
    async ready(signal) {
      try {
        return (await get("/ready", signal)).trim() === "LIVE";
      } catch {
        signal?.throwIfAborted();
        return false;
      }
    },
    serverInfo: async (signal) => await json("/server_info", signal) as { state: string; version: string },
    configDump({ resource, endpoints, signal } = {}) {
      const query = new URLSearchParams();
      if (resource) query.set("resource", resource);
      if (endpoints) query.set("include_eds", "on");
      return json(`/config_dump?${query}`, signal);
    },
    clusters: (signal) => json("/clusters?format=json", signal),
    listeners: (signal) => json("/listeners?format=json", signal),
    stats,
    activity: async (signal) => activityOf(await stats("\\.downstream_(cx|rq)_active$", signal)),
    async startDrain(signal) {
      await post("/healthcheck/fail", signal);
      await post("/drain_listeners?graceful&skip_exit", signal);
    },
    stopListening: (signal) => post("/drain_listeners", signal),
  };
}

/** Adds up the gauges `downstream_cx_active` and `downstream_rq_active`. */
export function activityOf(gauges: ReadonlyMap<string, number>): Activity | undefined {
  if (!gauges.has("listener.admin.downstream_cx_active")) return undefined;
  let connections = 0, httpConnections = 0, requests = 0;
  for (const [name, value] of gauges) {
    // Every worker's share is also in its listener's sum.
    if (/^(?:http|listener)\.admin\.|\.(?:worker_\d+|main_thread)\.downstream_cx_active$/.test(name)) {
      continue;
    }
    if (/^listener\..*\.downstream_cx_active$/.test(name)) connections += value;
    else if (/^http\..*\.downstream_cx_active$/.test(name)) httpConnections += value;
    else if (/^http\..*\.downstream_rq_active$/.test(name)) requests += value;
  }
  return { connections, httpConnections, requests };
}

function call(socket: string, method: string, path: string, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const outgoing = request({
      socketPath: socket,
      method,
      path,
      agent: false,
      ...(signal ? { signal } : {}),
    });
    const fail = (cause: unknown) =>
      reject(
        signal?.aborted ? signal.reason : new Error(`Cannot ask Envoy for "${method} ${path}"`, { cause }),
      );
    outgoing.once("error", fail);
    outgoing.once("response", (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      response.once("error", fail);
      response.once("end", async () => {
        const body = await new Blob(chunks as BlobPart[]).text();
        // "/ready" answers 503 with the state while Envoy initializes: an answer, not a failure.
        if (response.statusCode === 200 || path === "/ready") return resolve(body);
        fail(new Error(`Status ${response.statusCode}: ${body.trim()}`));
      });
    });
    outgoing.end();
  });
}
