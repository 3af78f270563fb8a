/**
 * One Envoy per Gateway.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { GatewayKey } from "../../controllers/ir/mod.ts";
import type { Clock } from "../../controllers/runtime/clock.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import type { Admin } from "./admin.ts";
import {
  type EnvoyOptions,
  EnvoyProcess,
  type EnvoyStatus,
  type RunDirectory,
  runDirectory,
  type StopOptions,
} from "./process.ts";
import { endStale } from "./stale.ts";

/** How the Envoy of one Gateway has to be run. */
export interface DesiredEnvoy {
  /** Its bootstrap configuration in JSON; another one, or other files, means a drain and a restart. */
  readonly bootstrap: string;
  /** More files that it names, by their paths below the Gateway's directory; kept whole by the fleet. */
  readonly files?: EnvoyOptions["files"];
}

export interface FleetOptions {
  /** The directory that holds a run directory for each Gateway; absolute, and locked by the caller. */
  readonly directory: string;
  readonly binary: EnvoyOptions["binary"];
  readonly concurrency?: number;
  readonly logLevel?: NonNullable<EnvoyOptions["logLevel"]>;
  /** How long a drain may take, in milliseconds. */
  readonly drainDeadline?: number;
  /** Awaited before an Envoy that has died is started again. */
  restarting?(gateway: GatewayKey): Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Where the Envoy of a Gateway keeps its files, below the fleet's directory. */
export function gatewayDirectory(directory: string, gateway: GatewayKey): RunDirectory {
  return runDirectory(`${directory}/${slug(gateway)}`);
}

/**
 * Keeps one Envoy running for each desired Gateway. What is desired may change at any time, also while an Envoy drains:
 * it converges on what was desired last, one step at a time for each Gateway, all Gateways at once.
 */
export class Fleet implements AsyncDisposable {
  readonly #options: FleetOptions;
  readonly #members = new Map<GatewayKey, Member>();
  readonly #listeners = new Set<(gateway: GatewayKey) => void>();
  #closed = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
  }

  /**
   * Ends whatever an earlier run left behind in the directory, whether still desired or not.
   *
   * @throws {RangeError} if the directory's path is too long for Unix sockets in it.
   */
  static async open(options: FleetOptions): Promise<Fleet> {
    const { directory, clock, log } = options;
    const problem = pathProblem(directory);
    if (problem) throw new RangeError(`Cannot run Envoy in "${directory}": ${problem}`);
    await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    const names: string[] = [];
    for await (const entry of Deno.readDir(directory)) if (entry.isDirectory) names.push(entry.name);
    await Promise.all(names.map(async (name) => {
      const pid = await endStale(runDirectory(`${directory}/${name}`).note, { clock });
      if (pid !== undefined) {
        log.warn("Ended an Envoy that an earlier run left behind", { pid, directory: name });
      }
    }));
    return new Fleet(options);
  }

