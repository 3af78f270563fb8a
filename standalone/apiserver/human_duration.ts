/**
 * Ages as `kubectl get` shows them.
 *
 * @module
 */

/** Two significant units at most: `42s`, `3m12s`, `47m`, `5h3m`, `2d4h`, `99d`, `1y30d`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return join(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return join(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (hours < 192) return join(Math.trunc(hours / 24), "d", hours % 24, "h");
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return hours < 24 * 365 * 8 ? join(years, "y", days % 365, "d") : `${years}y`;
}

function join(a: number, unit: string, b: number, smaller: string): string {
  return b === 0 ? `${a}${unit}` : `${a}${unit}${b}${smaller}`;
}

/** The age of something that happened at `since`, an RFC 3339 time. */
export function age(since: unknown, now: Date): string {
  if (typeof since !== "string" || since === "") return "<unknown>";
  const time = Date.parse(since);
  return Number.isNaN(time) ? "<unknown>" : humanDuration(now.getTime() - time);
}
