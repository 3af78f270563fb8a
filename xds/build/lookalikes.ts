/**
 * Headers that many backends cannot tell from those that a proxy vouches for.
 *
 * An underscore is as good as any character in the name of a header (RFC 9110, 5.1), and routes may match on it. But what
 * speaks CGI or its like takes `X_Forwarded_For` for `X-Forwarded-For`. So requests keep their underscores, but for names by which
 * a client could forge what the proxy says of it.
 *
 * @module
 */

/** What a proxy tells backends about a request, where backends may believe it. */
const vouchedFor = [
  "x-envoy-external-address",
  "x-forwarded-client-cert",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-request-id",
];

/** Their names with any of the hyphens replaced by underscores, sorted. */
export const lookalikes: readonly string[] = vouchedFor.flatMap((name) => {
  const [first = "", ...others] = name.split("-");
  return others.reduce(
    (names, part) => names.flatMap((before) => [`${before}-${part}`, `${before}_${part}`]),
    [first],
  )
    .filter((variant) => variant !== name);
}).sort();
