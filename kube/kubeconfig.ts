/**
 * A context of a kubeconfig, as a cluster to connect to.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";
import { type Log, silentLog } from "../controllers/runtime/log.ts";
import type { Cluster, Credentials } from "./cluster.ts";
import { ConfigError } from "./errors.ts";
import { ExecPlugin, type ExecStatus } from "./exec_plugin.ts";
import {
  type ClusterEntry,
  defaultKubeconfigs,
  type From,
  type Kubeconfig,
  readKubeconfigs,
  type UserEntry,
} from "./kubeconfig_files.ts";
import { Materials, type Source } from "./materials.ts";
import { ServerNameProxy } from "./server_name.ts";
import type { Surroundings } from "./surroundings.ts";

export interface KubeconfigOptions {
  /** By default those of `$KUBECONFIG`, or `~/.kube/config`. */
  readonly files?: readonly string[] | undefined;
  /** By default the kubeconfig's current one. */
  readonly context?: string | undefined;
  readonly surroundings: Surroundings;
  readonly clock: Clock;
  readonly log?: Log;
}

/**
 * Reads kubeconfig files and takes a context of them.
 *
 * @throws {ConfigError} naming file, context and remedy if that cannot be done.
 */
export async function openKubeconfig(options: KubeconfigOptions): Promise<Cluster> {
  const { surroundings, files = defaultKubeconfigs(surroundings.env) } = options;
  return clusterOf(await readKubeconfigs(files, surroundings), options);
}

/**
 * The cluster, user and namespace of a context. Files are read and plugins run when credentials are first asked for.
 *
 * Not supported, and said so rather than ignored: `insecure-skip-tls-verify`, impersonation, and the `auth-provider`s that
 * Kubernetes itself has dropped.
 *
 * @throws {ConfigError} naming file, context and remedy if the context cannot be used.
 */
export function clusterOf(kubeconfig: Kubeconfig, options: Omit<KubeconfigOptions, "files">): Cluster {
  const chosen = choose(kubeconfig, options.context);
  const { cluster, user, name } = chosen;
  const { surroundings, clock, log = silentLog } = options;
  const refuse = (why: string): ConfigError => new ConfigError(`Cannot use ${name}: ${why}`);

  const server = serverOf(cluster.value, refuse);
  checkUser(user.value, refuse);
  const serverName = cluster.value["tls-server-name"] ?? undefined;
  const proxyUrl = cluster.value["proxy-url"] ?? undefined;
  if (serverName && proxyUrl) throw refuse("tls-server-name does not go together with proxy-url");
  const tunnel = serverName && serverName !== server.hostname ? new Tunnel(server) : undefined;

  const source = <T extends object>(entry: From<T>, key: keyof T & string): Source | undefined =>
    sourceOf(entry, key, refuse);
  const cert = source(user, "client-certificate"), key = source(user, "client-key");
  if (Boolean(cert) !== Boolean(key)) throw refuse("client-certificate and client-key need each other");
  const { exec, token, tokenFile } = user.value;
  const materials = new Materials({
    ca: source(cluster, "certificate-authority"),
    cert,
    key,
    token: tokenFile ? { file: besides(user.file, tokenFile) } : token ? { data: token } : undefined,
  }, { clock, log, readFile: surroundings.readFile, name, proxy: proxyUrl });
  const plugin = exec
    ? new ExecPlugin({ ...exec, command: commandOf(user.file, exec.command) }, {
      clock,
      surroundings,
      name,
      cluster: clusterInfo(cluster.value),
    })
    : undefined;
  const combined = new Combined(materials, plugin, basicAuthorization(user.value), tunnel);

  const address = new URL(server);
  if (tunnel && serverName) address.hostname = serverName;
  return {
    name,
    server: address,
    namespace: chosen.namespace,
    credentials: () => combined.credentials(),
    reject: (credentials) => combined.reject(credentials),
    ...(tunnel ? { close: () => tunnel.close() } : {}),
  };
}

interface Chosen {
  readonly name: string;
  readonly cluster: From<ClusterEntry>;
  readonly user: From<UserEntry>;
  readonly namespace: string;
}

function choose(kubeconfig: Kubeconfig, asked: string | undefined): Chosen {
  const files = kubeconfig.files.join(", ");
  const contextName = asked ?? kubeconfig.currentContext;
  const names = [...kubeconfig.contexts.keys()].join(", ") || "none";
  if (contextName === undefined) {
    throw new ConfigError(
      `Cannot choose a context of ${files}: it has no current-context; there are: ${names}`,
    );
  }
  const context = kubeconfig.contexts.get(contextName);
  if (!context) {
    throw new ConfigError(`Cannot find the context "${contextName}" in ${files}; there are: ${names}`);
  }
  const name = `the context "${contextName}" of ${context.file}`;
  const { cluster: clusterName, user: userName, namespace } = context.value;
  const cluster = kubeconfig.clusters.get(clusterName);
  if (!cluster) throw new ConfigError(`Cannot use ${name}: there is no cluster "${clusterName}"`);
  const user = userName ? kubeconfig.users.get(userName) : { file: context.file, value: {} };
  if (!user) throw new ConfigError(`Cannot use ${name}: there is no user "${userName}"`);
  return { name, cluster, user, namespace: namespace || "default" };
}

