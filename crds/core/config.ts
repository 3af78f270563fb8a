/**
 * ConfigMap and Secret.
 *
 * @module
 */
import { age, defineKind, type ObjectOf, resource, version } from "../define.ts";
import type { ObjectMeta } from "../kind.ts";
import * as k from "../schema/build.ts";
import type { Fault } from "../schema/facts.ts";
import { bytes, bytesOf, canonical, flag, keyFaults, maxDataSize, text } from "./values.ts";

interface Data {
  readonly [key: string]: string;
}

const size = (data: Data | undefined, bytes: (value: string) => number): number =>
  Object.values(data ?? {}).reduce((total, value) => total + bytes(value), 0);

const utf8 = new TextEncoder();

/** Data in base64 as it is written. */
const inBase64 = (data: Data): Data =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, canonical(value)]));

const immutable = k.optional(flag, "Whether the data stays as it is for good.");

const wholeConfigMap = resource("ConfigMap", {
  data: k.optional(k.map(text), "Texts by key."),
  binaryData: k.optional(k.map(bytes), "Other data by key, in base64."),
  immutable,
});
const configMapSchema = k.object(wholeConfigMap.shape, {
  normalize: (config) => config.binaryData ? { ...config, binaryData: inBase64(config.binaryData) } : config,
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
  if (size(data, (value) => utf8.encode(value).length) + size(binaryData, bytesOf) > maxDataSize) {
    const detail = `may not be more than ${maxDataSize} bytes`;
    yield { reason: "TooLong", detail, omitted: true, path: ["[]"] }; // the name that Kubernetes gives the whole
  }
}

export type ConfigMap = ObjectOf<typeof configMapSchema>;

export const configMap = defineKind<ConfigMap>(
  { group: "", kind: "ConfigMap", plural: "configmaps", shortNames: ["cm"], hasStatus: false },
  version("v1", configMapSchema, {
    columns: [age],
  }),
);

/** The annotation that says whose token a Secret is to hold. */
const serviceAccountName = "kubernetes.io/service-account.name";

function isJson(base64: string): boolean {
  try {
    JSON.parse(atob(base64));
    return true;
  } catch {
    return false;
  }
}

/** Keys that Secrets of a type have to have. */
const wanted: { readonly [type: string]: readonly string[] } = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
};

const textOrEmpty = k.string({ emptyIsAbsent: true });

const wholeSecret = resource("Secret", {
  data: k.optional(k.map(bytes), "Data by key, in base64."),
  stringData: k.optional(k.map(text), "Texts that are put into data when the object is written."),
  type: k.defaulted(textOrEmpty, "Opaque", "What the data are for."),
  immutable,
});
const secretSchema = k.object(wholeSecret.shape, {
  normalize: ({ stringData, data, ...secret }) => {
    if (!stringData && !data) return secret;
    const encoded = Object.entries(stringData ?? {}).map(([key, value]) => [key, encode(value)] as const);
    return { ...secret, data: { ...inBase64(data ?? {}), ...Object.fromEntries(encoded) } };
  },
  faults: (secret) => [...secretFaults(secret)],
});

function encode(value: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(value)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function* secretFaults({ metadata, data, type }: {
  readonly metadata: ObjectMeta;
  readonly data?: Data;
  readonly type: string;
}): Generator<Fault> {
  yield* keyFaults(data, "data");
  for (const key of wanted[type] ?? []) {
    const value = data?.[key], path = ["data", `[${key}]`];
    if (value === undefined || value === "" && key === "ssh-privatekey") yield { reason: "Required", path };
    else if (key.startsWith(".docker") && !isJson(value)) {
      yield { reason: "Invalid", detail: "must be JSON", omitted: true, path };
    }
  }
  if (type === "kubernetes.io/service-account-token" && !metadata.annotations?.[serviceAccountName]) {
    yield { reason: "Required", path: ["metadata", "annotations", `[${serviceAccountName}]`] };
  }
  if (type === "kubernetes.io/basic-auth" && data?.username === undefined && data?.password === undefined) {
    for (const key of ["username", "password"]) yield { reason: "Required", path: ["data", `[${key}]`] };
  }
  if (size(data, bytesOf) > maxDataSize) {
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
