/**
 * Keeps secrets out of log lines, whoever puts them there.
 *
 * @module
 */

const hidden = "[redacted]";

/** Field names, without separators and in lower case, whose values are never shown. */
const secretName =
  /^(key|tlskey|keydata|keypem|clientkey|clientkeydata|signingkey)$|(token|tokendata|password|passwd|passphrase|authorization|cookie|credentials?|privatekey|apikey|accesskey|secretkey|clientsecret|bearer)$/;

const secretText: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(-----END \1-----|$)/gs, "[redacted private key]"],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, "[redacted token]"],
  [/\b(Bearer|Basic) [\w.~+/=-]{8,}/g, `$1 ${hidden}`],
];

/** Longest string and deepest value that a line shows. */
const longest = 4096, deepest = 5;

/** A text without private keys and tokens, and not longer than a line may be. */
export function redactText(text: string): string {
  let result = text;
  for (const [pattern, replacement] of secretText) result = result.replaceAll(pattern, replacement);
  return result.length > longest ? `${result.slice(0, longest)}… (${result.length} characters)` : result;
}

/** A value as plain JSON, without what is secret by its name or its look. Errors become their messages, causes included. */
export function redact(value: unknown, name = "", depth = 0): unknown {
  if (value === undefined || value === null) return value;
  if (name && secretName.test(name.toLowerCase().replaceAll(/[^a-z]/g, ""))) return hidden;
  if (typeof value === "string") return redactText(value);
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") {
    return String(value);
  }
  if (typeof value !== "object") return value;
  if (value instanceof Error) return redactText(messages(value));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  if (value instanceof URL) return redactText(withoutPassword(value));
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (depth >= deepest) return "…";
  if (Array.isArray(value)) return value.map((item) => redact(item, "", depth + 1));
  const entries: Iterable<[unknown, unknown]> = value instanceof Map
    ? value
    : value instanceof Set
    ? [...value].entries()
    : Object.entries(value);
  return Object.fromEntries(
    [...entries].map(([key, part]) => [String(key), redact(part, String(key), depth + 1)]),
  );
}

/** The messages of an error and of its causes: `Task "x" failed: Cannot read "y": no such file`. */
export function messages(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) {
    return typeof error === "string" ? error : JSON.stringify(redact(error)) ?? "undefined";
  }
  const own = error.message || error.name;
  const named = error.name === "Error" || error.message.includes(error.name) ? own : `${error.name}: ${own}`;
  const inner = error instanceof AggregateError
    ? error.errors
    : error.cause === undefined
    ? []
    : [error.cause];
  if (inner.length === 0 || depth >= deepest) return named;
  return `${named}: ${inner.map((cause) => messages(cause, depth + 1)).join("; ")}`;
}

function withoutPassword(url: URL): string {
  const copy = new URL(url);
  if (copy.password) copy.password = "redacted";
  return copy.href;
}
