/**
 * Structured log lines.
 *
 * @module
 */

export type Level = "debug" | "info" | "warn" | "error";

/** What a line says besides its message. Secrets never belong here. */
export type Fields = { readonly [name: string]: unknown };

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A log whose every line carries these fields too. */
  with(fields: Fields): Log;
}

/** Says nothing. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLog,
};
