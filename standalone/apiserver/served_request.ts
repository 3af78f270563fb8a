/**
 * A request as it is served.
 *
 * @module
 */

/** What is read of a request: making a `Request` with all that belongs to it costs as much as serving it. */
export interface ServedRequest extends Pick<Request, "method" | "url" | "headers" | "signal"> {
  /** In pieces; nothing for a request that has none. */
  readonly body: AsyncIterable<Uint8Array> | null;
}
