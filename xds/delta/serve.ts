/**
 * The delta ADS protocol as a transformation of streams: requests in, responses out.
 *
 * @module
 */
import type { GatewayKey } from "../../controllers/ir/mod.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import { linkSignals } from "../../controllers/runtime/signals.ts";
import { versionOfDraining } from "../build/draining.ts";
import type { XdsCache } from "../cache.ts";
import type { ProxyEvent } from "../types.ts";
import type { DeltaDiscoveryRequest } from "../wire/envoy/discovery.ts";
import { type DeltaResponse, DeltaStream, type Outcome, type Patience } from "./stream.ts";

/** What a proxy says about itself in its first request. */
export interface ProxyIdentity {
  /** The node's id. */
  readonly proxy: string;
  /** The node's cluster, which names the Gateway. */
  readonly gateway: GatewayKey;
}

/** A request that is not served, with the gRPC status that says so. */
export class RefusedError extends Error {
  override name = "RefusedError";
  constructor(
    readonly code: "INVALID_ARGUMENT" | "DEADLINE_EXCEEDED" | "PERMISSION_DENIED",
    message: string,
  ) {
    super(message);
  }
}

export interface ServeOptions {
  readonly clock: Clock;
  /** Decides whether the peer of this stream may be served as what it says it is. */
  readonly allows: (identity: ProxyIdentity) => boolean;
  readonly onEvent: (event: ProxyEvent) => void;
  /** How long to wait for the first request, in milliseconds; 10 seconds by default. */
  readonly introduction?: number;
  /** The stream ends after so many milliseconds, so that proxies spread over the replicas again. */
  readonly lifetime?: number;
  readonly patience?: Patience;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/**
 * Serves one stream: the responses to send, each once the one before it has been taken. Ends when the requests do, with the
 * signal and with the lifetime. Throws {@linkcode RefusedError} for a first request that is not to be served.
 */
export async function* serve(
  requests: AsyncIterable<DeltaDiscoveryRequest>,
  cache: XdsCache,
  options: ServeOptions,
): AsyncGenerator<DeltaResponse, void> {
  const { clock, onEvent, patience, introduction = 10_000, lifetime, signal } = options;
  const wake = new Wake();
  const stop = new AbortController();
  using linked = linkSignals(signal, stop.signal);
  const stopped = linked.signal;
  stopped.addEventListener("abort", () => wake.up(), { once: true });
  using expiry = lifetime === undefined ? undefined : clock.timer(lifetime, () => stop.abort());
  void expiry;

  const input = requests[Symbol.asyncIterator]();
  const first = await firstOf(input, { clock, introduction, signal: stopped });
  if (first === undefined) return;
  const identity = identify(first, options.allows);
  const { gateway, proxy } = identity;
  await unlessAborted(cache.complete(), stopped);
  if (stopped.aborted) return;
  using follower = cache.follow(gateway, proxy, (changed) => {
    stream.changed(changed);
    wake.up();
  });
  const stream = new DeltaStream(follower.resources, patience);

  const receive = (request: DeltaDiscoveryRequest): void => {
    for (const outcome of stream.receive(request)) {
      const told = asServed(outcome);
      if (told) onEvent({ ...told, proxy, gateway });
    }
    wake.up();
  };
  let failure: { readonly error: unknown } | undefined;
  const read = async (): Promise<void> => {
    try {
      for (;;) {
        const request = await nextUnless(input, stopped);
        if (request === undefined) break;
        receive(request);
      }
    } catch (error) {
      failure = { error };
    }
    stop.abort();
  };

  onEvent({ type: "connected", proxy, gateway, software: softwareOf(first) });
  receive(first);
  const reading = read();
  try {
    while (!stopped.aborted) {
      const response = stream.next(clock.monotonic());
      if (response) {
        yield response;
        continue;
      }
      const { deadline } = stream;
      using alarm = deadline === undefined
        ? undefined
        : clock.timer(Math.max(0, deadline - clock.monotonic()), () => wake.up());
      void alarm;
      await wake.next();
    }
    if (failure) throw failure.error;
  } finally {
    stop.abort();
    await reading;
    onEvent({ type: "disconnected", proxy, gateway });
  }
}

function identify(
  { node }: DeltaDiscoveryRequest,
  allows: (identity: ProxyIdentity) => boolean,
): ProxyIdentity {
  const identity = { proxy: node?.id ?? "", gateway: node?.cluster ?? "" };
  if (!identity.proxy || !identity.gateway) {
    throw new RefusedError("INVALID_ARGUMENT", "The first request must have a node with id and cluster");
  }
  if (!allows(identity)) {
    throw new RefusedError(
      "PERMISSION_DENIED",
      `Proxy "${identity.proxy}" may not read the configuration of Gateway "${identity.gateway}"`,
    );
  }
  return identity;
}

/** The outcome for what there really is: that a proxy drains is of no concern to those who ask what it has. */
function asServed(outcome: Outcome): Outcome | undefined {
  if (outcome.type === "listed") return outcome;
  const version = versionOfDraining(outcome.version ?? "");
  if (version === undefined) return outcome;
  return outcome.type === "acked" ? { ...outcome, version } : undefined;
}

function softwareOf({ node }: DeltaDiscoveryRequest): string {
  const { major_number = 0, minor_number = 0, patch = 0 } = node?.user_agent_build_version?.version ?? {};
  return `${node?.user_agent_name ?? "unknown"} ${major_number}.${minor_number}.${patch}`;
}

/** The first value. Throws {@linkcode RefusedError} if it takes too long. */
async function firstOf<T>(
  input: AsyncIterator<T>,
  options: { readonly clock: Clock; readonly introduction: number; readonly signal: AbortSignal },
): Promise<T | undefined> {
  const { clock, introduction, signal } = options, late = new AbortController();
  using either = linkSignals(signal, late.signal);
  using timer = clock.timer(introduction, () => late.abort());
  void timer;
  const first = await nextUnless(input, either.signal);
  if (first === undefined && late.signal.aborted) {
    throw new RefusedError("DEADLINE_EXCEEDED", `No request within ${introduction / 1000} s`);
  }
  return first;
}

/** The next value; undefined at the end, and once `signal` is aborted, be the next value ever so late. */
async function nextUnless<T>(input: AsyncIterator<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const result = await unlessAborted(input.next(), signal);
  return result === undefined || result.done ? undefined : result.value;
}

/** What comes of a promise; undefined if `signal` is aborted first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const aborted = Promise.withResolvers<undefined>();
  const abort = () => aborted.resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Waits for something to happen, which may already have. */
class Wake {
  #happened = false;
  #waiting: (() => void) | undefined;

  up(): void {
    this.#happened = true;
    this.#waiting?.();
    this.#waiting = undefined;
  }

  async next(): Promise<void> {
    if (!this.#happened) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting = resolve;
      await promise;
    }
    this.#happened = false;
  }
}
