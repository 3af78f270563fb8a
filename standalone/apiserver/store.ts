/**
 * The objects, their revisions and their recent history: what etcd is to kube-apiserver.
 *
 * Everything is in memory; the {@linkcode Database} makes it last. Writes are decided one after the other on the
 * newest state, flushed to disk in groups, and only then seen by readers and watchers.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import { type ApiObject, keyOf } from "../../crds/kind.ts";
import type { Change, ChangeType, Database } from "./database.ts";
import { at, made, parse, type Row, Rows } from "./rows.ts";

export type { Row } from "./rows.ts";

/** One change. `row` is the state after it; of a deleted object the last one, at the revision of the deletion. */
export interface StoreEvent {
  readonly revision: number;
  readonly type: ChangeType;
  readonly row: Row;
  readonly previous: Row | undefined;
}

export interface StoreOptions {
  /** How many events are kept for watches and paged lists. */
  readonly historyLength?: number;
  /** How much JSON, in UTF-16 code units, is kept for them. */
  readonly historySize?: number;
}

/** A commit that failed: the disk is full, say. Nothing of it has happened, and the next one may go well. */
export class WriteError extends Error {
  override readonly name = "WriteError";
  constructor(path: string, cause: unknown) {
    super(`Cannot write to database "${path}": ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

interface Pending {
  run(): void;
  settle(error?: unknown): void;
}

/** Reads and writes inside one decision of {@linkcode Store.write}. */
export interface Transaction {
  get(resource: string, key: string): Row | undefined;
  /** In order of their keys. */
  rows(resource: string, namespace?: string): Row[];
  /** Adds or replaces; gives the object its resourceVersion. */
  put(resource: string, object: ApiObject): Row;
  /** Does nothing if there is no such object. */
  delete(resource: string, key: string): Row | undefined;
}

export class Store implements Disposable {
  readonly #database: Database;
  readonly #historyLength: number;
  readonly #historySize: number;
  readonly #resources = new Map<string, Rows>();
  /** Events `#compacted + 1` to `#revision`, without gaps. */
  #events: StoreEvent[] = [];
  #eventsSize = 0;
  #compacted: number;
  #revision: number;
  #queue: Pending[] = [];
  #scheduled = false;
  #closed = false;
  readonly #listeners = new Set<(events: readonly StoreEvent[]) => void>();
  readonly #waiting = new Set<() => void>();

  /** Takes over `database` and reads it. */
  constructor(database: Database, options: StoreOptions = {}) {
    this.#database = database;
    this.#historyLength = options.historyLength ?? 10_000;
    this.#historySize = options.historySize ?? 64 * 1024 * 1024;
    const { compacted, objects, history } = database.read();
    for (const { resource, key, value } of objects) this.#rowsOf(resource).set(parse(resource, key, value));
    this.#compacted = compacted;
    this.#revision = compacted + history.length;
    // Backwards: what an object is after an event is what it was before the next one.
    const next = new Map<string, Row | undefined>();
    for (const { revision, type, resource, key, previous } of history.toReversed()) {
      const id = `${resource}\n${key}`;
      const before = previous === undefined ? undefined : parse(resource, key, previous);
      const after = next.has(id) ? next.get(id) : this.get(resource, key);
      const row = type === "DELETED" ? before && at(before, revision) : after;
      if (
        row?.revision !== revision ||
        (type === "DELETED") !== (after === undefined || after.revision > revision)
      ) {
        throw database.damaged(`${resource} "${key}" is not what revision ${revision} made of it`);
      }
      this.#events.push({ revision, type, row, previous: before });
      this.#eventsSize += row.json.length;
      next.set(id, before);
    }
    this.#events.reverse();
  }

  /** The revision of the last change. */
  get revision(): number {
    return this.#revision;
  }

  /** The last revision whose event is no longer known. */
  get compacted(): number {
    return this.#compacted;
  }

  get(resource: string, key: string): Row | undefined {
    return this.#resources.get(resource)?.get(key);
  }

  /** In order of their keys; of one namespace if it is given. */
  rows(resource: string, namespace?: string): Row[] {
    return this.#resources.get(resource)?.all(namespace) ?? [];
  }

  /**
   * As {@linkcode rows}, as they were at `revision`.
   *
   * @param revision not below {@linkcode compacted}
   */
  rowsAt(revision: number, resource: string, namespace?: string): Row[] {
    const before = new Map<string, Row | undefined>();
    for (let i = this.#events.length - 1; i >= revision - this.#compacted; i--) {
      const { row, previous } = this.#events[i]!;
      if (row.resource === resource) before.set(row.key, previous);
    }
    const rows = this.rows(resource, namespace);
    if (before.size === 0) return rows;
    const prefix = namespace === undefined ? "" : `${namespace}/`;
    const old = rows.filter((row) => !before.has(row.key));
    for (const [key, row] of before) if (row && key.startsWith(prefix)) old.push(row);
    return old.sort((a, b) => a.key < b.key ? -1 : 1);
  }

  /**
   * Events after `revision`, oldest first, at most `limit`.
   *
   * @param revision not below {@linkcode compacted}
   */
  eventsAfter(revision: number, limit = Infinity): readonly StoreEvent[] {
    const from = revision - this.#compacted;
    return this.#events.slice(from, from + limit);
  }

  /** Resolves as soon as there are events after `revision`, or `signal` is aborted, or the store is closed. */
  changed(revision: number, signal: AbortSignal): Promise<void> {
    if (this.#revision > revision || signal.aborted || this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done);
    });
  }

  /** Calls `listener` with the events of each commit. It must not throw. */
  subscribe(listener: (events: readonly StoreEvent[]) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /**
   * Decides on the newest state and resolves once what was decided is on disk. If `decide` throws, nothing of it
   * happens. With `dryRun` nothing happens in any case.
   *
   * @param decide is called later, once; it must not keep the transaction
   */
  write<T>(decide: (tx: Transaction) => T, options: { readonly dryRun?: boolean } = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(new Error("Cannot write: the store is closed"));
      let result: T;
      this.#queue.push({
        run: () => {
          const from = this.#revision;
          try {
            result = decide(this.#transaction());
          } catch (error) {
            this.#undo(from);
            throw error;
          }
          if (options.dryRun) this.#undo(from);
        },
        settle: (error) => error === undefined ? resolve(result) : reject(error),
      });
      this.#schedule();
    });
  }

  /** Decides what is queued, commits it and closes the file. */
  [Symbol.dispose](): void {
    if (this.#closed) return;
    while (this.#queue.length > 0) this.#flush();
    this.#closed = true;
    for (const done of this.#waiting) done();
    this.#database[Symbol.dispose]();
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    // Requests that arrive in the same turn of the event loop share one flush to disk.
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
      if (this.#queue.length > 0) this.#schedule();
    });
  }

  #flush(): void {
    const batch = this.#queue.splice(0, 100);
    if (batch.length === 0) return;
    const from = this.#revision;
    const answers: (() => void)[] = [];
    const decided: Pending[] = [];
    for (const pending of batch) {
      try {
        pending.run();
        decided.push(pending);
      } catch (error) {
        answers.push(() => pending.settle(error));
      }
    }
    const events = this.eventsAfter(from);
    try {
      if (events.length > 0) this.#commit(events);
      answers.push(...decided.map((pending) => () => pending.settle()));
    } catch (cause) {
      this.#undo(from);
      const error = new WriteError(this.#database.path, cause);
      answers.push(...decided.map((pending) => () => pending.settle(error)));
    }
    if (this.#revision > from) {
      for (const listener of this.#listeners) listener(events);
      for (const done of [...this.#waiting]) done();
    }
    for (const answer of answers) answer();
  }

  #commit(events: readonly StoreEvent[]): void {
    const changes: Change[] = events.map(({ revision, type, row, previous }) => ({
      revision,
      type,
      resource: row.resource,
      key: row.key,
      value: type === "DELETED" ? undefined : row.json,
      previous: previous?.json,
    }));
    const excess = this.#excess();
    this.#database.commit(changes, excess > 0 ? this.#compacted + excess : undefined);
    for (const { row } of this.#events.splice(0, excess)) this.#eventsSize -= row.json.length;
    this.#compacted += excess;
  }

  /** How many of the oldest events to forget: a tenth more than must be, so that it is seldom done. */
  #excess(): number {
    const { length } = this.#events;
    if (length <= this.#historyLength && this.#eventsSize <= this.#historySize) return 0;
    let excess = Math.max(0, length - Math.floor(this.#historyLength * 0.9));
    let size = this.#eventsSize;
    for (let i = 0; i < length - 1; i++) {
      if (i >= excess && size <= this.#historySize * 0.9) break;
      size -= this.#events[i]!.row.json.length;
      excess = Math.max(excess, i + 1);
    }
    return Math.min(excess, length - 1);
  }

  #transaction(): Transaction {
    return {
      get: (resource, key) => this.get(resource, key),
      rows: (resource, namespace) => this.rows(resource, namespace),
      put: (resource, object) => {
        const key = keyOf(object);
        const previous = this.get(resource, key);
        const row = made(resource, key, this.#revision + 1, object);
        this.#rowsOf(resource).set(row);
        return this.#record(previous ? "MODIFIED" : "ADDED", row, previous);
      },
      delete: (resource, key) => {
        const previous = this.get(resource, key);
        if (!previous) return undefined;
        this.#rowsOf(resource).delete(key);
        return this.#record("DELETED", at(previous, this.#revision + 1), previous);
      },
    };
  }

  #record(type: ChangeType, row: Row, previous: Row | undefined): Row {
    this.#events.push({ revision: ++this.#revision, type, row, previous });
    this.#eventsSize += row.json.length;
    return row;
  }

  #undo(revision: number): void {
    for (; this.#revision > revision; this.#revision--) {
      const { row, previous } = this.#events.pop()!;
      this.#eventsSize -= row.json.length;
      if (previous) this.#rowsOf(row.resource).set(previous);
      else this.#rowsOf(row.resource).delete(row.key);
    }
  }

  #rowsOf(resource: string): Rows {
    let rows = this.#resources.get(resource);
    if (!rows) this.#resources.set(resource, rows = new Rows());
    return rows;
  }
}
