/**
 * Ends processes that an earlier run left behind.
 *
 * Envoy has a session of its own, so that Ctrl-C in a terminal reaches only us and Envoy can drain. The price: if we
 * are killed, it lives on. A file tells the next run which process it was; the process's start time makes sure that the
 * number has not been given to another one since.
 *
 * @module
 */
import type { Clock } from "../../controllers/runtime/clock.ts";
import { capture } from "./capture.ts";

/** What tells a process apart from any other with the same number; `undefined` if there is no such process. */
export async function identify(pid: number): Promise<string | undefined> {
  if (Deno.build.os !== "linux") {
    const result = await capture(["ps"], ["-o", "lstart=", "-p", String(pid)]);
    if (!result.started) throw new Error(`Cannot look for process ${pid}: ${result.reason}`);
    return result.stdout.trim() || undefined;
  }
  // Not by reading the files ourselves: Deno gives /proc away only together with every other permission.
  const result = await capture(["cat"], ["/proc/sys/kernel/random/boot_id", `/proc/${pid}/stat`]);
  if (!result.started) throw new Error(`Cannot look for process ${pid}: ${result.reason}`);
  if (result.code !== 0) return undefined;
  const [boot = "", ...rest] = result.stdout.split("\n");
  const stat = rest.join("\n");
  // The program's name, in parentheses, may itself contain spaces and parentheses. See proc_pid_stat(5): the state is
  // field 3, the start time field 22, counted from boot. A zombie has ended.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : `${boot} ${fields[19]}`;
}

/** Prints what {@linkcode identify} says of the shell that it runs in. */
const identity = Deno.build.os === "linux"
  ? `
      read -r boot < /proc/sys/kernel/random/boot_id
      read -r stat < /proc/$$/stat
      start() { shift 21; echo "$1"; }
      echo "$boot $(start $stat)"`
  : `ps -o lstart= -p $$ | sed 's/^ *//; s/ *$//'`;

/**
 * The command that runs `command` in a process which first notes in a file that it is ours. It does so itself, and not
 * whoever starts it: that one may be killed at any moment, and what it has started must not be unknown to the next.
 */
export function claiming(
  file: string,
  command: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  const script = `
    set -eu
    note=$1
    shift
    (umask 077; printf '{"pid":%d,"identity":"%s"}\n' $$ "$(${identity})" > "$note.new")
    mv "$note.new" "$note"
    exec "$@"`;
  return ["/bin/sh", "-c", script, "sh", file, ...command];
}

/** Forgets what {@linkcode claiming} noted. */
export async function disclaim(file: string): Promise<void> {
  try {
    await Deno.remove(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** How long a process has to follow SIGTERM before SIGKILL, in milliseconds. */
const grace = 3_000;

/**
 * Ends the process that a file notes, with everything in its process group, if it still runs.
 *
 * @returns its number if there was one to end.
 */
export async function endStale(
  file: string,
  options: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<number | undefined> {
  const note = await readNote(file);
  if (!note) return undefined;
  const { clock, signal } = options;
  const alive = async () => await identify(note.pid) === note.identity;
  let ended: number | undefined;
  for (const how of ["SIGTERM", "SIGKILL"] as const) {
    if (!await alive()) break;
    ended = note.pid;
    signalGroup(note.pid, how);
    const deadline = clock.monotonic() + grace;
    while (clock.monotonic() < deadline && await alive()) await clock.sleep(50, signal ? { signal } : {});
  }
  if (await alive()) {
    throw new Error(`Cannot end process ${note.pid}, which "${file}" names: it survives SIGKILL`);
  }
  await disclaim(file);
  return ended;
}

/** Signals a process that leads a group, and the group. A process that has ended is no error. */
export function signalGroup(pid: number, how: "SIGTERM" | "SIGKILL"): void {
  try {
    Deno.kill(-pid, how);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function readNote(
  file: string,
): Promise<{ readonly pid: number; readonly identity: string } | undefined> {
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  try {
    const { pid, identity } = JSON.parse(text);
    // Not 1, 0 or a negative number: those would signal far more than one group.
    if (Number.isInteger(pid) && pid > 1 && typeof identity === "string") return { pid, identity };
  } catch {
    // An unreadable note names nobody.
  }
  return undefined;
}
