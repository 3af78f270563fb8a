/**
 * Credentials from a program, as cloud providers have them. client.authentication.k8s.io/v1.
 *
 * @module
 */
import type { Clock } from "../controllers/runtime/clock.ts";
import { z } from "zod";
import { ConfigError } from "./errors.ts";
import type { Output, Surroundings } from "./surroundings.ts";

/** `users[].user.exec` of a kubeconfig. */
export const execConfig = z.looseObject({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: z.string().nullish(),
  interactiveMode: z.enum(["Never", "IfAvailable", "Always"]).nullish(),
  provideClusterInfo: z.boolean().nullish(),
});
export type ExecConfig = z.infer<typeof execConfig>;

const apiVersions: readonly string[] = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
];

const execCredential = z.looseObject({
  apiVersion: z.string(),
  kind: z.literal("ExecCredential"),
  status: z.looseObject({
    expirationTimestamp: z.string().nullish(),
    token: z.string().nullish(),
    clientCertificateData: z.string().nullish(),
    clientKeyData: z.string().nullish(),
  }),
});

/** What a plugin has said. */
export interface ExecStatus {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface ExecOptions {
  readonly clock: Clock;
  readonly surroundings: Pick<Surroundings, "run">;
  /** Whose plugin it is, for messages. */
  readonly name: string;
  /** `spec.cluster` of what the plugin is told, for those that ask for it. */
  readonly cluster: Readonly<Record<string, unknown>>;
}

/** The longest that a plugin may take, in milliseconds. */
const patience = 60_000;

/** Runs a plugin when it is needed: at first, when what it said expires, and when the server does not accept it. */
export class ExecPlugin {
  readonly #config: ExecConfig;
  readonly #options: ExecOptions;
  #status: ExecStatus | undefined;
  /** In milliseconds of the wall clock. */
  #expires = Infinity;
  #running: Promise<void> | undefined;

  /** @throws {ConfigError} for a plugin that cannot be run without a terminal, or speaks another version. */
  constructor(config: ExecConfig, options: ExecOptions) {
    this.#config = config;
    this.#options = options;
    if (!apiVersions.includes(config.apiVersion)) {
      throw this.#error(`it speaks ${config.apiVersion}; supported are ${apiVersions.join(" and ")}`);
    }
    if (config.interactiveMode === "Always") {
      throw this.#error("it wants to ask questions (interactiveMode: Always), but nobody is there to answer");
    }
  }

  /** The same object until it changes. */
  async status(): Promise<ExecStatus> {
    if (!this.#status || this.#options.clock.now().getTime() >= this.#expires) {
      await (this.#running ??= this.#run().finally(() => this.#running = undefined));
    }
    return this.#status!;
  }

  /** The server did not accept this. */
  reject(status: ExecStatus): void {
    if (status === this.#status) this.#status = undefined;
  }

  async #run(): Promise<void> {
    const { args, command, env, provideClusterInfo, apiVersion } = this.#config;
    const info = {
      kind: "ExecCredential",
      apiVersion,
      spec: { interactive: false, ...(provideClusterInfo ? { cluster: this.#options.cluster } : {}) },
    };
    const late = new AbortController();
    using _timer = this.#options.clock.timer(patience, () => late.abort());
    let output: Output;
    try {
      output = await this.#options.surroundings.run({
        program: command,
        args: args ?? [],
        env: {
          ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
          KUBERNETES_EXEC_INFO: JSON.stringify(info),
        },
        signal: late.signal,
      });
    } catch (cause) {
      if (late.signal.aborted) throw this.#error(`it did not end within ${patience / 1000} s`, cause);
      throw this.#error(cause instanceof Error ? cause.message : String(cause), cause);
    }
    if (output.code !== 0) {
      throw this.#error(`it ended with ${output.code}: ${output.stderr.trim().slice(-500) || "no message"}`);
    }
    this.#read(output.stdout);
  }

  #read(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw this.#error("what it wrote is no JSON", cause);
    }
    const parsed = execCredential.safeParse(value);
    if (!parsed.success) {
      throw this.#error(`what it wrote is no ExecCredential: ${z.prettifyError(parsed.error)}`);
    }
    const { apiVersion, status } = parsed.data;
    if (apiVersion !== this.#config.apiVersion) {
      throw this.#error(`it answered in ${apiVersion}, not in ${this.#config.apiVersion}`);
    }
    const { token, clientCertificateData: cert, clientKeyData: key } = status;
    if (Boolean(cert) !== Boolean(key)) throw this.#error("it gave just one of certificate and key");
    if (!token && !cert) throw this.#error("it gave neither a token nor a certificate");
    this.#status = { ...(token ? { token } : {}), ...(cert && key ? { cert, key } : {}) };
    this.#expires = status.expirationTimestamp ? Date.parse(status.expirationTimestamp) : Infinity;
    if (Number.isNaN(this.#expires)) {
      throw this.#error(`its expirationTimestamp "${status.expirationTimestamp}" is no time`);
    }
  }

  #error(why: string, cause?: unknown): ConfigError {
    const { command, installHint } = this.#config;
    const hint = installHint ? `\n${installHint.trim()}` : "";
    return new ConfigError(
      `Cannot get credentials for ${this.#options.name} from the plugin "${command}": ${why}${hint}`,
      cause === undefined ? {} : { cause },
    );
  }
}
