/**
 * Watches: each follows the store's history with a cursor of its own, at the pace of its reader.
 *
 * Nothing is queued for a watcher; one that falls behind what is remembered gets 410, as after any other gap. What an
 * event looks like on the wire is made once for all who get it in the same form.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { WatchFaults } from "./faults.ts";
import type { Encoder } from "./represent.ts";
import type { ListOptions } from "./request.ts";
import { expired, forbiddenOption, type Status, tooLargeResourceVersion } from "./status.ts";
import type { Row, Store, StoreEvent } from "./store.ts";

export interface Watching {
  readonly store: Store;
  readonly clock: Clock;
  readonly faults: WatchFaults;
}

export interface WatchTarget {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly encoder: Encoder;
  /** What is the same for all watches that may share bytes. */
  readonly version: string;
  readonly options: ListOptions;
}

type EventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

/** What one watch is told of one change. */
export interface Notice {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly row: Row;
}

const bookmarkInterval = 60_000;
const text = new TextEncoder();

const frame = (type: EventType, object: string): Uint8Array =>
  text.encode(`{"type":"${type}","object":${object}}\n`);

/** Bytes of notices in the plain form. */
const frames = new WeakMap<Row, Map<string, Uint8Array>>();

function encode(target: WatchTarget, { type, row }: Notice): Uint8Array {
  // Each object is a whole answer of its own, which for a Table is not what it is in a list.
  if (!target.encoder.shared) return frame(type, target.encoder.one(row.object));
  let byForm = frames.get(row);
  if (!byForm) frames.set(row, byForm = new Map());
  const id = `${target.version} ${type}`;
  let bytes = byForm.get(id);
  if (!bytes) byForm.set(id, bytes = frame(type, target.encoder.item(row)));
  return bytes;
}

/** What a change means to a watch with this selector; `undefined` if nothing. */
export function noticeOf(event: StoreEvent, target: WatchTarget): Notice | undefined {
  const { row, previous, type } = event;
  if (row.resource !== target.resource) return undefined;
  if (target.namespace !== undefined && row.object.metadata.namespace !== target.namespace) return undefined;
  const { selector } = target.options;
  if (selector.everything) return { type, row };
  const before = previous !== undefined && selector.matches(previous.object);
  const after = type !== "DELETED" && selector.matches(row.object);
  if (after) return { type: before ? "MODIFIED" : "ADDED", row };
  if (!before) return undefined;
  return { type: "DELETED", row: type === "DELETED" ? row : departed(previous, event.revision) };
}

/** The state in which an object was last seen by those who no longer see it, at the revision at which it left. */
const departures = new WeakMap<Row, Row>();

function departed(previous: Row, revision: number): Row {
  let row = departures.get(previous);
  if (!row) {
    const { metadata } = previous.object;
    const object = { ...previous.object, metadata: { ...metadata, resourceVersion: String(revision) } };
    row = { ...previous, revision, object, json: JSON.stringify(object) };
    departures.set(previous, row);
  }
  return row;
}

function errorFrame(status: Status): Uint8Array {
  return frame("ERROR", JSON.stringify(status));
}

/**
 * Checks what a watch asks for.
 *
 * @throws {ApiError} 400, or 504 for a revision that is yet to come
 */
export function checkWatch(store: Store, options: ListOptions): void {
  if (options.initialEvents !== undefined) {
    if (options.match !== "NotOlderThan") {
      throw forbiddenOption(
        "ListOptions",
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
      );
    }
  } else if (options.match !== undefined) {
    throw forbiddenOption(
      "ListOptions",
      "resourceVersionMatch",
      "a watch takes it with sendInitialEvents alone",
    );
  }
  const wanted = Number(options.resourceVersion || "0");
  if (wanted > store.revision) throw tooLargeResourceVersion(wanted, store.revision);
}

/** A watch that is to break off, by a fault. */
export class CutError extends Error {
  override readonly name = "CutError";
}

/** The frames of a watch; ends after its timeout, or when `signal` is aborted. */
export async function* watch(
  { store, clock, faults }: Watching,
  target: WatchTarget,
  signal: AbortSignal,
): AsyncGenerator<readonly Uint8Array[], void, void> {
  const { options, encoder } = target;
  const wanted = Number(options.resourceVersion || "0");
  const initial = options.initialEvents ?? wanted === 0;
  let seen = store.revision;

  if (initial) {
    const rows = store.rows(target.resource, target.namespace)
      .filter((row) => options.selector.everything || options.selector.matches(row.object));
    for (let i = 0; i < rows.length && !signal.aborted; i += 500) {
      yield rows.slice(i, i + 500).map((row) => encode(target, { type: "ADDED", row }));
    }
    if (options.initialEvents && options.bookmarks) {
      yield [frame(
        "BOOKMARK",
        encoder.bookmark({
          resourceVersion: String(seen),
          annotations: { "k8s.io/initial-events-end": "true" },
        }),
      )];
    }
  } else if (wanted > 0) seen = wanted;

  // Kubernetes ends a watch after 30 to 60 minutes, at random.
  const life = (options.timeout ?? 0) > 0 ? options.timeout! * 1000 : (1 + Math.random()) * 30 * 60_000;
  const ends = clock.monotonic() + life;
  let bookmarkAt = clock.monotonic() + bookmarkInterval;

  while (!signal.aborted) {
    if (faults.cuts(target.resource)) throw new CutError();
    if (seen < store.compacted || faults.expires(target.resource)) {
      yield [errorFrame(expired(`too old resource version: ${seen} (${store.compacted + 1})`).status)];
      return;
    }
    if (store.revision > seen) {
      const delay = faults.mergeDelay(target.resource);
      if (delay > 0) await pause(clock, delay, signal);
      const events = store.eventsAfter(seen, 1000);
      seen = events.at(-1)!.revision;
      const notices = events.map((event) => noticeOf(event, target)).filter((notice) => notice !== undefined);
      const told = faults.tell(target.resource, notices);
      if (told.length > 0) yield told.map((notice) => encode(target, notice));
      continue;
    }
    const now = clock.monotonic();
    const ended = now >= ends;
    if (options.bookmarks && (ended || now >= bookmarkAt)) {
      yield [frame("BOOKMARK", encoder.bookmark({ resourceVersion: String(seen) }))];
      bookmarkAt = now + bookmarkInterval;
    }
    if (ended) return;
    await changedOr(
      store,
      clock,
      seen,
      Math.min(ends, options.bookmarks ? bookmarkAt : ends) - now,
      signal,
      faults,
    );
  }
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Waits for a change, at most `ms`, or until a fault is switched on. */
async function changedOr(
  store: Store,
  clock: Clock,
  revision: number,
  ms: number,
  signal: AbortSignal,
  faults: WatchFaults,
): Promise<void> {
  const wake = new AbortController();
  const stop = () => wake.abort();
  using _timer = clock.timer(Math.max(0, ms), stop);
  using _switch = faults.onSwitch(stop);
  signal.addEventListener("abort", stop);
  try {
    if (!signal.aborted) await store.changed(revision, wake.signal);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
