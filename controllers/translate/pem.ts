/**
 * PEM (RFC 7468): the texts that certificates and keys are kept in.
 *
 * @module
 */

export interface PemBlock {
  /** As in `BEGIN CERTIFICATE`. */
  readonly label: string;
  /** The whole block, markers included, ending with a line break. */
  readonly text: string;
}

/** The blocks of a text, whatever stands between them; what is not well-formed is no block. */
export function pemBlocks(text: string): readonly PemBlock[] {
  const pattern = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([^-]*)\r?\n?-----END \1-----/g;
  return [...text.matchAll(pattern)].map(([whole, label = ""]) => ({
    label,
    text: `${whole.replaceAll("\r", "")}\n`,
  }));
}

/** The text behind a value of a Secret, which is base64; `undefined` if it is not even that. */
export function textOf(value: string): string | undefined {
  try {
    return atob(value.replace(/\s/g, ""));
  } catch {
    return undefined; // Nothing but base64 was promised; what to make of it is the caller's to say.
  }
}
