/**
 * Structured log lines: JSON for machines, aligned and coloured for people.
 *
 * @module
 */
import type { Clock } from "./clock.ts";
import { messages, redact, redactText } from "./redact.ts";

export type Level = "debug" | "info" | "warn" | "error";

/**
 * What a line says besides its message. Objects are shown as JSON, errors with their causes; what looks like a secret, by name or
 * by content, is not shown. The object that a line is about is called by its kind, or `item`.
 */
export type Fields = { readonly [name: string]: unknown };

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A log whose every line carries these fields too. */
  with(fields: Fields): Log;
}

/** The log that all others come from: its level is theirs. */
export interface RootLog extends Log {
  /** Lines below it are not written. May be changed at any time. */
  level: Level;
}

export interface LogOptions {
  /** Takes one entry, without the line feed at its end. */
  write(line: string): void;
  readonly clock: Clock;
  readonly format: "json" | "text";
  /** `info` if absent. */
  readonly level?: Level;
  /** Colours, for terminals: `text` only. */
  readonly color?: boolean;
}

/** Says nothing. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLog,
};

export const levels: readonly Level[] = ["debug", "info", "warn", "error"];

/** As many lines with the same message within as many milliseconds are written, except at debug level; the rest is counted. */
const repeats = { lines: 20, window: 10_000 } as const;

interface Window {
  readonly ends: number;
  readonly level: Level;
  readonly message: string;
  lines: number;
}

/** Makes a log. */
export function createLog(options: LogOptions): RootLog {
  const { write, clock, format, color = false } = options;
  const threshold = { level: options.level ?? "info" };
  const windows = new Map<string, Window>();
  const line = (level: Level, message: string, fields: Fields) => {
    const time = clock.now().toISOString();
    write(
      format === "json" ? asJson(time, level, message, fields) : asText(time, level, message, fields, color),
    );
  };

  /** Whether there have been too many of these. Tells of those that were left out once their time is over. */
  const tooMany = (level: Level, message: string): boolean => {
    const now = clock.monotonic();
    for (const [id, window] of windows) {
      if (window.ends > now) continue;
      windows.delete(id);
      const dropped = window.lines - repeats.lines;
      if (dropped > 0) line(window.level, window.message, { leftOut: dropped });
    }
    if (level === "debug") return false;
    const id = `${level} ${message}`, window = windows.get(id);
    if (window) return ++window.lines > repeats.lines;
    windows.set(id, { ends: now + repeats.window, level, message, lines: 1 });
    return false;
  };

  const make = (bound: Fields): Log => {
    const at = (level: Level) => (message: string, fields?: Fields) => {
      if (levels.indexOf(level) < levels.indexOf(threshold.level) || tooMany(level, message)) return;
      line(level, message, fields ? { ...bound, ...fields } : bound);
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => make({ ...bound, ...fields }),
    };
  };
  return {
    ...make({}),
    get level() {
      return threshold.level;
    },
    set level(level) {
      threshold.level = level;
    },
  };
}

/** One JSON object; an error's stack comes along at level `error`, where it is wanted. */
function asJson(time: string, level: Level, message: string, fields: Fields): string {
  const shown = redact(fields) as Fields, { error } = fields;
  const stack = level === "error" && error instanceof Error ? { stack: redactText(stackOf(error)) } : {};
  return JSON.stringify({ time, level, message: redactText(message), ...shown, ...stack });
}

const colors: { readonly [L in Level]: string } = { debug: "36", info: "32", warn: "33", error: "31" };

/** `12:34:56.789 WARN  Cannot do it  item=default/web error="no such file"`, with an error's stack below at level `error`. */
function asText(time: string, level: Level, message: string, fields: Fields, color: boolean): string {
  const paint = (code: string, text: string) => color ? `\x1b[${code}m${text}\x1b[0m` : text;
  const shown = Object.entries(redact(fields) as Fields).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${paint("2", `${name}=`)}${textOf(value)}`);
  const head = [
    paint("2", time.slice(11, 23)),
    paint(colors[level], level.toUpperCase().padEnd(5)),
    printable(redactText(message)),
  ].join(" ");
  const { error } = fields;
  const stack = level === "error" && error instanceof Error
    ? `\n${printable(redactText(stackOf(error)), "\n")}`
    : "";
  return (shown.length > 0 ? `${head}  ${shown.join(" ")}` : head) + (stack && paint("2", stack));
}

function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return typeof value === "string" && !/^[^\s"=\p{C}]+$/u.test(text)
    ? printable(JSON.stringify(text))
    : printable(text);
}

/** Without control characters, which could make a terminal, or whoever reads lines, believe anything. */
function printable(text: string, except = ""): string {
  return text.replaceAll(
    /\p{Cc}/gu,
    (c) => c === except ? c : `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}

/** Where an error and its causes come from. */
function stackOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 4) return `    ${messages(error)}`;
  const frames = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  const inner = error instanceof AggregateError
    ? error.errors
    : error.cause === undefined
    ? []
    : [error.cause];
  const own = `${error.name}: ${error.message}`;
  return [`    ${own}`, ...frames, ...inner.map((cause) => `  caused by\n${stackOf(cause, depth + 1)}`)].join(
    "\n",
  );
}
