/**
 * One connection of a watch: what it says, until it ends, breaks or falls silent.
 *
 * @module
 */
import type { RestClient } from "@cloudydeno/kubernetes-apis/common.ts";
import type { ApiObject, Kind } from "../crds/kind.ts";
import type { Clock } from "../controllers/runtime/clock.ts";
import { mostLineBytes } from "./answers.ts";
import { KubeError, SilentError, type Status } from "./errors.ts";
import { linesOf, LineTooLongError } from "./lines.ts";
import { partialMetadata, queryOf, type Selection, typed } from "./list.ts";
import { pathOf } from "./paths.ts";

/** What one line of a watch says. */
export type Change<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T; readonly resourceVersion: string }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

export interface StreamOptions extends Selection {
  readonly clock: Clock;
  readonly resourceVersion: string;
  /** After how many seconds the server is to end it. */
  readonly timeoutSeconds: number;
  /** Cuts the stream once nothing has come for that many milliseconds, from a server that is known to send bookmarks. */
  readonly silence: number;
  /** Whether it is known to from the start; by the first bookmark of the stream it is known, too. */
  readonly bookmarks: boolean;
  /** Called once the server has agreed to watch. */
  readonly opened?: () => void;
  readonly signal: AbortSignal;
}

/** A line that is none of a watch: what it would have told is lost, so everything has to be listed again. */
export class MalformedEventError extends Error {
  override readonly name = "MalformedEventError";
}

/** Milliseconds past its own timeout after which a stream is taken for dead. */
const grace = 10_000;

/**
 * Yields what the server tells after `resourceVersion`. Ends when the server ends the stream, and when the stream is silent
 * past its time, which says the same.
 *
 * @throws {KubeError} if the server refuses, or tells of an error; 410 means that everything has to be listed again.
 * @throws {ConnectionError} if the connection cannot be made or breaks.
 * @throws {MalformedEventError} at a line that makes no sense or is too long.
 */
export async function* watchStream<T extends ApiObject>(
  client: RestClient,
  kind: Kind<T>,
  options: StreamOptions,
): AsyncGenerator<Change<T>> {
  const { clock, silence, timeoutSeconds } = options;
  const cut = new AbortController();
  const overdue = new SilentError(`The watch of ${kind.plural} is silent past its time`);
  using scope = new DisposableStack();
  const stop = () => cut.abort(options.signal.reason);
  options.signal.addEventListener("abort", stop, { once: true });
  scope.defer(() => options.signal.removeEventListener("abort", stop));
  options.signal.throwIfAborted();
  scope.use(clock.timer(timeoutSeconds * 1000 + grace, () => cut.abort(overdue)));
  try {
    const bytes = await client.performRequest({
      method: "GET",
      path: pathOf(kind, options),
      querystring: new URLSearchParams([
        ...queryOf(options),
        ["watch", "true"],
        ["allowWatchBookmarks", "true"],
        ["resourceVersion", options.resourceVersion],
        ["timeoutSeconds", String(timeoutSeconds)],
      ]),
      accept: options.metadataOnly ? partialMetadata("PartialObjectMetadata") : "application/json",
      expectStream: true,
      abortSignal: cut.signal,
    });
    options.opened?.();
    let heard = clock.monotonic(), { bookmarks } = options;
    // One timer that looks at when something came last costs less than one for every line.
    const listen = (wait: number): Disposable =>
      clock.timer(wait, () => {
        const left = heard + silence - clock.monotonic();
        if (left <= 0 && bookmarks) cut.abort(overdue);
        else timer = listen(left > 0 ? left : silence);
      });
    let timer = listen(silence);
    scope.defer(() => timer[Symbol.dispose]());
    for await (const line of linesOf(bytes, mostLineBytes, { signal: cut.signal })) {
      heard = clock.monotonic();
      const change = parse<T>(kind, line);
      if (change.type === "BOOKMARK") bookmarks = true;
      yield change.type === "BOOKMARK" || !options.metadataOnly
        ? change
        : { ...change, object: typed(change.object, kind, options) };
    }
    cut.signal.throwIfAborted();
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof SilentError || cut.signal.aborted && cut.signal.reason === overdue) return;
    if (error instanceof LineTooLongError) {
      throw new MalformedEventError(`Cannot watch ${kind.plural}: ${error.message}`, { cause: error });
    }
    throw error;
  } finally {
    cut.abort();
  }
}

interface Line {
  readonly type?: unknown;
  readonly object?: ApiObject & Status;
}

function parse<T extends ApiObject>(kind: Kind<T>, line: string): Change<T> {
  let value: Line | null;
  try {
    value = JSON.parse(line) as Line | null;
  } catch (cause) {
    throw new MalformedEventError(`Cannot watch ${kind.plural}: a line is no JSON`, { cause });
  }
  const { type, object } = value ?? {};
  if (type === "ERROR" && object) {
    throw new KubeError(`watch ${kind.plural}`, object.code ?? 500, object);
  }
  const resourceVersion = object?.metadata?.resourceVersion;
  if (!object || typeof resourceVersion !== "string") {
    throw new MalformedEventError(`Cannot watch ${kind.plural}: a line without a resource version`);
  }
  if (type === "BOOKMARK") return { type, resourceVersion };
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") {
    throw new MalformedEventError(`Cannot watch ${kind.plural}: unknown event "${type}"`);
  }
  if (!object.metadata.name) {
    throw new MalformedEventError(`Cannot watch ${kind.plural}: an object without a name`);
  }
  return { type, object: object as ApiObject as T, resourceVersion };
}
