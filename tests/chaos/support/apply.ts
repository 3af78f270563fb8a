/**
 * Server-side apply for the API server of the tests, which has none: a patch of what was observed, or an object that is made.
 *
 * It does what the operator's own applies come to: each of them owns the fields that it writes, and nobody else writes them.
 * Without a uid they are for what is not there, and have a version that no object has.
 *
 * @module
 */

/** The request that stands for one, which is itself unless it applies. */
export function withoutApply(
  input: URL | string,
  init: RequestInit | undefined,
): readonly [URL | string, RequestInit | undefined] {
  const headers = new Headers(init?.headers);
  if (headers.get("content-type") !== "application/apply-patch+yaml") return [input, init];
  const url = new URL(input), object = JSON.parse(String(init?.body));
  url.search = "";
  const { uid, resourceVersion: _, ...metadata } = object.metadata;
  if (uid !== undefined) {
    headers.set("content-type", "application/merge-patch+json");
    return [url, { ...init, headers }];
  }
  url.pathname = url.pathname.slice(0, url.pathname.lastIndexOf("/"));
  headers.set("content-type", "application/json");
  return [url, { ...init, method: "POST", headers, body: JSON.stringify({ ...object, metadata }) }];
}
