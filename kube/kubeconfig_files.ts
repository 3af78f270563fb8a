/**
 * Kubeconfig files: read, merged, checked.
 *
 * @module
 */
import { parse } from "yaml";
import { z } from "zod";
import { ConfigError } from "./errors.ts";
import { execConfig } from "./exec_plugin.ts";
import type { Surroundings } from "./surroundings.ts";

const text = z.string().nullish();

const clusterSchema = z.looseObject({
  server: z.string(),
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": z.boolean().nullish(),
  "tls-server-name": text,
  "proxy-url": text,
  extensions: z.array(z.looseObject({ name: z.string(), extension: z.unknown() })).nullish(),
});

const userSchema = z.looseObject({
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  "as-uid": text,
  "as-groups": z.array(z.string()).nullish(),
  exec: execConfig.nullish(),
  "auth-provider": z.looseObject({ name: z.string() }).nullish(),
});

const contextSchema = z.looseObject({ cluster: z.string(), user: text, namespace: text });

const fileSchema = z.looseObject({
  apiVersion: z.literal("v1").nullish(),
  kind: z.literal("Config").nullish(),
  "current-context": text,
  clusters: z.array(z.looseObject({ name: z.string(), cluster: clusterSchema })).nullish(),
  users: z.array(z.looseObject({ name: z.string(), user: userSchema.nullish() })).nullish(),
  contexts: z.array(z.looseObject({ name: z.string(), context: contextSchema })).nullish(),
});

export type ClusterEntry = z.infer<typeof clusterSchema>;
export type UserEntry = z.infer<typeof userSchema>;
export type ContextEntry = z.infer<typeof contextSchema>;

/** An entry, and the file that it is from: its relative paths start there. */
export interface From<T> {
  readonly file: string;
  readonly value: T;
}

/** What one or several files say together. */
export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext?: string;
  readonly clusters: ReadonlyMap<string, From<ClusterEntry>>;
  readonly users: ReadonlyMap<string, From<UserEntry>>;
  readonly contexts: ReadonlyMap<string, From<ContextEntry>>;
}

/** The files that kubectl would read: those of `$KUBECONFIG`, or `~/.kube/config`. */
export function defaultKubeconfigs(env: Surroundings["env"]): readonly string[] {
  const listed = (env.KUBECONFIG ?? "").split(":").filter((path) => path !== "");
  if (listed.length > 0) return [...new Set(listed)];
  return env.HOME ? [`${env.HOME}/.kube/config`] : [];
}

/**
 * Reads and merges kubeconfig files. The first file that has a cluster, user, context or current context of some name has all
 * of it. Files of a list may be missing as long as one is there.
 *
 * @throws {ConfigError} if there is none, or one cannot be read or makes no sense.
 */
export async function readKubeconfigs(
  files: readonly string[],
  surroundings: Pick<Surroundings, "readFile">,
): Promise<Kubeconfig> {
  const read: string[] = [];
  const clusters = new Map<string, From<ClusterEntry>>();
  const users = new Map<string, From<UserEntry>>();
  const contexts = new Map<string, From<ContextEntry>>();
  let currentContext: string | undefined;
  for (const file of files) {
    const content = await readOne(file, surroundings);
    if (content === undefined) continue;
    read.push(file);
    currentContext ||= content["current-context"] || undefined;
    for (const { name, cluster } of content.clusters ?? []) add(clusters, name, file, cluster);
    for (const { name, user } of content.users ?? []) add(users, name, file, user ?? {});
    for (const { name, context } of content.contexts ?? []) add(contexts, name, file, context);
  }
  if (read.length === 0) {
    const where = files.length === 0 ? "neither KUBECONFIG nor HOME is set" : `no file ${files.join(", ")}`;
    throw new ConfigError(`Cannot read a kubeconfig: ${where}`);
  }
  return { files: read, ...(currentContext ? { currentContext } : {}), clusters, users, contexts };
}

function add<T>(entries: Map<string, From<T>>, name: string, file: string, value: T): void {
  if (!entries.has(name)) entries.set(name, { file, value });
}

async function readOne(
  file: string,
  { readFile }: Pick<Surroundings, "readFile">,
): Promise<z.infer<typeof fileSchema> | undefined> {
  let content: string;
  try {
    content = await readFile(file);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw failure(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
  let value: unknown;
  try {
    value = parse(content) ?? {};
  } catch (cause) {
    throw failure(file, cause instanceof Error ? cause.message.split("\n")[0]! : String(cause), cause);
  }
  const parsed = fileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw failure(file, `${issue?.path.join(".") || "the file"}: ${issue?.message}`, parsed.error);
}

function failure(file: string, why: string, cause: unknown): ConfigError {
  return new ConfigError(`Cannot read the kubeconfig "${file}": ${why}`, { cause });
}
