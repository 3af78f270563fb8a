/**
 * Simple values and small objects of the core kinds.
 *
 * @module
 */
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import { isLabel } from "../schema/formats.ts";
import { isQualifiedName } from "../meta.ts";

export const text = k.string();
export const flag = k.boolean();
export const int32 = k.integer({ format: "int32" });
export const int64 = k.integer({ format: "int64" });
export const time = k.string({ format: "date-time" });

/** `metav1.MicroTime`: to the microsecond, which Kubernetes insists on. */
export const microTime = k.string({
  format: "date-time",
  faults: (value) =>
    /\.\d{6}(Z|[-+]\d\d:\d\d)$/.test(value) || Number.isNaN(Date.parse(value)) ? [] : [{
      reason: "TypeInvalid",
      detail: "must have six digits behind the seconds",
    }],
});

const fault = (detail: string): readonly Fault[] => [{ reason: "Invalid", detail }];

export const portNumber = k.integer({
  format: "int32",
  faults: (port) => port >= 1 && port <= 65535 ? [] : fault("must be between 1 and 65535, inclusive"),
});

/** Whether a text may name a port of a container (RFC 6335). */
export const isPortName = (name: string): boolean =>
  name.length <= 15 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && /[a-z]/.test(name);

export const protocol = k.enumerationOrEmpty("SCTP", "TCP", "UDP");

/** Whatever applications speak on a port: an IANA name, or one with a prefix such as `kubernetes.io/h2c`. */
export const appProtocol = k.string({
  faults: (value) =>
    isQualifiedName(value)
      ? []
      : fault('must be a name, perhaps with a DNS prefix, such as "kubernetes.io/h2c"'),
});

export const labelText = k.string({
  faults: (value) => value === "" || isLabel(value) ? [] : fault("must be a lowercase RFC 1123 label"),
});

const dataKey = /^[-._a-zA-Z0-9]{1,253}$/;

/** What keys of ConfigMaps and Secrets may not be. */
export function* keyFaults(
  entries: { readonly [key: string]: unknown } | undefined,
  field: string,
): Generator<Fault> {
  for (const key of Object.keys(entries ?? {})) {
    if (dataKey.test(key) && key !== "." && !key.startsWith("..")) continue;
    const detail = "keys must have at most 253 characters of A-Z, a-z, 0-9, '-', '_' or '.'";
    yield { reason: "Invalid", detail, value: key, path: [field, `[${key}]`] };
  }
}

export const maxDataSize = 1024 * 1024;

/** How many bytes a base64 text stands for. */
export const bytesOf = (base64: string): number => Math.floor(base64.replace(/[=\r\n]/g, "").length * 3 / 4);

/** Base64 as Kubernetes writes it: in one line, with nothing in the bits that are left over. */
export function canonical(base64: string): string {
  if (!isBase64(base64)) return base64;
  const line = /[\r\n]/.test(base64) ? base64.replace(/[\r\n]/g, "") : base64;
  return line.endsWith("=") ? line.slice(0, -4) + btoa(atob(line.slice(-4))) : line;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const isBase64 = (text: string): boolean => base64.test(text.replace(/[\r\n]/g, ""));

export const bytes = k.string({
  format: "byte",
  faults: (value) =>
    isBase64(value) ? [] : [{
      reason: "Invalid",
      detail: "must be base64",
      omitted: true,
    }],
});

/** Why an address cannot be that of an endpoint or a node; `undefined` if it can. */
export function specialAddress(
  address: string,
  options: { readonly loopback?: boolean } = {},
): string | undefined {
  const plain = address.toLowerCase().replace(/^::ffff:(?=[0-9.]+$)/, "");
  if (/^0\.0\.0\.0$|^[0:]+$/.test(plain)) return "may not be unspecified";
  if (!options.loopback && /^127\.|^(0*:)*:?0*1$/.test(plain)) return "may not be in the loopback range";
  if (/^169\.254\.|^fe[89ab][0-9a-f]:/.test(plain)) return "may not be in the link-local range";
  if (/^224\.0\.0\.|^ff[0-9a-f]2:/.test(plain)) return "may not be in the link-local multicast range";
  return undefined;
}

export const localObjectReference = k.object({ name: k.optional(text, "Name of the object.") });

/** `v1.ObjectReference`. */
export const objectReference = k.object({
  kind: k.optional(text, "Kind of the object."),
  namespace: k.optional(text, "Namespace of the object."),
  name: k.optional(text, "Name of the object."),
  uid: k.optional(text, "UID of the object."),
  apiVersion: k.optional(text, "Group and version of the object."),
  resourceVersion: k.optional(text, "Version of the object that is meant."),
  fieldPath: k.optional(text, "Part of the object that is meant."),
}, { mapType: "atomic" });
