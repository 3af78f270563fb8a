/**
 * Finds what a proxy would refuse before it is sent to one.
 *
 * @module
 */
import { RE2JS } from "re2js";
import { isIPv4 } from "../../crds/schema/formats.ts";

/**
 * How large the regular expressions of one object may be, all together. To match all of them against a long header takes a proxy
 * seconds as it is, in which it does nothing for others, and to read them keeps the thread here busy.
 */
const largest = 10_000;

/** Characters beyond the first 256, of which proxies know only the bytes. */
const wideEscape = /\\x\{0*[0-9a-f]{3,}\}/i;

/** How much has been taken of what the regular expressions of one object may come to. */
export interface Taken {
  size: number;
}

/** Why a regular expression is refused; `undefined` if it is taken. Its size is added to what is `taken`. */
export function regexFault(pattern: string, taken: Taken = { size: 0 }): string | undefined {
  if (pattern === "") return "an empty regular expression is not supported, write .* for anything";
  const [wide] = wideEscape.exec(pattern) ?? [];
  if (wide !== undefined) return `"${wide}" is not supported, write the character itself`;
  const size = sizeOf(pattern);
  if (size > largest) {
    return `a regular expression of some ${size} instructions is not supported, repeat less`;
  }
  taken.size += size;
  if (taken.size > largest) {
    return `more than some ${largest} instructions of regular expressions in one route are not supported, ` +
      "divide it";
  }
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    // The library throws for every syntax error; what it says about the pattern is for the user.
    const problem = (error instanceof Error ? error.message : String(error)).replace(
      "error parsing regexp: ",
      "",
    );
    return `RE2 refuses the regular expression "${abridged(pattern)}" (${abridged(problem)}), ` +
      "write it in RE2 syntax";
  }
}

/** How much of a text is quoted: expressions may be as long as a condition's message. */
const longestQuote = 200;

function abridged(text: string): string {
  return text.length <= longestQuote ? text : `${text.slice(0, longestQuote)}…`;
}

/** A property of characters, as in `\p{L}`, has hundreds of ranges, which are sorted each time that it is named. */
const propertySize = 100;

/**
 * About how many instructions a regular expression comes to, its repetitions written out. What is read for a single one, such as
 * a class of characters, counts besides, but not with each repetition.
 */
function sizeOf(pattern: string): number {
  const groups = [0];
  let last = 0, read = 0;
  const add = (size: number) => {
    last = size;
    groups.push((groups.pop() ?? 0) + size);
  };
  const parts = /\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*(?:\]|\\?$)|\{(\d+)(?:,(\d*))?\}|[\s\S]/g;
  for (const [part, least, most] of pattern.matchAll(parts)) {
    if (least !== undefined) {
      const before = last;
      add(before * (Math.max(Number(least), Number(most ?? 0), 1) - 1));
      last += before;
    } else if (part === "(") groups.push(0);
    else {
      read += Math.floor(part.length / 4) + (part.match(/\\p/gi)?.length ?? 0) * propertySize;
      add(part === ")" && groups.length > 1 ? groups.pop() ?? 0 : 1);
    }
  }
  return groups.reduce((sum, size) => sum + size, read);
}

/** The characters of a token, as RFC 9110, 5.6.2 has it. */
const token = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;

/** Whether a text could be the name of a header or a method. */
export function isToken(text: string): boolean {
  return text.length <= 256 && token.test(text);
}

/** Why there can be no header or query parameter of this name; `undefined` if there can. */
export function nameFault(name: string): string | undefined {
  return isToken(name) ? undefined : `"${name}" is not a name, use letters, digits and hyphens`;
}

/** Why no request can have this path, or one that begins with it; `undefined` if there can be one. */
export function literalFault(path: string): string | undefined {
  if (path.startsWith("/") && !/[?#]/.test(path) && fieldValue.test(path)) return undefined;
  return `"${path}" is not a path, begin it with a slash and leave out queries`;
}

/** A field value without control characters other than tab, RFC 9110, 5.5. */
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const fieldValue = /^[^\x00-\x08\x0a-\x1f\x7f]*$/;

/**
 * Headers that say where a message ends, or what is to become of its connection (RFC 9112, 6; RFC 9113, 8.2.2). A proxy whose word
 * on these is not its own would take a part of one message for the next one, which may be somebody else's.
 */
const framing: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Why a header cannot be set to a value, added or removed; `undefined` if it can. */
export function headerFault(
  change: "set" | "add" | "remove",
  name: string,
  value: string,
): string | undefined {
  if (!isToken(name)) return `"${name}" is not a header name, use letters, digits and hyphens`;
  if (name.toLowerCase() === "host" && change !== "set") {
    return `there is always just one header "${name}", it can only be set`;
  }
  if (change !== "remove" && framing.has(name.toLowerCase())) {
    return `header "${name}" is for proxies alone to set, remove it`;
  }
  if (!fieldValue.test(value)) return `the value of header "${name}" holds control characters, remove them`;
  return undefined;
}

/** Why a text cannot be the path that a request or a redirect is given; `undefined` if it can. */
export function pathFault(path: string): string | undefined {
  if (!fieldValue.test(path)) return "the path holds control characters, remove them";
  // Nothing at all stands for the root.
  if (path !== "" && !path.startsWith("/")) return `"${path}" is not a path, begin it with a slash`;
  return undefined;
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const hostname = new RegExp(`^${label}(\\.${label})*$`);
const longestHostname = 253;

/** An address looks like a hostname. */
function isHostname(name: string): boolean {
  return name.length <= longestHostname && hostname.test(name) && !isIPv4(name);
}

/** Why a text cannot be the host of a request or a redirect; `undefined` if it can. */
export function hostnameFault(name: string): string | undefined {
  return isHostname(name) ? undefined : noHostname(name, "www.example.com");
}

/**
 * Why a text cannot be what requests are told apart by, perhaps with a wildcard as its first label; `undefined` if it can. Proxies
 * refuse all routes of a port for one such text, but for addresses, which Gateway API excludes.
 */
export function hostnamePatternFault(name: string): string | undefined {
  const rest = name.startsWith("*.") ? name.slice(2) : name;
  if (name.length <= longestHostname && isHostname(rest)) return undefined;
  return noHostname(name, "www.example.com or *.example.com");
}

function noHostname(name: string, example: string): string {
  const what = isIPv4(name) ? "an IP address and not a hostname" : "not a hostname";
  return `"${name}" is ${what}, write it like ${example}`;
}
