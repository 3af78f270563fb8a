/**
 * One Envoy as a child process: started, watched, restarted when it dies, drained before it is stopped.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import { equal } from "../../controllers/runtime/equal.ts";
import type { Log } from "../../controllers/runtime/log.ts";
import { linkSignals } from "../../controllers/runtime/signals.ts";
import { type Admin, adminClient } from "./admin.ts";
import { drain } from "./drain.ts";
import { LogFile } from "./log_file.ts";
import { claiming, disclaim, endStale, signalGroup } from "./stale.ts";

/** How a process ended. */
export interface EnvoyExit {
  readonly at: Date;
  /** Absent if it could not be started at all. */
  readonly code?: number;
  /** The signal that ended it, if one did. */
  readonly signal?: string;
  /** For people: `killed by SIGKILL`, `exit code 1: ` and the last words. */
  readonly reason: string;
  /** The last lines of its log, oldest first. */
  readonly log: readonly string[];
}

/** How an Envoy is. */
export interface EnvoyStatus {
  /** `starting` until Envoy has its first configuration, `backoff` while a restart is waited for. */
  readonly state: "starting" | "running" | "draining" | "backoff" | "stopped";
  /** As in `1.40.0`. */
  readonly version: string;
  /** Absent while there is no process. */
  readonly pid?: number;
  /** How often it had to be started again. */
  readonly restarts: number;
  readonly lastExit?: EnvoyExit;
}

/** The files of one Envoy. */
export interface RunDirectory {
  readonly path: string;
  readonly bootstrap: string;
  /** The admin interface's Unix socket; the bootstrap has to name it. */
  readonly adminSocket: string;
  readonly log: string;
  /** Says which process is ours. */
  readonly note: string;
}

/** The files of the Envoy that lives in the directory `path`, which must be absolute. */
export function runDirectory(path: string): RunDirectory {
  return {
    path,
    bootstrap: `${path}/bootstrap.json`,
    adminSocket: `${path}/admin.sock`,
    log: `${path}/envoy.log`,
    note: `${path}/pid.json`,
  };
}

export interface EnvoyOptions {
  /** Whom it serves, for messages: `Gateway "default/web"`. */
  readonly name: string;
  /** The executable and its version, as `findEnvoy` says them. */
  readonly binary: { readonly path: string; readonly version: string };
  /** The bootstrap configuration in JSON. Its admin address must be {@linkcode RunDirectory.adminSocket}. */
  readonly bootstrap: string;
  /** More files that the bootstrap names, by their paths below the directory. Written anew before each start. */
  readonly files?: { readonly [path: string]: string };
  readonly directory: RunDirectory;
  /** Worker threads; Envoy's own default is one per core. */
  readonly concurrency?: number;
  /** Envoy's own log level. */
  readonly logLevel?: "trace" | "debug" | "info" | "warning" | "error" | "critical" | "off";
  readonly clock: Clock;
  readonly log: Log;
  /** Awaited before the process is started again. */
  restarting?(): Promise<void>;
  /** Called whenever {@linkcode EnvoyProcess.status} changes. */
  onChange?(status: EnvoyStatus): void;
}

export interface StopOptions {
  /** How long draining may take, in milliseconds; 0 is not to drain at all. */
  readonly deadline?: number;
  /** Aborted once nobody wants to wait any longer: the process is then ended at once. */
  readonly signal?: AbortSignal;
}

/** A process that runs, or has just ended. */
interface Life {
  readonly child: Deno.ChildProcess;
  readonly pid: number;
  readonly ended: AbortSignal;
}

/** Restarts wait 250 ms, twice as long each time, at most half a minute; a minute of life makes it 250 ms again. */
const backoff = { first: 250, most: 30_000, healthy: 60_000 } as const;
const defaultDeadline = 10_000;
/** How long an Envoy has to follow SIGTERM before SIGKILL. */
const grace = 3_000;
/** 10 MB in the current log file and as much in the one before. */
const logLimit = 10_000_000;

