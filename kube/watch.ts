/**
 * A kind of object, watched for ever.
 *
 * @module
 */
import type { RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import { type ApiObject, keyOf, type Kind } from "../crds/kind.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Log, silentLog } from "../controllers/runtime/log.ts";
import { linkSignals } from "../controllers/runtime/signals.ts";
import { Backoff } from "./backoff.ts";
import { isStatus, type KubeError } from "./errors.ts";
import { list, type Listing, type Selection } from "./list.ts";
import { trim as trimAway } from "./trim.ts";
import type { WatchEvent } from "./types.ts";
import { type Change, MalformedEventError, watchStream } from "./watch_stream.ts";

/** How a watch is doing. */
export type WatchHealth =
  | { readonly state: "watching" }
  /** The server does not have this kind (yet): there are no objects. */
  | { readonly state: "absent" }
  /** We may not list it, and have never done: nothing is known. */
  | { readonly state: "denied"; readonly error: Error }
  /** What was known stays. */
  | { readonly state: "failing"; readonly error: Error };

export interface WatchOptions<T extends ApiObject> extends Omit<Selection, "version"> {
  readonly clock: Clock;
  readonly log?: Log;
  /** The version to ask for, by default the storage version. A function is asked before each request; `undefined` means not served. */
  readonly version?: string | (() => string | undefined);
  /** Applied to each object on arrival; by default without `managedFields` and the copy of `kubectl apply`. */
  readonly trim?: (object: T) => T;
  /** Told whenever the state changes. */
  readonly health?: (health: WatchHealth) => void;
  /** Resolves when the kind may have been installed, in whatever version; it is looked for now and then anyway. */
  readonly installed?: (signal: AbortSignal) => Promise<void>;
  /**
   * Told when the server has nothing in the version that was asked for, so that it is looked up anew which one is served. If absent,
   * the server is believed that there is no such kind.
   */
  readonly doubted?: () => void;
  /** Where it is denied, it is asked for again after so many milliseconds; as after any failure if absent. */
  readonly denied?: number | undefined;
  /** From 0 to 1; for tests. */
  readonly random?: () => number;
  readonly signal: AbortSignal;
}

/** All in milliseconds. Bookmarks come about every minute, from servers that send them. */
const times = { firstDelay: 800, longestDelay: 30_000, healthy: 120_000, absent: 30_000, silence: 180_000 };

/**
 * Yields all objects of a kind as one `replace`, then every change, and so on for ever: it ends when `signal` is aborted, and
 * never fails. After a break it resumes where it was; if the server has forgotten that place (410), another `replace` tells
 * everything anew. An object whose resource version has not changed is not told again, and in a `replace` it is the very
 * same value as before.
 */
export async function* watch<T extends ApiObject>(
  client: RestClient,
  kind: Kind<T>,
  options: WatchOptions<T>,
): AsyncGenerator<WatchEvent<T>> {
  yield* new Watch(client, kind, options).run();
}

class Watch<T extends ApiObject> {
  readonly #client: RestClient;
  readonly #kind: Kind<T>;
  readonly #options: WatchOptions<T>;
  readonly #log: Log;
  readonly #trim: (object: T) => T;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  /** What the consumer knows. */
  #known = new Map<string, T>();
  /** How far we are; `undefined` means that everything has to be listed. */
  #resourceVersion: string | undefined;
  /** What the consumer was told all of: a list, or that there is nothing. */
  #told: "list" | "absence" | undefined;
  #bookmarks = false;
  /** Whether the last list has not led to anything yet. */
  #justListed = false;
  #state: WatchHealth["state"] | undefined;

  constructor(client: RestClient, kind: Kind<T>, options: WatchOptions<T>) {
    this.#client = client;
    this.#kind = kind;
    this.#options = options;
    this.#log = (options.log ?? silentLog).with({ watch: kind.plural });
    this.#trim = options.trim ?? trimAway;
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff({
      clock: options.clock,
      first: times.firstDelay,
      most: times.longestDelay,
      reset: times.healthy,
      random: this.#random,
    });
  }

  async *run(): AsyncGenerator<WatchEvent<T>> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      const version = this.#version();
      let pause: number | undefined;
      try {
        if (version === undefined) {
          pause = yield* this.#absent();
        } else {
          if (this.#resourceVersion === undefined) yield this.#replace(await this.#list(version));
          pause = yield* this.#follow(version, this.#resourceVersion ?? "");
        }
      } catch (error) {
        if (signal.aborted) return;
        pause = isStatus(error, 404) ? yield* this.#missing(error) : this.#failed(error);
      }
      if (pause !== undefined) await this.#pause(pause);
    }
  }

  #version(): string | undefined {
    const { version = this.#kind.versions[0].name } = this.#options;
    return typeof version === "string" ? version : version();
  }

  #list(version: string): Promise<Listing<T>> {
    const { namespace, labelSelector, fieldSelector, metadataOnly, signal } = this.#options;
    return list(this.#client, this.#kind, {
      version,
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly,
      signal,
      trim: this.#trim,
    });
  }

  #replace(listing: Listing<T>): WatchEvent<T> {
    const known = new Map<string, T>();
    for (const object of listing.objects) {
      const key = keyOf(object);
      const before = this.#known.get(key);
      known.set(key, before && sameVersion(before, object) ? before : object);
    }
    this.#known = known;
    this.#told = "list";
    this.#justListed = true;
    this.#resourceVersion = listing.resourceVersion;
    return { type: "replace", objects: [...known.values()] };
  }

  /** Tells what one stream tells. Returns how long to wait before the next one, if at all. */
  async *#follow(
    version: string,
    resourceVersion: string,
  ): AsyncGenerator<WatchEvent<T>, number | undefined> {
    const { namespace, labelSelector, fieldSelector, metadataOnly, clock, signal } = this.#options;
    const begun = clock.monotonic();
    let heard = false;
    const stream = watchStream(this.#client, this.#kind, {
      version,
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly,
      clock,
      signal,
      resourceVersion,
      // At random, so that the watches of many replicas do not end all at once.
      timeoutSeconds: Math.floor(300 + 300 * this.#random()),
      silence: times.silence,
      bookmarks: this.#bookmarks,
      opened: () => {
        this.#backoff.healthy();
        this.#tell({ state: "watching" });
      },
    });
    for await (const change of stream) {
      heard = true;
      this.#justListed = false;
      const event = this.#learn(change);
      // Only now: whoever stops in the middle is told again.
      this.#resourceVersion = change.resourceVersion;
      if (event) yield event;
    }
    if (heard || clock.monotonic() - begun >= 1000) return undefined;
    // A server, or something before it, that ends every stream at once.
    return this.#backoff.failed();
  }

  #learn(change: Change<T>): WatchEvent<T> | undefined {
    if (change.type === "BOOKMARK") {
      this.#bookmarks = true;
      return undefined;
    }
    const key = keyOf(change.object);
    const before = this.#known.get(key);
    if (change.type === "DELETED") {
      return this.#known.delete(key) ? { type: "delete", object: this.#trim(change.object) } : undefined;
    }
    if (before && sameVersion(before, change.object)) return undefined;
    const object = this.#trim(change.object);
    this.#known.set(key, object);
    return { type: "set", object };
  }

  /**
   * A 404 may be about this version alone, or come from something before the server: a kind has gone once no version of it is served.
   * Returns how long to wait before the next try.
   */
  async *#missing(error: KubeError): AsyncGenerator<WatchEvent<T>, number | undefined> {
    const { doubted } = this.#options;
    if (!doubted) return yield* this.#absent();
    this.#resourceVersion = undefined;
    doubted();
    return this.#failed(error);
  }

  /** A kind that is not served has no objects. Returns how long to wait before looking again. */
  async *#absent(): AsyncGenerator<WatchEvent<T>, number> {
    this.#tell({ state: "absent" });
    this.#resourceVersion = undefined;
    if (this.#told !== "absence") {
      this.#told = "absence";
      this.#known.clear();
      yield { type: "replace", objects: [] };
    }
    return times.absent * (1 - this.#random() / 2);
  }

  /** Returns how long to wait before the next try, if at all. */
  #failed(error: unknown): number | undefined {
    const cause = error instanceof Error ? error : new Error(String(error));
    if (isStatus(error, 410)) {
      this.#resourceVersion = undefined;
      this.#log.debug("Listing again", { error: cause });
      // Once at once; a server that forgets so fast that a list is always too old is not to be hurried.
      return this.#justListed ? this.#backoff.failed() : undefined;
    }
    if (error instanceof MalformedEventError) this.#resourceVersion = undefined;
    // What was listed once was allowed: rights that are being replaced are no reason to forget it.
    const state = isStatus(error, 403) && this.#told !== "list" ? "denied" : "failing";
    // The consumer may go on with something of its own, which is to be replaced whatever comes.
    if (state === "denied") this.#told = undefined;
    if (this.#state === state) this.#log.debug("Still cannot watch", { error: cause });
    else this.#log.warn("Cannot watch", { error: cause });
    this.#tell({ state, error: cause });
    const delay = this.#backoff.failed(), { denied } = this.#options;
    return state === "denied" ? denied ?? delay : delay;
  }

  #tell(health: WatchHealth): void {
    if (this.#state === health.state) return;
    if (health.state === "absent") this.#log.info("Not installed");
    else if (health.state === "watching" && this.#state !== undefined) {
      this.#log.info(this.#state === "absent" ? "Installed" : "Watching again");
    }
    this.#state = health.state;
    this.#options.health?.(health);
  }

  async #pause(milliseconds: number): Promise<void> {
    const { clock, installed, signal } = this.#options;
    const woken = new AbortController();
    using linked = linkSignals(signal, woken.signal);
    const until = linked.signal;
    try {
      installed?.(until).then(() => woken.abort(), () => {});
      await clock.sleep(milliseconds, { signal: until });
    } catch (error) {
      if (!until.aborted) throw error;
    } finally {
      woken.abort();
    }
  }
}

function sameVersion(a: ApiObject, b: ApiObject): boolean {
  const { uid, resourceVersion } = a.metadata;
  return resourceVersion !== undefined && resourceVersion === b.metadata.resourceVersion &&
    uid === b.metadata.uid && a.apiVersion === b.apiVersion;
}
