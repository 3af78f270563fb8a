/**
 * The file that holds the objects: SQLite, one transaction per group of writes, each flushed to disk before any
 * of its answers goes out.
 *
 * `objects` has the current state; `history` is an undo log: for each revision which object changed and what it was
 * before. Together they give every state back to the last compaction, which is what watches and paged lists need.
 *
 * @module
 */
import { chmodSync, closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { damageOfLog } from "./wal_check.ts";

/** Why a data directory cannot be used. The message says what to do about it. */
export class DataError extends Error {
  override readonly name = "DataError";
}

export interface ObjectRecord {
  readonly resource: string;
  readonly key: string;
  readonly value: string;
}

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

/** `previous` is the object's JSON before this revision; absent for one that was added. */
export interface HistoryRecord {
  readonly revision: number;
  readonly type: ChangeType;
  readonly resource: string;
  readonly key: string;
  readonly previous: string | undefined;
}

/** One change to be committed. `value` is absent for a deletion. */
export interface Change extends HistoryRecord {
  readonly value: string | undefined;
}

export interface Contents {
  /** Revisions up to this one are forgotten. */
  readonly compacted: number;
  readonly objects: readonly ObjectRecord[];
  /** Without gaps, from `compacted + 1` on. */
  readonly history: readonly HistoryRecord[];
}

const format = 1;

const schema = `
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
  resource TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, sum INTEGER NOT NULL,
  PRIMARY KEY (resource, key)
);
CREATE TABLE IF NOT EXISTS history (
  revision INTEGER PRIMARY KEY, type TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL,
  previous TEXT, sum INTEGER
);
`;

/** An open database, locked against every other process. */
export class Database implements Disposable {
  readonly #db: DatabaseSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #log: StatementSync;
  readonly #forget: StatementSync;
  readonly #compacted: StatementSync;

  private constructor(readonly path: string, db: DatabaseSync) {
    this.#db = db;
    this.#put = db.prepare(
      "INSERT INTO objects VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, sum = excluded.sum",
    );
    this.#remove = db.prepare("DELETE FROM objects WHERE resource = ? AND key = ?");
    this.#log = db.prepare("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)");
    this.#forget = db.prepare("DELETE FROM history WHERE revision <= ?");
    this.#compacted = db.prepare("INSERT OR REPLACE INTO meta VALUES ('compacted', ?)");
  }

  /**
   * Opens the file, or makes it.
   *
   * @param start the revision that a new file begins after
   * @throws {DataError} if another process has it open, or its contents are damaged or of a later format
   */
  static open(path: string, start = 0): Database {
    try {
      checkLog(path);
      makePrivate(path);
    } catch (error) {
      throw explain(path, error);
    }
    const db = new DatabaseSync(path);
    try {
      // EXCLUSIVE keeps the operating system's lock until the process ends, however it ends.
      db.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
      db.exec(`BEGIN IMMEDIATE; ${schema} COMMIT`);
      const check = db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
      if (check !== "ok") throw damaged(path, String(check));
      const found = db.prepare("SELECT value FROM meta WHERE name = 'format'").get()?.["value"];
      if (found === undefined) {
        db.exec(`INSERT INTO meta VALUES ('format', ${format}), ('compacted', ${start})`);
      } else if (found !== format) {
        throw new DataError(
          `Cannot use database "${path}": it has format ${found}, this version of Gatehouse reads format ${format}; ` +
            "use the version that wrote it, or another data directory",
        );
      }
      return new Database(path, db);
    } catch (error) {
      db.close();
      throw explain(path, error);
    }
  }

  /**
   * Reads everything.
   *
   * @throws {DataError} if a row is damaged
   */
  read(): Contents {
    try {
      const compacted = Number(
        this.#db.prepare("SELECT value FROM meta WHERE name = 'compacted'").get()?.["value"],
      );
      const objects: ObjectRecord[] = [];
      for (const row of this.#db.prepare("SELECT * FROM objects ORDER BY resource, key").iterate()) {
        const { resource, key, value, sum } = row as unknown as ObjectRecord & { sum: number };
        if (crc32(value) !== sum) throw damaged(this.path, `the checksum of ${resource} "${key}" is wrong`);
        objects.push({ resource, key, value });
      }
      const history: HistoryRecord[] = [];
      for (const row of this.#db.prepare("SELECT * FROM history ORDER BY revision").iterate()) {
        const { revision, type, resource, key, previous, sum } = row as unknown as
          & Omit<HistoryRecord, "previous">
          & { previous: string | null; sum: number | null };
        if (revision !== compacted + history.length + 1) {
          throw damaged(this.path, `revision ${compacted + history.length + 1} is missing`);
        }
        if (previous !== null && crc32(previous) !== sum) {
          throw damaged(this.path, `the checksum of revision ${revision} is wrong`);
        }
        history.push({ revision, type, resource, key, previous: previous ?? undefined });
      }
      return { compacted, objects, history };
    } catch (error) {
      throw explain(this.path, error);
    }
  }

  /**
   * Writes changes and forgets history up to `compacted`, all or nothing; returns once they are on disk.
   *
   * @throws {Error} if they cannot be written; then nothing has been
   */
  commit(changes: readonly Change[], compacted?: number): void {
    this.#db.exec("BEGIN");
    try {
      for (const { revision, type, resource, key, value, previous } of changes) {
        if (value === undefined) this.#remove.run(resource, key);
        else this.#put.run(resource, key, value, crc32(value));
        const sum = previous === undefined ? null : crc32(previous);
        this.#log.run(revision, type, resource, key, previous ?? null, sum);
      }
      if (compacted !== undefined) {
        this.#forget.run(compacted);
        this.#compacted.run(compacted);
      }
      this.#db.exec("COMMIT");
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /** The error to throw if what was read makes no sense. */
  damaged(what: string): DataError {
    return damaged(this.path, what);
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

/** Makes sure that nobody else can read the file, which holds Secrets. SQLite gives its other files the same mode. */
function makePrivate(path: string): void {
  if (path === ":memory:") return;
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600); // One that an earlier version made was for everybody.
  if (existsSync(`${path}-wal`)) chmodSync(`${path}-wal`, 0o600);
}

/**
 * Looks at the log before SQLite does, which would shorten it to what it can read.
 *
 * @throws {DataError} if it is damaged
 */
function checkLog(path: string): void {
  const log = `${path}-wal`;
  if (path === ":memory:" || !existsSync(log)) return;
  const bytes = readFileSync(log);
  const damage = damageOfLog(bytes);
  if (damage === undefined) return;
  // One that another process is writing to may look like this; it is that one's business, and SQLite will say so.
  if (existsSync(log) && bytes.equals(readFileSync(log))) throw damaged(path, damage);
}

function damaged(path: string, what: string): DataError {
  return new DataError(
    `Cannot read database "${path}": ${what}; the file is left as it is: restore it from a backup, or move it away ` +
      "to start empty",
  );
}

function explain(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DataError) return error;
  if (error.message.includes("database is locked")) {
    return new DataError(
      `Cannot open database "${path}": another process is using it; stop that one, or choose another data directory`,
      { cause: error },
    );
  }
  if (/malformed|not a database|corrupt|disk I\/O/.test(error.message)) {
    return Object.assign(damaged(path, error.message), { cause: error });
  }
  const { code } = error as { readonly code?: unknown };
  if (typeof code === "string" && /^E[A-Z]+$/.test(code)) {
    return new DataError(
      `Cannot open database "${path}": ${
        error.message.replace(/, open .*/, "")
      }; make the directory and its files ` +
        "writable, or choose another data directory",
      { cause: error },
    );
  }
  return error;
}