/** Runs until {@linkcode EnvoyProcess.stop}, which `await using` calls. */
export class EnvoyProcess implements AsyncDisposable {
  readonly admin: Admin;
  readonly #options: EnvoyOptions;
  readonly #log: Log;
  readonly #stopping = new AbortController();
  readonly #file: LogFile;
  #status: EnvoyStatus;
  #life: Life | undefined;
  readonly #done: Promise<void>;
  readonly #hurry = new AbortController();
  #stopped: Promise<void> | undefined;

  /** Starts at once; a process that an earlier run left in the same directory is ended first. */
  constructor(options: EnvoyOptions) {
    const { directory, binary } = options;
    this.#options = options;
    this.#log = options.log.with({ envoy: options.name });
    this.admin = adminClient(directory.adminSocket);
    this.#status = { state: "starting", version: binary.version, restarts: 0 };
    this.#file = new LogFile({
      path: directory.log,
      limit: logLimit,
      remember: 20,
      onFailure: (error) => this.#log.warn("Cannot write Envoy's log", { path: directory.log, error }),
    });
    this.#done = this.#supervise();
  }

  get status(): EnvoyStatus {
    return this.#status;
  }

  /** Whether it runs with this bootstrap and these files. */
  runsWith(bootstrap: string, files: EnvoyOptions["files"]): boolean {
    return this.#options.bootstrap === bootstrap && equal(this.#options.files, files);
  }

  /**
   * Drains and ends the process, and resolves once nothing is left of it. A later call waits for the first; its signal
   * can still make that one hurry.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    const { deadline = defaultDeadline, signal } = options;
    const hurry = () => this.#hurry.abort(signal?.reason);
    if (signal?.aborted) hurry();
    signal?.addEventListener("abort", hurry, { once: true });
    this.#stopped ??= this.#stop(deadline);
    await this.#stopped;
    signal?.removeEventListener("abort", hurry);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #set(change: Partial<EnvoyStatus>, without?: "pid"): void {
    const status = { ...this.#status, ...change };
    if (without) delete (status as { pid?: number })[without];
    this.#status = status;
    this.#options.onChange?.(status);
  }

  async #supervise(): Promise<void> {
    const { clock } = this.#options;
    const signal = this.#stopping.signal;
    let delay: number = backoff.first;
    for (;;) {
      const began = clock.monotonic();
      const lastExit = await this.#run();
      if (signal.aborted) break;
      if (clock.monotonic() - began >= backoff.healthy) delay = backoff.first;
      this.#set({ state: "backoff", lastExit, restarts: this.#status.restarts + 1 }, "pid");
      this.#log.error(`Envoy ended: ${lastExit.reason}`, {
        log: this.#options.directory.log,
        restartsIn: delay,
      });
      try {
        await clock.sleep(delay, { signal });
      } catch {
        break;
      }
      await this.#options.restarting?.();
      delay = Math.min(delay * 2, backoff.most);
    }
    await this.#file[Symbol.asyncDispose]();
    this.#set({ state: "stopped" }, "pid");
  }

  /** One life of the process. Whatever keeps it from living is its end. */
  async #run(): Promise<EnvoyExit> {
    const { directory, clock } = this.#options;
    this.#file.forget();
    let life: Life | undefined;
    try {
      await Deno.mkdir(directory.path, { recursive: true, mode: 0o700 });
      const stale = await endStale(directory.note, { clock });
      if (stale !== undefined) {
        this.#log.warn("Ended an Envoy that an earlier run left behind", { pid: stale });
      }
      life = this.#life = await this.#spawn();
      const { child, pid, ended } = life;
      this.#set({ state: "starting", pid });
      const [status] = await Promise.all([
        child.status,
        this.#pump(child.stdout),
        this.#pump(child.stderr),
        this.#awaitReady(ended),
      ]);
      const log = this.#file.lastLines;
      return {
        at: clock.now(),
        code: status.code,
        ...(status.signal ? { signal: status.signal } : {}),
        reason: status.signal ? `killed by ${status.signal}` : `exit code ${status.code}${lastWords(log)}`,
        log,
      };
    } catch (error) {
      if (life) {
        signalGroup(life.pid, "SIGKILL");
        await life.child.status;
      }
      const reason = error instanceof Error ? error.message : String(error);
      return { at: clock.now(), reason: `cannot be started: ${reason}`, log: this.#file.lastLines };
    } finally {
      this.#life = undefined;
      await disclaim(directory.note);
    }
  }

  async #spawn(): Promise<Life> {
    const { binary, bootstrap, files = {}, directory, concurrency, logLevel = "info" } = this.#options;
    await Deno.writeTextFile(directory.bootstrap, bootstrap, { mode: 0o600 });
    for (const [name, text] of Object.entries(files)) {
      const path = `${directory.path}/${name}`;
      await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
      await Deno.writeTextFile(path, text, { mode: 0o600 });
    }
    await disclaim(directory.adminSocket);
    this.#stopping.signal.throwIfAborted();
    const [program, ...args] = claiming(directory.note, [
      binary.path,
      ...["--config-path", directory.bootstrap, "--disable-hot-restart", "--log-level", logLevel],
      // Every response of a draining listener ends its connection, not only a growing share of them.
      ...["--drain-strategy", "immediate", "--drain-time-s", "30"],
      // Lines of the access log wait for others no longer than this.
      ...["--file-flush-interval-msec", "1000"],
      ...(concurrency === undefined ? [] : ["--concurrency", String(concurrency)]),
    ]);
    const child = new Deno.Command(program, {
      args,
      cwd: directory.path,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      // Ctrl-C in a terminal goes to the whole foreground group, and Envoy must not follow it on its own.
      detached: true,
    }).spawn();
    const { pid } = child;
    const ended = new AbortController();
    child.status.then(() => {
      ended.abort(new Error("Envoy ended"));
      // If it was a script, what that started must not outlive it, nor keep our end of its output open.
      signalGroup(pid, "SIGKILL");
    });
    return { child, pid, ended: ended.signal };
  }

  async #pump(stream: ReadableStream<Uint8Array>): Promise<void> {
    const write = this.#file.stream();
    for await (const chunk of stream) await write(chunk);
  }

  async #awaitReady(ended: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      for (let wait = 20; !await this.admin.ready(ended); wait = Math.min(wait * 1.5, 250)) {
        await clock.sleep(wait, { signal: ended });
      }
    } catch (error) {
      if (ended.aborted) return;
      throw error;
    }
    if (this.#status.state === "starting" && !ended.aborted) this.#set({ state: "running" });
  }

  async #stop(deadline: number): Promise<void> {
    const life = this.#life;
    this.#stopping.abort(new Error("Envoy is being stopped"));
    if (life) {
      if (deadline > 0 && this.#status.state === "running") await this.#drain(life, deadline);
      await this.#end(life);
    }
    await this.#done;
  }

  async #drain(life: Life, deadline: number): Promise<void> {
    const { clock } = this.#options;
    this.#set({ state: "draining" });
    // An Envoy that hangs, or that dies meanwhile, must not hold us up.
    const late = new AbortController();
    using _timer = clock.timer(deadline + 1_000, () => late.abort(new Error("Envoy does not answer")));
    using linked = linkSignals(life.ended, late.signal, this.#hurry.signal);
    const { signal } = linked;
    try {
      const { clean, left } = await drain(this.admin, { clock, deadline, signal });
      if (!clean) {
        this.#log.warn("Cannot drain Envoy in time, what is under way is cut", { deadline, ...left });
      }
    } catch (error) {
      this.#log.warn("Cannot drain Envoy, what is under way is cut", { error });
    }
  }

  async #end({ child, pid }: Life): Promise<void> {
    const signal = this.#hurry.signal;
    const kill = () => signalGroup(pid, "SIGKILL");
    using _timer = this.#options.clock.timer(grace, kill);
    signal.addEventListener("abort", kill, { once: true });
    signalGroup(pid, signal.aborted ? "SIGKILL" : "SIGTERM");
    await child.status;
    signal.removeEventListener("abort", kill);
  }
}

/** The last thing in a log that is not about the daily round. */
function lastWords(log: readonly string[]): string {
  const line = log.findLast((line) =>
    line.trim() && !/^\[[^\]]*\]\[\d+\]\[(?:info|debug|trace)\]/.test(line)
  );
  return line ? `: ${line.replace(/^(?:\[[^\]]*\] ?)*[: ]*/, "")}` : "";
}
