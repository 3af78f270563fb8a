/**
 * ConfigMap and Secret.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import { bytes, flag, keyFaults, maxDataSize, text } from "./values.ts";

interface Data {
  readonly [key: string]: string;
}

const size = (data: Data | undefined): number =>
  Object.values(data ?? {}).reduce((total, value) => total + value.length, 0);

const immutable = k.optional(flag, "Whether the data stays as it is for good.");

const wholeConfigMap = resource("ConfigMap", {
  data: k.optional(k.map(text), "Texts by key."),
  binaryData: k.optional(k.map(bytes), "Other data by key, in base64."),
  immutable,
});
const configMapSchema = k.object(wholeConfigMap.shape, {
  faults: (config) => [...configMapFaults(config)],
});

function* configMapFaults(
  { data, binaryData }: { readonly data?: Data; readonly binaryData?: Data },
): Generator<Fault> {
  yield* keyFaults(data, "data");
  yield* keyFaults(binaryData, "binaryData");
  for (const key of Object.keys(binaryData ?? {})) {
    if (data?.[key] === undefined) continue;
    yield {
      reason: "Invalid",
      detail: "duplicate of key present in binaryData",
      value: key,
      path: ["data", `[${key}]`],
    };
  }
  if (size(data) + size(binaryData) * 3 / 4 > maxDataSize) {
    yield { reason: "TooLong", detail: `may not be more than ${maxDataSize} bytes`, omitted: true };
  }
}

export type ConfigMap = ObjectOf<typeof configMapSchema>;

export const configMap = defineKind<ConfigMap>(
  { group: "", kind: "ConfigMap", plural: "configmaps", shortNames: ["cm"], hasStatus: false },
  version("v1", configMapSchema, {
    columns: [age],
  }),
);

/** Keys that Secrets of a type have to have. */
const wanted: { readonly [type: string]: readonly string[] } = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
};

const wholeSecret = resource("Secret", {
  data: k.optional(k.map(bytes), "Data by key, in base64."),
  stringData: k.optional(k.map(text), "Texts that are put into data when the object is written."),
  type: k.defaulted(text, "Opaque", "What the data are for."),
  immutable,
});
const secretSchema = k.object(wholeSecret.shape, {
  normalize: ({ stringData, ...secret }) => {
    if (!stringData) return secret;
    const encoded = Object.entries(stringData).map(([key, value]) => [key, encode(value)] as const);
    return { ...secret, data: { ...secret.data, ...Object.fromEntries(encoded) } };
  },
  faults: (secret) => [...secretFaults(secret)],
});

function encode(value: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(value)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function* secretFaults({ data, type }: { readonly data?: Data; readonly type: string }): Generator<Fault> {
  yield* keyFaults(data, "data");
  for (const key of wanted[type] ?? []) {
    if (data?.[key] === undefined) yield { reason: "Required", path: ["data", `[${key}]`] };
  }
  if (type === "kubernetes.io/basic-auth" && data?.username === undefined && data?.password === undefined) {
    for (const key of ["username", "password"]) yield { reason: "Required", path: ["data", `[${key}]`] };
  }
  if (size(data) * 3 / 4 > maxDataSize) {
    yield {
      reason: "TooLong",
      detail: `may not be more than ${maxDataSize} bytes`,
      omitted: true,
      path: ["data"],
    };
  }
}

export type Secret = ObjectOf<typeof secretSchema>;

export const secret = defineKind<Secret>(
  { group: "", kind: "Secret", plural: "secrets", hasStatus: false },
  version("v1", secretSchema, {
    columns: [
      { name: "Type", type: "string", jsonPath: ".type" },
      age,
    ],
  }),
);
