/**
 * The client of an API server: {@linkcode Kube} over `fetch`.
 *
 * It keeps to what is safe: a request is sent again only if the server surely has not acted on it, or if it only reads; how often
 * and how long is bounded. The rate of requests is left to the server's priority and fairness.
 *
 * @module
 */
import type {
  JSONValue,
  KubernetesTunnel,
  RequestOptions,
  RestClient,
} from "@cloudydeno/kubernetes-apis/deps.ts";
import type { ApiObject, Kind } from "../crds/kind.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Log, silentLog } from "../controllers/runtime/log.ts";
import { answerFailure, decodeJson, jsonLines, readBody, tellingStream } from "./answers.ts";
import type { Cluster, Credentials } from "./cluster.ts";
import { ConnectionError, isStatus, KubeError, SilentError } from "./errors.ts";
import { HttpClients } from "./http_clients.ts";
import { pathOf } from "./paths.ts";
import { type Attempt, retryDelay } from "./retry.ts";
import { Streams } from "./streams.ts";
import type { Draft, Kube, Name, PatchOperation, PatchOptions } from "./types.ts";

export { KubeError } from "./errors.ts";

export interface KubeOptions {
  readonly clock: Clock;
  readonly log?: Log;
  /** Of Gatehouse; with `component` it makes the user agent, and so the field manager of plain writes. */
  readonly version: string;
  /** Which part of Gatehouse is asking, such as `operator`. */
  readonly component: string;
  /** How long a whole answer, or the head of a stream, may take, in milliseconds; a minute by default, as in the API server itself. */
  readonly timeout?: number;
  /** The largest answer that is read, in bytes. */
  readonly mostBytes?: number;
  /** Which version of a kind to speak where an object does not say; by default its storage version. */
  readonly versionOf?: (kind: Kind) => string | undefined;
  /** Asked right before each request goes out, also when it is tried again: throws if it may not, and may cut it short. */
  readonly permit?: () => AbortSignal;
  /** For tests. */
  readonly fetch?: typeof fetch;
  readonly random?: () => number;
}

/** Makes a client; it connects when it is first used. */
export function createKube(cluster: Cluster, options: KubeOptions): Kube {
  return new Client(cluster, options);
}

class Client implements Kube {
  readonly defaultNamespace: string;
  readonly #cluster: Cluster;
  readonly #options: KubeOptions;
  readonly #log: Log;
  /** Where the server is, without a slash at the end. */
  readonly #base: string;
  readonly #clients = new HttpClients();
  readonly #streams: Streams;
  /** When the request was sent that was not answered in time; until another one is answered. */
  #silentSince: number | undefined;
  /** What the server has warned of already, so that each warning is logged once. */
  readonly #warnings = new Set<string>();

  constructor(cluster: Cluster, options: KubeOptions) {
    this.defaultNamespace = cluster.namespace;
    this.#cluster = cluster;
    const base = new URL(cluster.server);
    base.search = base.hash = "";
    this.#base = base.href.replace(/\/$/, "");
    this.#options = options;
    this.#streams = new Streams(options.clock);
    this.#log = options.log ?? silentLog;
  }

