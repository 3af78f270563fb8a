/**
 * Which of several forms of an answer a client likes best. RFC 9110, 12.5.
 *
 * @module
 */

/** One entry of an Accept header. */
interface Preference {
  readonly value: string;
  readonly parameters: ReadonlyMap<string, string>;
  /** From 0, never, to 1. */
  readonly quality: number;
  readonly position: number;
}

/** How well an entry fits something that is offered. */
interface Fit {
  /** How exactly it names it. */
  readonly exactness: number;
  readonly quality: number;
  readonly position: number;
}

function parse(header: string, pattern: RegExp): Preference[] {
  return header.split(",").flatMap((entry, position) => {
    const preference = parseOne(entry.trim(), pattern, position);
    return preference ? [preference] : [];
  });
}

function parseOne(entry: string, pattern: RegExp, position: number): Preference | undefined {
  const semicolon = entry.indexOf(";");
  const value = (semicolon === -1 ? entry : entry.slice(0, semicolon)).trim();
  if (!pattern.test(value)) return undefined;
  const parameters = new Map<string, string>();
  let quality = 1;
  for (const parameter of semicolon === -1 ? [] : entry.slice(semicolon + 1).split(";")) {
    const [name = "", text = ""] = parameter.trim().split("=");
    const unquoted = /^"(.*)"$/.exec(text)?.[1] ?? text;
    if (name.toLowerCase() === "q" && unquoted) {
      // Whatever follows is an extension of the header, not a parameter of the type.
      quality = parseFloat(unquoted);
      break;
    }
    parameters.set(name.toLowerCase(), unquoted);
  }
  return { value, parameters, quality, position };
}

/** The header's own entries, the best first. */
function ranked(preferences: readonly Preference[]): string[] {
  return preferences
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality || a.position - b.position)
    .map(({ value }) => value);
}

/** The offers that are acceptable, the best first. */
function choose<T extends string>(
  offers: readonly T[],
  preferences: readonly Preference[],
  fitOf: (offer: string, preference: Preference) => Fit | undefined,
): T[] {
  return offers
    .map((offer) => ({ offer, fit: bestFit(offer, preferences, fitOf) }))
    .filter(({ fit }) => fit.quality > 0)
    .sort(({ fit: a }, { fit: b }) =>
      b.quality - a.quality || b.exactness - a.exactness || a.position - b.position
    )
    .map(({ offer }) => offer);
}

/** Of the entries that fit, the most exact one decides, even if it is less liked. */
function bestFit(
  offer: string,
  preferences: readonly Preference[],
  fitOf: (offer: string, preference: Preference) => Fit | undefined,
): Fit {
  let best: Fit = { exactness: 0, quality: 0, position: -1 };
  for (const preference of preferences) {
    const fit = fitOf(offer, preference);
    if (!fit) continue;
    const better = fit.exactness - best.exactness || fit.quality - best.quality ||
      fit.position - best.position;
    if (better > 0) best = fit;
  }
  return best;
}

const mediaType = /^[^\s/;]+\/[^\s;]+$/;

function fitMediaType(offer: string, { value, parameters, quality }: Preference): Fit | undefined {
  const offered = parseOne(offer, mediaType, 0);
  if (!offered) return undefined;
  let exactness = 0;
  const [wanted, has] = [splitType(value), splitType(offered.value)];
  for (const [part, weight] of [[0, 4], [1, 2]] as const) {
    if (wanted[part] === has[part]) exactness += weight;
    else if (wanted[part] !== "*") return undefined;
  }
  for (const [name, text] of parameters) {
    if (text.toLowerCase() !== (offered.parameters.get(name) ?? "").toLowerCase()) return undefined;
  }
  // The place in the header does not count here.
  return { exactness: exactness + (parameters.size > 0 ? 1 : 0), quality, position: 0 };
}

function splitType(value: string): [string, string] {
  const slash = value.indexOf("/");
  return [value.slice(0, slash).toLowerCase(), value.slice(slash + 1).toLowerCase()];
}

/** The media types of the Accept header, the best first. */
export function accepts(request: Pick<Request, "headers">): string[];
/** The best of `types` for the Accept header, `undefined` if it wants none of them. */
export function accepts<T extends string = string>(
  request: Pick<Request, "headers">,
  ...types: T[]
): T | undefined;
export function accepts(
  request: Pick<Request, "headers">,
  ...types: string[]
): string | string[] | undefined {
  const header = request.headers.get("accept");
  if (!header) return types.length > 0 ? types[0] : ["*/*"];
  const preferences = parse(header, mediaType);
  return types.length > 0 ? choose(types, preferences, fitMediaType)[0] : ranked(preferences);
}

const token = /^[^\s;]+$/;

function fitEncoding(offer: string, { value, quality, position }: Preference): Fit | undefined {
  if (value.toLowerCase() === offer.toLowerCase()) return { exactness: 1, quality, position };
  return value === "*" ? { exactness: 0, quality, position } : undefined;
}

/** The encodings of the Accept-Encoding header, the best first. */
export function acceptsEncodings(request: Pick<Request, "headers">): string[];
/** The best of `encodings` for the Accept-Encoding header, `undefined` if it wants none of them. */
export function acceptsEncodings<T extends string = string>(
  request: Pick<Request, "headers">,
  ...encodings: T[]
): T | undefined;
export function acceptsEncodings(
  request: Pick<Request, "headers">,
  ...encodings: string[]
): string | string[] | undefined {
  const header = request.headers.get("accept-encoding");
  if (!header) return encodings.length > 0 ? encodings[0] : ["*"];
  const preferences = parse(header, token);
  if (!preferences.some((preference) => fitEncoding("identity", preference))) {
    // No encoding at all is acceptable unless it is forbidden, but less than what is asked for.
    const quality = Math.min(1, ...preferences.map(({ quality }) => quality || 1));
    const position = header.split(",").length - 1;
    preferences.push({ value: "identity", parameters: new Map(), quality, position });
  }
  return encodings.length > 0 ? choose(encodings, preferences, fitEncoding)[0] : ranked(preferences);
}
