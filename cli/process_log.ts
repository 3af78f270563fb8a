/**
 * The log of a command that keeps running: on standard error, readable on a terminal, JSON elsewhere.
 *
 * @module
 */
import { systemClock } from "../controllers/runtime/clock.ts";
import { createLog, type Level, type RootLog } from "../controllers/runtime/log.ts";
import type { Io } from "./io.ts";

export function openLog(
  io: Io,
  options: { readonly logLevel: Level; readonly logFormat: "auto" | "text" | "json" },
): RootLog {
  const format = options.logFormat === "auto" ? (io.errIsTerminal ? "text" : "json") : options.logFormat;
  return createLog({
    write: (line) => io.err(line),
    clock: systemClock,
    format,
    level: options.logLevel,
    color: io.errIsTerminal && !io.env.NO_COLOR,
  });
}
