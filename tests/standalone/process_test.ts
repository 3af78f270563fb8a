/**
 * What becomes of an Envoy that is killed, hangs, cannot be started, was left behind, or is told to stop.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { EnvoyProcess, runDirectory } from "../../standalone/envoy/process.ts";
import { claiming, endStale, identify } from "../../standalone/envoy/stale.ts";
import { envoyBinaryForTests } from "./envoy_for_tests.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { scratch, script, startEnvoy, staticBootstrap, WatchedEnvoy } from "./support.ts";
import { freePort } from "../support/free_port.ts";

async function get(port: number): Promise<number> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  try {
    const response = await fetch(`http://127.0.0.1:${port}/`, { client });
    await response.body?.cancel();
    return response.status;
  } finally {
    client.close();
  }
}

Deno.test("process: Envoy serves, and its files are its owner's alone", async () => {
  await using folder = await scratch();
  await using envoy = await startEnvoy(`${folder.path}/web`);
  const status = await envoy.until(({ state }) => state === "running");
  assertEquals(status.restarts, 0);
  assertEquals(await get(envoy.port), 200);
  const { directory } = envoy;
  for (const file of [directory.bootstrap, directory.adminSocket, directory.log, directory.note]) {
    assertEquals((await Deno.stat(file)).mode! & 0o077, 0, file);
  }
  assertEquals(JSON.parse(await Deno.readTextFile(directory.note)), {
    pid: status.pid,
    identity: await identify(status.pid!),
  });
  const { version, state } = await envoy.process.admin.serverInfo();
  assertStringIncludes(version, status.version);
  assertEquals(state, "LIVE");
});

Deno.test("process: a killed Envoy is started again", async () => {
  await using folder = await scratch();
  await using envoy = await startEnvoy(`${folder.path}/web`);
  const first = await envoy.until(({ state }) => state === "running");
  Deno.kill(first.pid!, "SIGKILL");
  const backoff = await envoy.until(({ state }) => state === "backoff");
  assertEquals(backoff.lastExit?.signal, "SIGKILL");
  assertEquals(backoff.lastExit?.reason, "killed by SIGKILL");
  assertStringIncludes(backoff.lastExit!.log.join("\n"), "starting main dispatch loop");
  assertEquals("pid" in backoff, false);
  const second = await envoy.until(({ state }) => state === "running", envoy.seen.indexOf(backoff));
  assertEquals(second.restarts, 1);
  assert(second.pid !== first.pid);
  assertEquals(await get(envoy.port), 200);
});

Deno.test("process: an Envoy that refuses its bootstrap is tried again and says why", async () => {
  await using folder = await scratch();
  const path = `${folder.path}/web`;
  const { adminSocket } = runDirectory(path);
  const bootstrap = staticBootstrap({ adminSocket, port: 70_000 });
  await using good = await startEnvoy(`${folder.path}/good`);
  await using bad = new WatchedEnvoy(path, await envoyBinaryForTests(), bootstrap);
  const { lastExit } = await bad.until(({ restarts }) => restarts === 2);
  assertEquals(lastExit?.code, 1);
  assertMatch(lastExit!.reason, /^exit code 1: [A-Z].*SocketAddressValidationError.PortValue/);
  await good.until(({ state }) => state === "running");
});

Deno.test("process: what cannot be executed is tried again", async () => {
  await using folder = await scratch();
  const binary = { path: `${folder.path}/absent`, version: "1.40.0" };
  await using envoy = new WatchedEnvoy(`${folder.path}/web`, binary, "{}");
  const { lastExit } = await envoy.until(({ restarts }) => restarts === 1);
  assertMatch(lastExit!.reason, /^exit code 127: .*absent: .*not found/);
  assertEquals(lastExit!.code, 127);
});

Deno.test("process: stop leaves no process, no note, and nobody listening", async () => {
  await using folder = await scratch();
  const envoy = await startEnvoy(`${folder.path}/web`);
  const { pid } = await envoy.until(({ state }) => state === "running");
  await envoy.process.stop();
  assertEquals(await identify(pid!), undefined);
  assertEquals(envoy.process.status.state, "stopped");
  assertEquals(envoy.seen.map(({ state }) => state), ["starting", "running", "draining", "stopped"]);
  assertEquals(await Deno.stat(envoy.directory.note).catch((e) => e instanceof Deno.errors.NotFound), true);
  Deno.listen({ hostname: "127.0.0.1", port: envoy.port }).close();
});

Deno.test("process: stop while it starts, and while it waits to restart", async () => {
  await using folder = await scratch();
  const starting = await startEnvoy(`${folder.path}/a`);
  await starting.process.stop();
  assertEquals(starting.process.status.state, "stopped");

  const waiting = await startEnvoy(`${folder.path}/b`);
  const { pid } = await waiting.until(({ state }) => state === "running");
  Deno.kill(pid!, "SIGKILL");
  await waiting.until(({ state }) => state === "backoff");
  await waiting.process.stop();
  assertEquals(waiting.process.status.state, "stopped");
  assertEquals(waiting.seen.filter(({ state }) => state === "starting").length, 1);
});

Deno.test("process: an Envoy that hangs is killed when nobody wants to wait any longer", async () => {
  await using folder = await scratch();
  const envoy = await startEnvoy(`${folder.path}/web`);
  const { pid } = await envoy.until(({ state }) => state === "running");
  Deno.kill(pid!, "SIGSTOP");
  const impatience = new AbortController();
  const stopped = envoy.process.stop({ deadline: 600_000 });
  await envoy.until(({ state }) => state === "draining");
  // As a second Ctrl-C does.
  const again = envoy.process.stop({ signal: impatience.signal });
  impatience.abort();
  await Promise.all([stopped, again]);
  assertEquals(await identify(pid!), undefined);
});

Deno.test("process: one that an earlier run left behind is ended first", async () => {
  await using folder = await scratch();
  const path = `${folder.path}/web`;
  const directory = runDirectory(path);
  await Deno.mkdir(path);
  // A process that does not even follow SIGTERM, as a run that was killed would leave it.
  const left = new Deno.Command("sh", {
    args: ["-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"],
    stdin: "null",
    stdout: "piped",
    detached: true,
  }).spawn();
  const reader = left.stdout.getReader();
  await reader.read();
  const identity = await identify(left.pid);
  assert(identity !== undefined);
  await Deno.writeTextFile(directory.note, JSON.stringify({ pid: left.pid, identity }));
  await using envoy = await startEnvoy(path);
  await envoy.until(({ state }) => state === "running");
  assertEquals((await left.status).signal, "SIGKILL");
  await reader.cancel();
});

Deno.test("process: it is known before it does anything, whatever becomes of who started it", async () => {
  await using folder = await scratch();
  const path = `${folder.path}/web`, note = runDirectory(path).note;
  await Deno.mkdir(path);
  // What has been started and nothing more: nobody has looked at it since.
  const [program, ...args] = claiming(note, ["/bin/sh", "-c", 'cat "$0"; exec sleep 600', note]);
  const child = new Deno.Command(program, { args, stdin: "null", stdout: "piped", detached: true }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  assertEquals(JSON.parse(new TextDecoder().decode(value)), {
    pid: child.pid,
    identity: await identify(child.pid),
  });
  assertEquals((await Deno.stat(note)).mode! & 0o077, 0);
  assertEquals(await endStale(note, { clock: systemClock }), child.pid);
  assertEquals((await child.status).signal, "SIGTERM");
  await reader.cancel();
});

Deno.test("process: a process that only has the number of one of ours is left alone", async () => {
  await using folder = await scratch();
  const path = `${folder.path}/web`;
  await Deno.mkdir(path);
  const other = new Deno.Command("sleep", { args: ["60"], stdin: "null", detached: true }).spawn();
  for (
    const note of [
      JSON.stringify({ pid: other.pid, identity: "another time" }),
      '{"pid":1}',
      "{",
      '{"pid":-1,"identity":""}',
    ]
  ) {
    await Deno.writeTextFile(runDirectory(path).note, note);
    await using envoy = await startEnvoy(path);
    await envoy.until(({ state }) => state === "running");
    assert(await identify(other.pid) !== undefined);
  }
  other.kill("SIGKILL");
  await other.status;
});

Deno.test("process: what a wrapper script has started ends with it", async () => {
  await using folder = await scratch();
  const { path, version } = await envoyBinaryForTests();
  const wrapper = await script(`${folder.path}/envoy`, `"${path}" "$@" & wait`);
  const directory = `${folder.path}/web`;
  const port = freePort();
  const bootstrap = staticBootstrap({ adminSocket: runDirectory(directory).adminSocket, port });
  const envoy = new WatchedEnvoy(directory, { path: wrapper, version }, bootstrap);
  const { pid } = await envoy.until(({ state }) => state === "running");
  Deno.kill(pid!, "SIGKILL");
  await envoy.until(({ state, restarts }) => state === "running" && restarts === 1);
  assertEquals(await get(port), 200);
  await envoy.process.stop();
  Deno.listen({ hostname: "127.0.0.1", port }).close();
});

Deno.test("process: Envoy is out of reach of a terminal's Ctrl-C", async () => {
  await using folder = await scratch();
  await using envoy = await startEnvoy(`${folder.path}/web`);
  const { pid } = await envoy.until(({ state }) => state === "running");
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "pgid=", "-p", String(pid)] }).output();
  assertEquals(new TextDecoder().decode(stdout).trim(), String(pid));
});

Deno.test("process: the output of a talkative Envoy is kept apart, in files of bounded size", async () => {
  await using folder = await scratch();
  // 25 MB on both outputs, then the end.
  const talker = await script(
    `${folder.path}/envoy`,
    `head -c 12500000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; head -c 12500000 /dev/zero | tr '\\0' 'y' | fold -w 100 >&2; echo >&2
     echo '[2026-01-01 00:00:00.000][1][critical][main] [source/a.cc:1] last words' >&2; exit 3`,
  );
  const path = `${folder.path}/web`;
  const envoy = new WatchedEnvoy(path, { path: talker, version: "1.40.0" }, "{}");
  const { lastExit } = await envoy.until(({ state }) => state === "backoff");
  await envoy.process.stop();
  assertEquals(lastExit?.reason, "exit code 3: last words");
  assertEquals(lastExit?.log.length, 20);
  const { log } = envoy.directory;
  for (const file of [log, `${log}.1`]) {
    const { size } = await Deno.stat(file);
    assert(size > 0 && size < 10_200_000, `${file}: ${size}`);
  }
});

/** Resolves once `condition` holds, after whatever real I/O that takes. */
async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

