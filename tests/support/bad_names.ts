/**
 * Names that are none, for tests of what becomes of them.
 *
 * @module
 */

/** What is no hostname. */
export const noHostnames = [
  " ",
  ".",
  ".a",
  "a.",
  "a..b",
  "-a",
  "a-",
  "a.-b",
  "a_b",
  "A.b",
  "a b",
  "a,b",
  "a/b",
  "a:80",
  "http://a",
  "[::1]",
  "::1",
  "%",
  "a\nb",
  "a\0b",
  "bücher.example",
  "a.\u{1f600}",
];

/** What is no hostname, even where one with a wildcard would do. */
export const wrongWildcards = ["*", "*.", "*a", "*a.b", "a*.b", "**.b", "*.*.b", "a.*.b", "a.*", "*.b.*"];

/** What is no name of a header. */
export const noHeaderNames = ["a b", ":path", "a:b", "ä", "a(b)", "a\nb", "a\0"];