  /** Says which Envoys there have to be from now on. */
  sync(desired: ReadonlyMap<GatewayKey, DesiredEnvoy>): void {
    if (this.#closed) throw new Error("Cannot change a fleet that has been stopped");
    for (const [gateway, member] of this.#members) if (!desired.has(gateway)) member.want(undefined);
    for (const [gateway, envoy] of desired) this.#member(gateway).want(envoy);
  }

  /** The state of every Envoy that there is or has to be, those that still drain included. */
  statuses(): ReadonlyMap<GatewayKey, EnvoyStatus> {
    return new Map(
      [...this.#members].flatMap(([gateway, { process }]) => process ? [[gateway, process.status]] : []),
    );
  }

  status(gateway: GatewayKey): EnvoyStatus | undefined {
    return this.#members.get(gateway)?.process?.status;
  }

  /** The admin interface of a Gateway's Envoy, while it has a process. */
  admin(gateway: GatewayKey): Admin | undefined {
    return this.#members.get(gateway)?.process?.admin;
  }

  /** Calls `listener` whenever the state of an Envoy changes, until disposed of. */
  onChange(listener: (gateway: GatewayKey) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Drains and ends all of them. */
  async stop(options: StopOptions = {}): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#members.values()].map((member) => member.end(options)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #member(gateway: GatewayKey): Member {
    let member = this.#members.get(gateway);
    if (!member) {
      member = new Member(gateway, this.#options, {
        changed: () => this.#notify(gateway),
        gone: () => {
          this.#members.delete(gateway);
          this.#notify(gateway);
        },
      });
      this.#members.set(gateway, member);
    }
    return member;
  }

  #notify(gateway: GatewayKey): void {
    for (const listener of this.#listeners) listener(gateway);
  }
}

/** Brings the Envoy of one Gateway to what is wanted of it. */
class Member {
  readonly #gateway: GatewayKey;
  readonly #options: FleetOptions;
  readonly #events: { changed(): void; gone(): void };
  #process: EnvoyProcess | undefined;
  #wanted: DesiredEnvoy | undefined;
  #converging: Promise<void> | undefined;
  #busy = false;
  #closed = false;

  constructor(gateway: GatewayKey, options: FleetOptions, events: { changed(): void; gone(): void }) {
    this.#gateway = gateway;
    this.#options = options;
    this.#events = events;
  }

  get process(): EnvoyProcess | undefined {
    return this.#process;
  }

  want(envoy: DesiredEnvoy | undefined): void {
    this.#wanted = envoy;
    if (!this.#busy) this.#converging = this.#converge();
  }

  /** For good: the files stay for the next run. */
  async end(options: StopOptions): Promise<void> {
    this.#closed = true;
    this.#wanted = undefined;
    const { drainDeadline } = this.#options;
    await this.#process?.stop({
      ...(drainDeadline === undefined ? {} : { deadline: drainDeadline }),
      ...options,
    });
    await this.#converging;
  }

  /** Takes one step after the other until nothing is left to do, whatever is wanted meanwhile. */
  async #converge(): Promise<void> {
    const { drainDeadline } = this.#options;
    this.#busy = true;
    try {
      for (let done = false; !done;) {
        const wanted = this.#wanted;
        if (this.#process && !(wanted && this.#process.runsWith(wanted.bootstrap, wanted.files))) {
          await this.#process.stop(drainDeadline === undefined ? {} : { deadline: drainDeadline });
          this.#process = undefined;
          if (!this.#wanted && !this.#closed) await this.#clean();
        } else if (!this.#process && wanted) {
          this.#process = this.#start(wanted);
        } else done = true;
      }
    } finally {
      // Nothing is awaited since the last look at what is wanted.
      this.#busy = false;
    }
    if (!this.#wanted && !this.#closed) this.#events.gone();
  }

  async #clean(): Promise<void> {
    const { path } = gatewayDirectory(this.#options.directory, this.#gateway);
    try {
      await Deno.remove(path, { recursive: true });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      this.#options.log.warn("Cannot remove the directory of an Envoy that is gone", { path, error });
    }
  }

  #start(wanted: DesiredEnvoy): EnvoyProcess {
    const { directory, binary, concurrency, logLevel, clock, log } = this.#options;
    return new EnvoyProcess({
      name: `Gateway "${this.#gateway}"`,
      binary,
      bootstrap: wanted.bootstrap,
      ...(wanted.files ? { files: wanted.files } : {}),
      directory: gatewayDirectory(directory, this.#gateway),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(logLevel === undefined ? {} : { logLevel }),
      clock,
      log,
      restarting: async () => await this.#options.restarting?.(this.#gateway),
      onChange: () => this.#events.changed(),
    });
  }
}

/** The longest name that {@linkcode slug} makes. */
const longestSlug = 24;

/** A short name for a directory, since the paths of sockets are limited; different for different Gateways. */
function slug(gateway: GatewayKey): string {
  // Neither part can contain an underscore, nor can a shortened name be as short as one that is not.
  const plain = gateway.replace("/", "_");
  if (plain.length < longestSlug) return plain;
  const hash = createHash("sha256").update(gateway).digest("hex");
  return `${plain.slice(0, longestSlug - 9)}_${hash.slice(0, 8)}`;
}

/**
 * Why Envoys cannot live below a directory: Unix sockets have room for a path of 107 bytes on Linux and 103 elsewhere, and Envoy
 * would only crash.
 */
export function pathProblem(directory: string): string | undefined {
  const most = Deno.build.os === "linux" ? 107 : 103;
  const longest = runDirectory(`${directory}/${"x".repeat(longestSlug)}`).adminSocket;
  const excess = new TextEncoder().encode(longest).length - most;
  return excess > 0 ? `the path is ${excess} bytes too long for Unix sockets in it` : undefined;
}
