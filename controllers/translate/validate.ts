/**
 * Finds what a proxy would refuse before it is sent to one.
 *
 * @module
 */
import { RE2JS } from "re2js";

/** Why RE2 refuses a regular expression; `undefined` if it takes it. */
export function regexFault(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    // The library throws for every syntax error; what it says about the pattern is for the user.
    const problem = (error instanceof Error ? error.message : String(error)).replace(
      "error parsing regexp: ",
      "",
    );
    return `RE2 refuses the regular expression "${pattern}" (${problem}), write it in RE2 syntax`;
  }
}

/** The characters of a token, as RFC 9110, 5.6.2 has it. */
const token = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;

/** Whether a text could be the name of a header or a method. */
export function isToken(text: string): boolean {
  return token.test(text);
}

/** A field value without control characters other than tab, RFC 9110, 5.5. */
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const fieldValue = /^[^\x00-\x08\x0a-\x1f\x7f]*$/;

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
  if (!fieldValue.test(value)) return `the value of header "${name}" holds control characters, remove them`;
  return undefined;
}