function serverOf(cluster: ClusterEntry, refuse: (why: string) => ConfigError): URL {
  if (cluster["insecure-skip-tls-verify"]) {
    throw refuse(
      "insecure-skip-tls-verify is not supported; put the server's CA into certificate-authority-data instead",
    );
  }
  const server = URL.parse(cluster.server) ?? URL.parse(`https://${cluster.server}`);
  if (!server || !["https:", "http:"].includes(server.protocol)) {
    throw refuse(`the server "${cluster.server}" is no URL of HTTP`);
  }
  return server;
}

function checkUser(user: UserEntry, refuse: (why: string) => ConfigError): void {
  const provider = user["auth-provider"];
  if (provider) {
    throw refuse(`the auth-provider "${provider.name}" is not supported; use its exec plugin instead`);
  }
  if (user.as || user["as-uid"] || user["as-groups"]?.length) {
    throw refuse("impersonation (as, as-groups, as-uid) is not supported; use credentials of that user");
  }
}

/** `KEY-data`, which counts first, or the file `KEY`. */
function sourceOf<T extends object>(
  { file, value }: From<T>,
  key: keyof T & string,
  refuse: (why: string) => ConfigError,
): Source | undefined {
  const entry = value as { readonly [key: string]: unknown };
  const data = entry[`${key}-data`], path = entry[key];
  if (typeof data === "string" && data !== "") {
    try {
      return { data: new TextDecoder().decode(Uint8Array.fromBase64(data)) };
    } catch {
      throw refuse(`${key}-data is not base64`);
    }
  }
  return typeof path === "string" && path !== "" ? { file: besides(file, path) } : undefined;
}

/** A path that starts at the directory of `file` unless it is absolute. */
function besides(file: string, path: string): string {
  if (path.startsWith("/")) return path;
  const slash = file.lastIndexOf("/");
  return slash === -1 ? path : `${file.slice(0, slash + 1)}${path}`;
}

/** A bare name is looked up in PATH, a relative path starts at the kubeconfig. */
function commandOf(file: string, command: string): string {
  return command.includes("/") ? besides(file, command) : command;
}

function basicAuthorization({ username, password }: UserEntry): string | undefined {
  if (!username) return undefined;
  const bytes = new TextEncoder().encode(`${username}:${password ?? ""}`);
  return `Basic ${bytes.toBase64()}`;
}

/** `spec.cluster` of an ExecCredential. */
function clusterInfo(cluster: ClusterEntry): Record<string, unknown> {
  const extension = cluster.extensions?.find(({ name }) => name === "client.authentication.k8s.io/exec");
  return {
    server: cluster.server,
    ...Object.fromEntries(
      ["tls-server-name", "certificate-authority-data", "proxy-url"]
        .filter((key) => cluster[key]).map((key) => [key, cluster[key]]),
    ),
    ...(extension ? { config: extension.extension } : {}),
  };
}

/** Opens the proxy that `tls-server-name` needs when it is first used. */
class Tunnel {
  readonly #server: URL;
  #proxy: ServerNameProxy | undefined;

  constructor(server: URL) {
    this.#server = server;
  }

  get url(): string {
    const { hostname, port } = this.#server;
    this.#proxy ??= new ServerNameProxy({
      hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: Number(port || 443),
    });
    return this.#proxy.url;
  }

  async close(): Promise<void> {
    const proxy = this.#proxy;
    this.#proxy = undefined;
    await proxy?.[Symbol.asyncDispose]();
  }
}

/** Puts together what the kubeconfig holds and what its plugin says. */
class Combined {
  readonly #materials: Materials;
  readonly #plugin: ExecPlugin | undefined;
  readonly #basic: string | undefined;
  readonly #tunnel: Tunnel | undefined;
  #last:
    | { readonly base: Credentials; readonly status: ExecStatus | undefined; readonly all: Credentials }
    | undefined;

  constructor(
    materials: Materials,
    plugin: ExecPlugin | undefined,
    basic: string | undefined,
    tunnel: Tunnel | undefined,
  ) {
    this.#materials = materials;
    this.#plugin = plugin;
    this.#basic = basic;
    this.#tunnel = tunnel;
  }

  async credentials(): Promise<Credentials> {
    const base = await this.#materials.credentials();
    const status = await this.#plugin?.status();
    const last = this.#last;
    if (last && last.base === base && last.status === status) return last.all;
    const { token, cert, key } = status ?? {};
    const authorization = token ? `Bearer ${token}` : base.authorization ?? this.#basic;
    // The same object as long as nothing in it changes, or every new token would cost new connections.
    const sameTls = last && last.base.tls === base.tls && last.status?.cert === cert &&
      last.status?.key === key;
    const tls = sameTls ? last.all.tls : {
      ...base.tls,
      ...(cert && key ? { cert, key } : {}),
      ...(this.#tunnel ? { proxy: this.#tunnel.url } : {}),
    };
    const all = { tls, ...(authorization === undefined ? {} : { authorization }) };
    this.#last = { base, status, all };
    return all;
  }

  reject(credentials: Credentials): void {
    const last = this.#last;
    if (!last || last.all !== credentials) return;
    this.#materials.reject(last.base);
    if (last.status) this.#plugin?.reject(last.status);
  }
}