Deno.test("process: restarts come later each time, up to half a minute, until it has lived for a minute", async () => {
  await using folder = await scratch();
  const clock = new FakeClock();
  const seen: string[] = [];
  const directory = runDirectory(`${folder.path}/web`);
  const marker = `${folder.path}/live`;
  const binary = await script(`${folder.path}/envoy`, `test -e ${marker} && exec sleep 600; exit 1`);
  const process = new EnvoyProcess({
    name: "test",
    binary: { path: binary, version: "1.40.0" },
    bootstrap: "{}",
    directory,
    clock,
    log: silentLog,
    onChange: ({ state }) => void seen.push(state),
  });
  const attempts = () => seen.filter((state) => state === "starting").length;
  for (const wait of [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    await eventually(() => process.status.state === "backoff");
    assertEquals(clock.next, wait);
    const before = attempts();
    await clock.advance(wait);
    await eventually(() => attempts() === before + 1);
  }
  await eventually(() => process.status.state === "backoff");
  await Deno.writeTextFile(marker, "");
  await clock.advance(30_000);
  await eventually(() => process.status.pid !== undefined && process.status.state === "starting");
  await clock.advance(60_000);
  Deno.kill(process.status.pid!, "SIGKILL");
  await eventually(() => process.status.state === "backoff");
  assertEquals(clock.next, 250);
  await process.stop();
});
