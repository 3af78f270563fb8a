/**
 * Resources as people read them: the fields of Envoy's own YAML.
 *
 * @module
 */
import { concatenated, sizeOf } from "./build/pack.ts";
import type { XdsResource } from "./types.ts";
import { Resource } from "./wire/envoy/discovery.ts";
import { decode } from "./wire/mod.ts";

/** Decodes what proxies are sent, without private keys. The type is left out, since the resource's id says it. */
export function viewResource({ bytes }: Pick<XdsResource, "bytes">): { readonly [field: string]: unknown } {
  const { "@type": _, ...fields } = decode(Resource, concatenated(bytes, sizeOf(bytes))).resource as {
    readonly "@type": string;
    readonly virtual_hosts?: readonly { readonly name: string }[];
  };
  // What is sent is in an order of its own, which means nothing.
  const virtual_hosts = fields.virtual_hosts?.toSorted((a, b) => a.name < b.name ? -1 : 1);
  return withoutKeys({ ...fields, ...virtual_hosts && { virtual_hosts } }) as {
    readonly [field: string]: unknown;
  };
}

/** The same without private keys, for all that is shown to people. */
export function withoutKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKeys);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      name === "private_key" ? { inline_string: "[redacted]" } : withoutKeys(field),
    ]),
  );
}
