/**
 * Tells people what happened to their objects: Events, as `kubectl describe` and `kubectl events` show them.
 *
 * @module
 */
import type { MicroTime, RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import type { ObjectReference } from "@cloudydeno/kubernetes-apis/core/v1";
import { type Event, EventsV1Api } from "@cloudydeno/kubernetes-apis/events.k8s.io/v1";
import type { ApiObject } from "../crds/kind.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Log, silentLog } from "../controllers/runtime/log.ts";
import { linkSignals } from "../controllers/runtime/signals.ts";
import { isStatus } from "./errors.ts";
import { microTime } from "./micro_time.ts";

/** Something that happened. */
export interface Occurrence {
  readonly regarding: ApiObject;
  readonly type: "Normal" | "Warning";
  /** Why, in one word of CamelCase: `NoAddress`. */
  readonly reason: string;
  /** What was being done, in one word of CamelCase: `Program`. */
  readonly action: string;
  /** A sentence. */
  readonly note: string;
  readonly related?: ApiObject;
}

export interface RecorderOptions {
  readonly clock: Clock;
  readonly log?: Log;
  /** Who reports: the controller's name. */
  readonly controller: string;
  /** Which of its instances: the pod's name. */
  readonly instance: string;
  /** Makes names unique; for tests. */
  readonly id?: () => string;
}

/** Past these an Event is not sent: it would rather be lost than hold anything up. */
const bounds = {
  /** Waiting to be sent. */
  queue: 500,
  /** Remembered, to tell repetitions. */
  series: 1000,
  /** Tries to send one. */
  tries: 5,
  /** Events about one object at once; then one every five minutes. As client-go has it. */
  burst: 25,
};

/** In milliseconds. */
const times = {
  /** After so long without repetition, the next is a new event. As client-go has it. */
  series: 6 * 60_000,
  /** Between two updates of a series. */
  update: 60_000,
  refill: 5 * 60_000,
  firstRetry: 1000,
};

/** An event, and how often it happened. */
interface Series {
  readonly key: string;
  readonly namespace: string;
  readonly event: Event;
  /** The name under which the server has it, once it does. */
  name?: string;
  count: number;
  lastObserved: MicroTime;
  lastSeen: number;
  /** When it was last sent, and how many it told of then. */
  sentAt: number;
  sentCount: number;
  queued: boolean;
}

/** Collects what happens, at once and without ever failing, and sends it when there is time. */
export class EventRecorder {
  readonly #api: EventsV1Api;
  readonly #options: RecorderOptions;
  readonly #log: Log;
  /** In the order of their last repetition. */
  readonly #series = new Map<string, Series>();
  readonly #queue: Series[] = [];
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  #wake = Promise.withResolvers<void>();
  #dropped = 0;

  constructor(client: RestClient, options: RecorderOptions) {
    this.#api = new EventsV1Api(client);
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  /** How many occurrences were not told, because there were too many. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Notes an occurrence. A repetition is counted in the Event that there is. */
  record(occurrence: Occurrence): void {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const key = keyOf(occurrence);
    let series = this.#series.get(key);
    if (series && now - series.lastSeen < times.series) {
      series.count++;
      series.lastObserved = microTime(this.#options.clock);
      series.lastSeen = now;
    } else {
      if (!this.#takeToken(occurrence.regarding, now)) {
        this.#dropped++;
        return;
      }
      series = this.#begin(key, occurrence, now);
    }
    // To the end, so that the first is always the one that has been quiet for longest.
    this.#series.delete(key);
    this.#series.set(key, series);
    if (this.#series.size > bounds.series) this.#series.delete(this.#series.keys().next().value!);
    this.#enqueue(series, now);
  }

  /** Sends until the signal is aborted. Never fails. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const series = this.#queue.shift();
      if (series) {
        series.queued = false;
        await this.#send(series, signal);
        continue;
      }
      const wake = new AbortController();
      this.#wake.promise.then(() => wake.abort());
      using linked = linkSignals(signal, wake.signal);
      const until = linked.signal;
      await clock.sleep(times.update, { signal: until }).catch(() => {});
      this.#sweep(clock.monotonic());
    }
  }

  #begin(key: string, occurrence: Occurrence, now: number): Series {
    const { controller, instance } = this.#options;
    const { regarding, related, type, reason, action, note } = occurrence;
    const event: Event = {
      eventTime: microTime(this.#options.clock),
      reportingController: controller,
      reportingInstance: shorten(instance, 128),
      reason: shorten(reason, 128),
      action: shorten(action, 128),
      note: shorten(note, 1024),
      type,
      regarding: referenceTo(regarding),
      ...(related ? { related: referenceTo(related) } : {}),
    };
    // Events about objects without namespace are kept where kubectl looks for them.
    const namespace = regarding.metadata.namespace ?? "default";
    const lastObserved = event.eventTime;
    return {
      key,
      namespace,
      event,
      count: 1,
      lastObserved,
      lastSeen: now,
      sentAt: -Infinity,
      sentCount: 0,
      queued: false,
    };
  }

  #enqueue(series: Series, now: number): void {
    const { sentCount, count } = series;
    // The first repetition is news, the others are told now and then.
    const due = sentCount < 2 || now - series.sentAt >= times.update;
    if (series.queued || count === sentCount || !due) return;
    if (this.#queue.length >= bounds.queue) {
      this.#dropped++;
      return;
    }
    series.queued = true;
    this.#queue.push(series);
    this.#wake.resolve();
  }

  /** Queues what has been counted but not told, and forgets what has ended. */
  #sweep(now: number): void {
    this.#wake = Promise.withResolvers();
    for (const series of this.#series.values()) {
      this.#enqueue(series, now);
      if (now - series.lastSeen >= times.series && !series.queued) this.#series.delete(series.key);
    }
    for (const [name, { at }] of this.#buckets) {
      if (now - at >= times.refill * bounds.burst) this.#buckets.delete(name);
    }
  }

  async #send(series: Series, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let tries = 1; !signal.aborted; tries++) {
      const { count } = series;
      try {
        await this.#sendOnce(series, signal);
        series.sentCount = count;
        series.sentAt = clock.monotonic();
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (isStatus(error, 404) && series.name !== undefined) {
          // It has expired on the server: tell it as a new one.
          delete series.name;
          continue;
        }
        // The namespace is going, or we may not: trying again does not help.
        if (isStatus(error, 400, 403, 404, 422)) {
          this.#log.warn("Cannot record an event", { error });
          series.sentCount = count;
          return;
        }
        if (tries === bounds.tries) {
          this.#log.warn("Cannot record an event", { error });
          this.#dropped++;
          return;
        }
        await clock.sleep(times.firstRetry * 2 ** (tries - 1), { signal }).catch(() => {});
      }
    }
  }

  async #sendOnce(series: Series, abortSignal: AbortSignal): Promise<void> {
    const api = this.#api.namespace(series.namespace);
    const { count, lastObserved } = series;
    if (series.name !== undefined) {
      const value = { count, lastObservedTime: lastObserved.toISOString() };
      await api.patchEvent(series.name, "json-patch", [{ op: "add", path: "/series", value }], {
        abortSignal,
      });
      return;
    }
    const { id = randomId } = this.#options;
    // The name of an object, and so of an event, is plain ASCII.
    const name = `${(series.event.regarding?.name ?? "").slice(0, 200)}.${id()}`;
    await api.createEvent({
      ...series.event,
      metadata: { name, namespace: series.namespace },
      ...(count > 1 ? { series: { count, lastObservedTime: lastObserved } } : {}),
    }, { abortSignal });
    series.name = name;
  }

  #takeToken({ metadata, kind }: ApiObject, now: number): boolean {
    const name = `${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
    const before = this.#buckets.get(name) ?? { tokens: bounds.burst, at: now };
    const tokens = Math.min(bounds.burst, before.tokens + (now - before.at) / times.refill);
    const granted = tokens >= 1;
    this.#buckets.set(name, { tokens: granted ? tokens - 1 : tokens, at: now });
    return granted;
  }
}

function keyOf({ regarding, related, type, reason, action, note }: Occurrence): string {
  return JSON.stringify(
    [referenceTo(regarding), related && referenceTo(related), type, reason, action, note],
    (
      key,
      value,
    ) => key === "resourceVersion" ? undefined : value,
  );
}

function referenceTo({ apiVersion, kind, metadata }: ApiObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** The server refuses longer fields. `most` counts bytes. */
function shorten(text: string, most: number): string {
  const ellipsis = "…";
  const encoder = new TextEncoder();
  if (encoder.encode(text).length <= most) return text;
  // Writes whole characters only.
  const { read } = encoder.encodeInto(text, new Uint8Array(most - encoder.encode(ellipsis).length));
  return text.slice(0, read) + ellipsis;
}

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(8)).toHex();
}
