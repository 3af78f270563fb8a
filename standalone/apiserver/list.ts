/**
 * Lists: consistent at one revision however many pages they take, and sent in pieces.
 *
 * @module
 */
import type { Encoder } from "./represent.ts";
import type { ListOptions } from "./request.ts";
import { badRequest, expired, forbiddenOption, tooLargeResourceVersion } from "./status.ts";
import type { Row, Store } from "./store.ts";

export interface Page {
  readonly rows: readonly Row[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

interface Token {
  readonly revision: number;
  readonly after: string;
}

const encode = ({ revision, after }: Token): string =>
  new TextEncoder().encode(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start: `${after}\0` }))
    .toBase64({ alphabet: "base64url", omitPadding: true });

function decode(text: string): Token {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    const token = JSON.parse(new TextDecoder().decode(bytes)) as { v: string; rv: number; start: string };
    if (token.v !== "meta.k8s.io/v1" || !Number.isInteger(token.rv) || typeof token.start !== "string") {
      throw text;
    }
    return { revision: token.rv, after: token.start.replace(/\0$/, "") };
  } catch {
    throw badRequest("continue key is not valid: it is not a token of this server");
  }
}

/**
 * One page of a list.
 *
 * @throws {ApiError} 410 if it asks for a revision that is forgotten, 504 for one that is yet to come
 */
export function page(
  store: Store,
  resource: string,
  namespace: string | undefined,
  options: ListOptions,
): Page {
  const { selector, limit } = options;
  const asked = options.resourceVersion;
  if (options.continue !== "" && asked !== "" && asked !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  if (options.match !== undefined && (asked === "" || options.continue !== "")) {
    throw forbiddenOption("ListOptions", "resourceVersionMatch", "it needs a resourceVersion");
  }
  if (options.match === "Exact" && asked === "0") {
    throw forbiddenOption(
      "ListOptions",
      "resourceVersionMatch",
      '"Exact" does not go with resourceVersion "0"',
    );
  }
  const token = options.continue === "" ? undefined : decode(options.continue);
  if (token && token.revision < store.compacted) {
    throw expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list " +
        "without the continue parameter.",
    );
  }
  const wanted = Number(asked || "0");
  if (wanted > store.revision) throw tooLargeResourceVersion(wanted, store.revision);
  const exact = options.match === "Exact" || (limit > 0 && wanted > 0 && options.match === undefined);
  if (exact && wanted < store.compacted) {
    throw expired(`The resourceVersion for the provided list is too old: ${wanted} (${store.compacted})`);
  }
  const revision = token?.revision ?? (exact ? wanted : store.revision);

  let rows = revision === store.revision
    ? store.rows(resource, namespace)
    : store.rowsAt(revision, resource, namespace);
  if (token) rows = rows.slice(lastIndexUpTo(rows, token.after));
  if (!selector.everything) rows = rows.filter((row) => selector.matches(row.object));
  if (limit === 0 || rows.length <= limit) return { rows, metadata: { resourceVersion: String(revision) } };
  return {
    rows: rows.slice(0, limit),
    metadata: {
      resourceVersion: String(revision),
      continue: encode({ revision, after: rows[limit - 1]!.key }),
      ...(selector.everything ? { remainingItemCount: rows.length - limit } : {}),
    },
  };
}

/** How many rows have keys up to `key`. */
function lastIndexUpTo(rows: readonly Row[], key: string): number {
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.key <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The answer, made piece by piece as it is read. */
export function stream(page: Page, encoder: Encoder): ReadableStream<Uint8Array> {
  const text = new TextEncoder();
  const { head, tail } = encoder.list(page.metadata);
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      let piece = next === 0 ? head : "";
      const from = next;
      while (next < page.rows.length && next - from < 500 && piece.length < 256 * 1024) {
        piece += (next > 0 ? "," : "") + encoder.listed(page.rows[next]!);
        next++;
      }
      if (next === page.rows.length) piece += tail;
      controller.enqueue(text.encode(piece));
      if (next === page.rows.length) controller.close();
    },
  }, { highWaterMark: 0 });
}
