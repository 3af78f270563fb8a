/**
 * Resources as people read them: the fields of Envoy's own YAML.
 *
 * @module
 */
import type { XdsResource } from "./types.ts";
import { Resource } from "./wire/envoy/discovery.ts";
import { decode } from "./wire/mod.ts";

/** Decodes what proxies are sent. The type is left out, since the resource's id says it. */
export function viewResource({ bytes }: Pick<XdsResource, "bytes">): { readonly [field: string]: unknown } {
  const whole = new Uint8Array(bytes.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of bytes) {
    whole.set(piece, at);
    at += piece.length;
  }
  const { "@type": _, ...fields } = decode(Resource, whole).resource as { readonly "@type": string };
  return fields;
}
