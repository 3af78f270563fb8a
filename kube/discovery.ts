/**
 * Which of our kinds the API server has, and in which versions.
 *
 * @module
 */
import type { RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import type { Kind } from "../crds/kind.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Log, silentLog } from "../controllers/runtime/log.ts";
import { linkSignals } from "../controllers/runtime/signals.ts";
import { Backoff } from "./backoff.ts";
import { isStatus } from "./errors.ts";

export interface DiscoveryOptions {
  readonly clock: Clock;
  readonly log?: Log;
  /** How often to look again, in milliseconds; a minute by default. */
  readonly every?: number;
}

/** How long after a poke to look again, in milliseconds. */
const soon = 1000;

/** Where the kinds are that need no installation. */
const core = "/api/v1";

interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly verbs?: readonly string[];
  }[];
}

/** Looks for kinds, at first and then again and again: they come and go with their CRDs. */
export class Discovery {
  readonly #client: RestClient;
  readonly #kinds: readonly Kind[];
  readonly #options: DiscoveryOptions;
  readonly #log: Log;
  /** Versions of ours that are served, by kind (`plural.group`). */
  #served: ReadonlyMap<string, readonly string[]> = new Map();
  readonly #waiting = new Set<() => void>();
  #poke = new AbortController();

  constructor(client: RestClient, kinds: readonly Kind[], options: DiscoveryOptions) {
    this.#client = client;
    this.#kinds = kinds;
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  /** The version of a kind to speak: its storage version if that is served, else the first of ours that is. */
  versionOf(kind: Kind): string | undefined {
    return this.#served.get(nameOf(kind))?.[0];
  }

  /** All versions of ours that are served. */
  versionsOf(kind: Kind): readonly string[] {
    return this.#served.get(nameOf(kind)) ?? [];
  }

  /** Resolves when the answers change; rejects with the signal's reason if that comes first. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const tell = () => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const stop = () => {
        this.#waiting.delete(tell);
        reject(signal.reason);
      };
      this.#waiting.add(tell);
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  /** Asks {@linkcode Discovery.run} to look soon: something points to a change, such as a CRD that came. */
  poke(): void {
    this.#poke.abort();
  }

  /**
   * Looks once. Resolves with whether anything has changed.
   *
   * @throws {KubeError} or {ConnectionError} if the server does not say; what was known stays.
   */
  async refresh(signal?: AbortSignal): Promise<boolean> {
    const resources = new Map<string, Promise<ReadonlyMap<string, string>>>();
    for (const kind of this.#kinds) {
      for (const version of kind.versions) {
        const path = rootOf(kind, version.name);
        if (!resources.has(path)) resources.set(path, this.#resourcesAt(path, signal));
      }
    }
    // All of them first: half an answer must not look like kinds that have gone.
    await Promise.all(resources.values());
    const served = new Map<string, readonly string[]>();
    for (const kind of this.#kinds) {
      const versions: string[] = [];
      for (const { name } of kind.versions) {
        const found = await resources.get(rootOf(kind, name));
        if (found?.get(kind.plural) === kind.kind) versions.push(name);
      }
      served.set(nameOf(kind), versions);
    }
    const before = this.#served;
    const changed = [...served].filter(([kind, versions]) => `${versions}` !== `${before.get(kind) ?? []}`);
    if (changed.length === 0) return false;
    this.#served = served;
    this.#log.info("Served kinds have changed", { kinds: Object.fromEntries(changed) });
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const tell of waiting) tell();
    return true;
  }

  /** Looks until the server has answered once, however long that takes. Rejects only when the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const backoff = new Backoff({ clock, first: 800, most: 30_000, reset: 120_000 });
    for (;;) {
      try {
        await this.refresh(signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        this.#log.warn("Cannot find out which kinds are served, trying again", { error });
        await clock.sleep(backoff.failed(), { signal });
      }
    }
  }

  /**
   * Looks every minute, and when poked, until the signal is aborted. Never fails. After a poke it looks twice: the server, too,
   * takes a moment before it serves what has come. While it fails it looks less and less often, however many poke.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, every = 60_000 } = this.#options;
    const backoff = new Backoff({ clock, first: soon, most: 30_000, reset: 0 });
    let wait = every, rested = clock.monotonic();
    while (!signal.aborted) {
      {
        using linked = linkSignals(signal, this.#poke.signal);
        const until = linked.signal;
        await clock.sleep(wait, { signal: until }).catch(() => {});
      }
      const rest = rested - clock.monotonic();
      if (rest > 0) await clock.sleep(rest, { signal }).catch(() => {});
      if (signal.aborted) return;
      wait = this.#poke.signal.aborted ? soon : every;
      // Who pokes from here on wants it looked at once more.
      this.#poke = new AbortController();
      try {
        await this.refresh(signal);
        backoff.healthy();
      } catch (error) {
        rested = clock.monotonic() + backoff.failed();
        if (!signal.aborted) this.#log.warn("Cannot find out which kinds are served", { error });
      }
    }
  }

  /** The plurals and kinds that can be watched; none if the group or version does not exist. */
  async #resourcesAt(path: string, signal: AbortSignal | undefined): Promise<ReadonlyMap<string, string>> {
    try {
      const list = await this.#client.performRequest({
        method: "GET",
        path,
        expectJson: true,
        ...(signal ? { abortSignal: signal } : {}),
      }) as ResourceList | undefined;
      return new Map(
        (list?.resources ?? []).filter(({ verbs }) => verbs?.includes("watch")).map((
          { name, kind },
        ) => [name, kind]),
      );
    } catch (error) {
      // Each API server has this one: it must be something before it that answers.
      if (isStatus(error, 404) && path !== core) return new Map();
      throw error;
    }
  }
}

function nameOf(kind: Kind): string {
  return `${kind.plural}.${kind.group}`;
}

function rootOf(kind: Kind, version: string): string {
  return kind.group ? `/apis/${kind.group}/${version}` : `/api/${version}`;
}
