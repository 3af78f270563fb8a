/**
 * What an API server demands of metadata, whatever the kind.
 *
 * @module
 */
import type { ObjectMeta, OwnerReference } from "../../crds/kind.ts";
import type { Cause } from "./status.ts";

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;

/** The forms of names that kinds ask for. */
export const nameForms = {
  subdomain: {
    pattern: new RegExp(`^${subdomain}$`),
    length: 253,
    message:
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
      `and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`,
  },
  label: {
    pattern: new RegExp(`^${label}$`),
    length: 63,
    message:
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " +
      `and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`,
  },
  dns1035: {
    pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    length: 63,
    message:
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
      "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
      "'[a-z]([-a-z0-9]*[a-z0-9])?')",
  },
} as const;

export type NameForm = keyof typeof nameForms;

const strings = ["name", "namespace", "generateName", "uid", "resourceVersion", "creationTimestamp"] as const;
const kept = new Set<string>([
  ...strings,
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
]);
/** Known, and left out of what is stored. */
const dropped = new Set(["managedFields", "selfLink"]);

export interface ReadMetadata {
  readonly metadata: ObjectMeta;
  readonly unknownFields: readonly string[];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function goType(value: unknown): string {
  return Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
}

/**
 * Gives metadata their type.
 *
 * @throws {TypeError} with the text of Go's decoder if a field has another type
 */
export function readMetadata(value: unknown): ReadMetadata {
  if (value !== undefined && value !== null && !isRecord(value)) {
    throw new TypeError(`json: cannot unmarshal ${goType(value)} into Go struct field ObjectMeta.metadata`);
  }
  const given = (value ?? {}) as Record<string, unknown>;
  const metadata: Record<string, unknown> = {};
  const unknownFields: string[] = [];
  const refuse = (field: string, found: unknown, wanted: string): never => {
    throw new TypeError(
      `json: cannot unmarshal ${
        goType(found)
      } into Go struct field ObjectMeta.metadata.${field} of type ${wanted}`,
    );
  };
  for (const [field, found] of Object.entries(given)) {
    if (dropped.has(field) || (found === null && kept.has(field))) continue;
    if (!kept.has(field)) {
      unknownFields.push(`metadata.${field}`);
      continue;
    }
    if ((strings as readonly string[]).includes(field) || field === "deletionTimestamp") {
      if (typeof found !== "string") refuse(field, found, "string");
      if (found === "") continue;
      if (/Timestamp$/.test(field) && !/^\d{4}-\d\d-\d\dT/.test(found as string)) {
        throw new TypeError(`parsing time ${JSON.stringify(found)} as RFC 3339`);
      }
    } else if (field === "labels" || field === "annotations") {
      if (!isRecord(found)) refuse(field, found, "map[string]string");
      const entries = Object.entries(found as Record<string, unknown>);
      for (const [, text] of entries) {
        if (typeof text !== "string" && text !== null) refuse(field, text, "string");
      }
      if (entries.length === 0) continue;
      metadata[field] = Object.fromEntries(entries.map(([name, text]) => [name, text ?? ""]));
      continue;
    } else if (field === "finalizers" || field === "ownerReferences") {
      if (!Array.isArray(found)) {
        refuse(field, found, field === "finalizers" ? "[]string" : "[]v1.OwnerReference");
      }
      for (const item of found as unknown[]) {
        if (field === "finalizers" ? typeof item !== "string" : !isRecord(item)) {
          refuse(field, item, field === "finalizers" ? "string" : "v1.OwnerReference");
        }
      }
      if ((found as unknown[]).length === 0) continue;
    } else if (typeof found !== "number") refuse(field, found, "int64");
    metadata[field] = found;
  }
  return { metadata: metadata as unknown as ObjectMeta, unknownFields };
}

const quoted = (value: unknown): string => JSON.stringify(value);

/** A name that is wrong for its kind, as causes. */
export function checkName(name: string, form: NameForm, field = "metadata.name"): readonly Cause[] {
  const { pattern, length, message } = nameForms[form];
  const causes: Cause[] = [];
  const say = (text: string) =>
    causes.push({ reason: "FieldValueInvalid", field, message: `Invalid value: ${quoted(name)}: ${text}` });
  if (name.length > length) say(`must be no more than ${length} characters`);
  if (!pattern.test(name)) say(message);
  return causes;
}

const qualifiedName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

/**
 * Labels, annotations, finalizers and owner references that are not as they must be. Finalizers without a prefix are refused for
 * Kubernetes' own kinds alone.
 */
export function checkMetadata(metadata: ObjectMeta, custom: boolean): readonly Cause[] {
  const causes: Cause[] = [];
  const say = (field: string, value: unknown, text: string) =>
    causes.push({ reason: "FieldValueInvalid", field, message: `Invalid value: ${quoted(value)}: ${text}` });
  for (const [name, value] of Object.entries(metadata.labels ?? {})) {
    if (!qualifiedName.test(name)) {
      say(
        "metadata.labels",
        name,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
          "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      );
    }
    if (value.length > 63) say("metadata.labels", value, "must be no more than 63 characters");
    if (!labelValue.test(value)) {
      say(
        "metadata.labels",
        value,
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start " +
          "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
          "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      );
    }
  }
  let size = 0;
  for (const [name, value] of Object.entries(metadata.annotations ?? {})) {
    if (!qualifiedName.test(name.toLowerCase())) {
      say(
        "metadata.annotations",
        name,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
          "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      );
    }
    size += name.length + value.length;
  }
  if (size > 262144) {
    causes.push({
      reason: "FieldValueTooLong",
      field: "metadata.annotations",
      message: "Too long: may not be more than 262144 bytes",
    });
  }
  for (const [index, finalizer] of (metadata.finalizers ?? []).entries()) {
    if (!qualifiedName.test(finalizer)) {
      say("metadata.finalizers", finalizer, "name part must be non-empty and valid");
    } else if (
      !custom && !isQualified(finalizer)
    ) {
      say(
        `metadata.finalizers[${index}]`,
        finalizer,
        "name is neither a standard finalizer name nor is it fully qualified",
      );
    }
  }
  (metadata.ownerReferences ?? []).forEach((owner: Partial<OwnerReference>, index) => {
    for (const field of ["apiVersion", "kind", "name", "uid"] as const) {
      if (owner[field]) continue;
      const at = `metadata.ownerReferences[${index}].${field}`;
      if (!["name", "uid"].includes(field)) say(at, "", "must not be empty");
      else {causes.push({
          reason: "FieldValueRequired",
          field: at,
          message: "Required value: must not be empty",
        });}
    }
  });
  const controllers = (metadata.ownerReferences ?? []).filter((owner) => owner.controller);
  if (controllers.length > 1) {
    say(
      "metadata.ownerReferences",
      metadata.ownerReferences,
      "Only one reference can have Controller set to true. " +
        `Found "true" in references for ${controllers[0]!.name} and ${controllers[1]!.name}`,
    );
  }
  return causes;
}

/** Whether a finalizer has a prefix, or is one of Kubernetes' own. */
function isQualified(finalizer: string): boolean {
  return finalizer.includes("/") || ["orphan", "foregroundDeletion", "kubernetes"].includes(finalizer);
}

/** What is said of new finalizers without a prefix, where they are not refused. */
export function finalizerWarnings(
  { metadata }: { readonly metadata: ObjectMeta },
  old: { readonly metadata: ObjectMeta } | undefined,
  custom: boolean,
): readonly string[] {
  if (!custom) return [];
  return (metadata.finalizers ?? [])
    .filter((name) => !isQualified(name) && !old?.metadata.finalizers?.includes(name))
    .map((name) =>
      `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name ` +
      `${name.includes(".") ? "including a path (/) " : ""}to avoid accidental ` +
      "conflicts with other finalizer writers"
    );
}

/** A name made from `prefix` as Kubernetes makes them: five letters that spell no words. */
export function generateName(prefix: string): string {
  const alphabet = "bcdfghjklmnpqrstvwxz2456789";
  const random = crypto.getRandomValues(new Uint8Array(5));
  return prefix.slice(0, 58) + Array.from(random, (byte) => alphabet[byte % alphabet.length]).join("");
}
