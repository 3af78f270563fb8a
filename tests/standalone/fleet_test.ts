/**
 * One Envoy per Gateway, whatever is wanted and when.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { silentLog } from "../../controllers/runtime/log.ts";
import { Fleet, type FleetOptions, gatewayDirectory } from "../../standalone/envoy/fleet.ts";
import { identify } from "../../standalone/envoy/stale.ts";
import { envoyBinaryForTests } from "./envoy_for_tests.ts";
import { scratch, staticBootstrap } from "./support.ts";
import { freePort } from "../support/free_port.ts";

async function openFleet(directory: string, options: Partial<FleetOptions> = {}): Promise<Fleet> {
  return await Fleet.open({
    directory,
    binary: await envoyBinaryForTests(),
    concurrency: 1,
    drainDeadline: 0,
    clock: systemClock,
    log: silentLog,
    ...options,
  });
}

function wanting(directory: string, gateways: { readonly [gateway: string]: number }) {
  return new Map(
    Object.entries(gateways).map(([gateway, port]) => {
      const { adminSocket } = gatewayDirectory(directory, gateway);
      return [gateway, { bootstrap: staticBootstrap({ adminSocket, port }) }];
    }),
  );
}

/** Resolves once `condition` holds, looking again whenever the fleet changes. */
async function until(fleet: Fleet, condition: () => boolean): Promise<void> {
  while (!condition()) {
    const changed = Promise.withResolvers<void>();
    using _listening = fleet.onChange(() => changed.resolve());
    if (!condition()) await changed.promise;
  }
}

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

const running = (fleet: Fleet, gateway: string) => () => fleet.status(gateway)?.state === "running";

Deno.test("fleet: Gateways come and go, others do not notice", async () => {
  await using folder = await scratch();
  await using fleet = await openFleet(folder.path);
  const [a, b] = [freePort(), freePort()];
  fleet.sync(wanting(folder.path, { "default/a": a }));
  await until(fleet, running(fleet, "default/a"));
  const { pid } = fleet.status("default/a")!;
  fleet.sync(wanting(folder.path, { "default/a": a, "default/b": b }));
  await until(fleet, running(fleet, "default/b"));
  assertEquals([await get(a), await get(b)], [200, 200]);
  assertEquals(fleet.status("default/a")!.pid, pid);
  assertEquals(await fleet.admin("default/b")!.ready(), true);

  const gone = fleet.status("default/b")!.pid!;
  fleet.sync(wanting(folder.path, { "default/a": a }));
  await until(fleet, () => !fleet.statuses().has("default/b"));
  assertEquals(await identify(gone), undefined);
  const { path } = gatewayDirectory(folder.path, "default/b");
  assertEquals(await Deno.stat(path).catch((error) => error.name), "NotFound");
  assertEquals(fleet.status("default/a")!.pid, pid);
});

Deno.test("fleet: another bootstrap means another process, the same one does not", async () => {
  await using folder = await scratch();
  await using fleet = await openFleet(folder.path);
  const [first, second] = [freePort(), freePort()];
  fleet.sync(wanting(folder.path, { "default/web": first }));
  await until(fleet, running(fleet, "default/web"));
  const { pid } = fleet.status("default/web")!;
  fleet.sync(wanting(folder.path, { "default/web": first }));
  assertEquals(fleet.status("default/web")!.pid, pid);
  fleet.sync(wanting(folder.path, { "default/web": second }));
  await until(fleet, () => running(fleet, "default/web")() && fleet.status("default/web")!.pid !== pid);
  assertEquals(await get(second), 200);
  assertEquals(await identify(pid!), undefined);
});

Deno.test("fleet: files are written before each start, and other files mean another process", async () => {
  await using folder = await scratch();
  await using fleet = await openFleet(folder.path);
  const [[gateway, { bootstrap }]] = [...wanting(folder.path, { "default/web": freePort() })] as [
    [string, { bootstrap: string }],
  ];
  const { path } = gatewayDirectory(folder.path, gateway);
  const file = `${path}/certificates/tls.crt`;
  const want = (text: string) =>
    fleet.sync(new Map([[gateway, { bootstrap, files: { "certificates/tls.crt": text } }]]));
  want("one");
  await until(fleet, running(fleet, gateway));
  const { pid } = fleet.status(gateway)!;
  assertEquals(await Deno.readTextFile(file), "one");
  assertEquals((await Deno.stat(file)).mode! & 0o077, 0);
  await Deno.remove(path, { recursive: true });
  want("one");
  assertEquals(fleet.status(gateway)!.pid, pid);
  Deno.kill(pid!, "SIGKILL");
  await until(fleet, () => running(fleet, gateway)() && fleet.status(gateway)!.pid !== pid);
  assertEquals(await Deno.readTextFile(file), "one");
  want("two");
  await until(fleet, () => fleet.status(gateway)!.state !== "running");
  await until(fleet, running(fleet, gateway));
  assertEquals(await Deno.readTextFile(file), "two");
});