  performRequest(opts: RequestOptions & { expectTunnel: string[] }): Promise<KubernetesTunnel>;
  performRequest(
    opts: RequestOptions & { expectStream: true; expectJson: true },
  ): Promise<ReadableStream<JSONValue>>;
  performRequest(opts: RequestOptions & { expectStream: true }): Promise<ReadableStream<Uint8Array>>;
  performRequest(opts: RequestOptions & { expectJson: true }): Promise<JSONValue>;
  performRequest(opts: RequestOptions): Promise<Uint8Array>;
  async performRequest(
    opts: RequestOptions,
  ): Promise<
    KubernetesTunnel | ReadableStream<JSONValue> | ReadableStream<Uint8Array> | JSONValue | Uint8Array
  > {
    if (opts.expectTunnel) {
      throw new TypeError(`Cannot ${opts.method} ${opts.path}: tunnels are not supported`);
    }
    const signal = opts.abortSignal;
    let refreshed = false;
    for (let retries = 0;;) {
      signal?.throwIfAborted();
      const credentials = await this.#cluster.credentials(signal);
      try {
        return await this.#send(opts, credentials);
      } catch (error) {
        signal?.throwIfAborted();
        if (isStatus(error, 401) && !refreshed && !opts.bodyStream) {
          refreshed = true;
          this.#cluster.reject(credentials);
          continue;
        }
        const attempt: Attempt = {
          method: opts.method,
          // Whoever reads a stream has to resume it anyway, in a way of its own.
          repeatable: !opts.expectStream && !opts.bodyStream,
          retries,
        };
        const delay = retryDelay(error, attempt, this.#options.random);
        if (delay === undefined) throw error;
        retries++;
        this.#log.debug("Trying again", { request: `${opts.method} ${opts.path}`, error, delay });
        await this.#options.clock.sleep(delay, signal ? { signal } : {});
      }
    }
  }

  async #send(opts: RequestOptions, credentials: Credentials) {
    const request = `${opts.method} ${opts.path}`;
    const { clock, timeout = 60_000, mostBytes = 256 * 1024 * 1024 } = this.#options;
    using scope = new DisposableStack();
    const lease = scope.use(this.#clients.use(opts.expectStream ? "watch" : "request", credentials.tls));
    const abort = new AbortController(), sent = clock.monotonic();
    const distrust = () => {
      lease.retire();
      if (!opts.expectStream) this.#silentSince ??= sent;
    };
    const stop = () => {
      if (opts.abortSignal?.reason instanceof SilentError) distrust();
      abort.abort(opts.abortSignal?.reason);
    };
    opts.abortSignal?.addEventListener("abort", stop, { once: true });
    scope.defer(() => opts.abortSignal?.removeEventListener("abort", stop));
    const permitted = this.#options.permit?.(), forbid = () => abort.abort(permitted?.reason);
    permitted?.addEventListener("abort", forbid, { once: true });
    scope.defer(() => permitted?.removeEventListener("abort", forbid));
    using _timer = clock.timer(timeout, () => {
      // The peer may be gone without a word: then this connection is good for nothing.
      distrust();
      abort.abort(
        new ConnectionError(`Cannot ${request}: no answer within ${timeout / 1000} s`, { passing: false }),
      );
    });
    const { fetch: send = fetch } = this.#options, { client } = lease;
    const headers = this.#headersOf(opts, credentials);
    const stream = opts.expectStream && scope.use(this.#streams.add({
      client,
      end: () => {
        lease.retire();
        abort.abort(new SilentError(`Cannot ${request}: the server was out of reach`));
      },
      ask: async (signal) => {
        const answer = await send(`${this.#base}/livez`, { headers, redirect: "manual", signal, client });
        await answer.body?.cancel();
      },
    }));
    try {
      const response = await send(this.#urlOf(opts), {
        method: opts.method,
        headers,
        body: (opts.bodyStream ?? opts.bodyRaw ??
          (opts.bodyJson === undefined ? null : JSON.stringify(opts.bodyJson))) as BodyInit | null,
        redirect: "manual",
        signal: abort.signal,
        client,
      });
      this.#warn(response);
      if (!opts.expectStream) this.#reached();
      if (!response.ok) throw await answerFailure(request, response, clock.now());
      if (stream) {
        const release = scope.move(), { heard } = stream;
        heard();
        const bytes = tellingStream(request, response.body, abort, { heard, ended: () => release.dispose() });
        return opts.expectJson ? jsonLines(bytes) : bytes;
      }
      const body = await readBody(request, response, mostBytes);
      return opts.expectJson ? decodeJson(request, body) : body;
    } catch (error) {
      if (error instanceof KubeError) throw error;
      throw abort.signal.aborted
        ? abort.signal.reason
        : ConnectionError.from(request, error, this.#cluster.name);
    }
  }

  /**
   * The server answers again: streams by whose connections nothing has come meanwhile are likely to be as dead as the one that was
   * given up, though nobody told. TCP would find out after as long again as it was away, or never.
   */
  #reached(): void {
    const since = this.#silentSince;
    if (since === undefined) return;
    this.#silentSince = undefined;
    this.#streams.endSilent(since);
  }

  /** A path has no query, whatever is in a name. */
  #urlOf({ path, querystring }: RequestOptions): string {
    const query = `${querystring ?? ""}`;
    return this.#base + path.replace(/[?#]/g, encodeURIComponent) + (query && `?${query}`);
  }

  #headersOf(opts: RequestOptions, { authorization }: Credentials): { readonly [name: string]: string } {
    const { version, component } = this.#options;
    const accept = opts.accept ?? (opts.expectJson ? "application/json" : undefined);
    const contentType = opts.contentType ?? (opts.bodyJson === undefined ? undefined : "application/json");
    return {
      "user-agent": `gatehouse/${version} (${component})`,
      // Packing lists takes a server longer than sending them.
      "accept-encoding": "identity",
      ...accept && { accept },
      ...contentType && { "content-type": contentType },
      ...authorization && { authorization },
    };
  }

  /** Logs what the server warns of, such as a deprecated version. RFC 7234, 5.5. */
  #warn(response: Response): void {
    const header = response.headers.get("warning");
    if (!header) return;
    for (const [, text = ""] of header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
      if (this.#warnings.has(text) || this.#warnings.size >= 1000) continue;
      this.#warnings.add(text);
      this.#log.warn("The API server warns", { warning: text.replace(/\\(.)/g, "$1") });
    }
  }

  [Symbol.dispose](): void {
    this.#clients[Symbol.dispose]();
    this.#cluster.close?.().catch((error) => this.#log.debug("Cannot close the cluster", { error }));
  }

  close(): void {
    this[Symbol.dispose]();
  }

  get<T extends ApiObject>(kind: Kind<T>, name: Name, signal?: AbortSignal): Promise<T> {
    return this.#json({ method: "GET", path: this.#pathOf(kind, name) }, signal);
  }

  create<T extends ApiObject>(kind: Kind<T>, object: Draft, signal?: AbortSignal): Promise<T> {
    const { namespace } = object.metadata;
    const path = pathOf(kind, { namespace, version: versionIn(object) });
    return this.#json({ method: "POST", path, bodyJson: object as unknown as JSONValue }, signal);
  }

  apply<T extends ApiObject>(
    kind: Kind<T>,
    object: T,
    options: { readonly fieldManager: string; readonly force?: boolean; readonly signal?: AbortSignal },
  ): Promise<T> {
    const { fieldManager, force } = options;
    return this.#json({
      method: "PATCH",
      path: pathOf(kind, { ...placeOf(object.metadata), version: versionIn(object) }),
      querystring: new URLSearchParams({ fieldManager, ...(force ? { force: "true" } : {}) }),
      contentType: "application/apply-patch+yaml",
      bodyJson: object as unknown as JSONValue,
    }, options.signal);
  }

  patch<T extends ApiObject>(
    kind: Kind<T>,
    name: Name,
    operations: readonly PatchOperation[],
    options: PatchOptions = {},
  ): Promise<T> {
    return this.#json({
      method: "PATCH",
      path: this.#pathOf(kind, name, options),
      contentType: "application/json-patch+json",
      bodyJson: operations as unknown as JSONValue,
    }, options.signal);
  }

  async delete(
    kind: Kind,
    name: Name,
    options: {
      readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
      readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<void> {
    const { signal, ...rest } = options;
    await this.#json({
      method: "DELETE",
      path: this.#pathOf(kind, name),
      bodyJson: { apiVersion: "v1", kind: "DeleteOptions", ...rest },
    }, signal);
  }

  #pathOf(kind: Kind, name: Name, { subresource, version }: PatchOptions = {}): string {
    return pathOf(kind, {
      ...placeOf(name),
      subresource,
      version: version ?? this.#options.versionOf?.(kind),
    });
  }

  async #json<T>(opts: RequestOptions, signal: AbortSignal | undefined): Promise<T> {
    const answer = await (this as RestClient).performRequest({
      ...opts,
      expectJson: true,
      ...(signal ? { abortSignal: signal } : {}),
    });
    return answer as T;
  }
}

function placeOf({ namespace, name }: Name): Name {
  return namespace === undefined ? { name } : { namespace, name };
}

function versionIn(object: ApiObject): string {
  return object.apiVersion.slice(object.apiVersion.indexOf("/") + 1);
}
