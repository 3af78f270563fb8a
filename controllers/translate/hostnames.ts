/**
 * Hostnames of listeners and routes: `*` for any, `*.example.com` for any number of labels in front, or precise.
 *
 * @module
 */

/** The hostname that both match, or `undefined`: the more specific one, where it is covered by the other. */
export function intersect(a: string, b: string): string | undefined {
  if (covers(a, b)) return b;
  if (covers(b, a)) return a;
  return undefined;
}

/** Whether everything that matches `hostname` matches `pattern`. */
export function covers(pattern: string, hostname: string): boolean {
  if (pattern === "*" || pattern === hostname) return true;
  if (!pattern.startsWith("*.")) return false;
  return hostname.length > pattern.length - 1 && hostname.endsWith(pattern.slice(1));
}

/**
 * Every hostname that covers this one, the most specific first: itself, wildcards with ever fewer labels, `*`.
 *
 * A precise name has more characters than any wildcard that covers it, and a wildcard with more dots is longer, so
 * this is both the order in which listeners are chosen and that in which routes take precedence.
 */
export function covering(hostname: string): readonly string[] {
  const all = [hostname];
  let rest = hostname.startsWith("*.") ? hostname.slice(2) : hostname;
  for (let dot = rest.indexOf("."); dot >= 0; dot = rest.indexOf(".")) {
    rest = rest.slice(dot + 1);
    all.push(`*.${rest}`);
  }
  if (hostname !== "*") all.push("*");
  return all;
}