Deno.test("fleet: what was wanted last counts, however fast it changes", async () => {
  await using folder = await scratch();
  await using fleet = await openFleet(folder.path);
  const ports = Array.from({ length: 5 }, () => freePort());
  for (const port of ports) {
    fleet.sync(wanting(folder.path, { "default/web": port }));
    fleet.sync(new Map());
  }
  fleet.sync(wanting(folder.path, { "default/web": ports[4]! }));
  await until(fleet, running(fleet, "default/web"));
  assertEquals(await get(ports[4]!), 200);
  fleet.sync(new Map());
  await until(fleet, () => fleet.statuses().size === 0);
});

Deno.test("fleet: stop leaves no process, keeps the files, and takes no more wishes", async () => {
  await using folder = await scratch();
  const fleet = await openFleet(folder.path, { drainDeadline: 5_000 });
  fleet.sync(wanting(folder.path, { "default/a": freePort(), "default/b": freePort() }));
  await until(fleet, () => [...fleet.statuses().values()].every(({ state }) => state === "running"));
  const pids = [...fleet.statuses().values()].map(({ pid }) => pid!);
  assertEquals(pids.length, 2);
  await fleet.stop();
  for (const pid of pids) assertEquals(await identify(pid), undefined);
  assert((await Deno.stat(gatewayDirectory(folder.path, "default/a").log)).size > 0);
  assertThrows(() => fleet.sync(new Map()), Error, "stopped");
});

Deno.test("fleet: Envoys that a killed run left behind are ended, those of deleted Gateways too", async () => {
  await using folder = await scratch();
  // A run that is killed: another process that starts Envoys and is gone without a word.
  const port = freePort();
  const program = `
    import { Fleet } from ${JSON.stringify(import.meta.resolve("../../standalone/envoy/fleet.ts"))};
    import { systemClock } from ${JSON.stringify(import.meta.resolve("../../controllers/runtime/clock.ts"))};
    import { silentLog } from ${JSON.stringify(import.meta.resolve("../../controllers/runtime/log.ts"))};
    const { binary, directory, desired } = JSON.parse(Deno.args[0]);
    const fleet = await Fleet.open({ directory, binary, concurrency: 1, clock: systemClock, log: silentLog });
    fleet.onChange((gateway) => {
      const { state, pid } = fleet.status(gateway);
      if (state === "running") console.log(pid);
    });
    fleet.sync(new Map(desired));
    await new Promise(() => setInterval(() => {}, 1000));
  `;
  const file = `${folder.path}/run.ts`;
  await Deno.writeTextFile(file, program);
  const directory = `${folder.path}/envoy`;
  const desired = [...wanting(directory, { "default/gone": port })];
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const run = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--config",
      config,
      file,
      JSON.stringify({ binary: await envoyBinaryForTests(), directory, desired }),
    ],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = run.stdout.getReader();
  const pid = Number(new TextDecoder().decode((await reader.read()).value));
  run.kill("SIGKILL");
  await run.status;
  await reader.cancel();
  assert(await identify(pid) !== undefined, "Envoy outlives its parent");
  assertEquals(await get(port), 200);

  await using fleet = await openFleet(directory);
  assertEquals(await identify(pid), undefined);
  assertEquals(fleet.statuses().size, 0);
  Deno.listen({ hostname: "127.0.0.1", port }).close();
});

Deno.test("fleet: directories are short, and different for different Gateways", () => {
  const name = (gateway: string) => gatewayDirectory("/d", gateway).path.slice(3);
  assertEquals(name("default/web"), "default_web");
  const long = ["a".repeat(63), "b".repeat(253)].join("/");
  const gateways = [
    "default/web",
    "default-web/x",
    long,
    `${long.slice(0, -1)}c`,
    "a/b-c",
    "a-b/c",
    "0123456789/0123456789ab",
    "0123456789/0123456789abc",
  ];
  const names = gateways.map(name);
  assertEquals(new Set(names).size, gateways.length);
  for (const name of names) assert(/^[a-z0-9._-]{1,24}$/.test(name), name);
});

Deno.test("fleet: a path that is too long for sockets is refused at once", async () => {
  const error = await openFleet(`/tmp/${"x".repeat(80)}`).catch((error) => error);
  assert(error instanceof RangeError);
  assert(
    /too long for Unix sockets in it/.test(error.message),
    error.message,
  );
});
