import { assert, assertEquals } from "@std/assert";
import { jsrConfig } from "../../scripts/jsr_config.ts";
import { olderWheels } from "../../scripts/envoys.ts";
import { packagesOf } from "../../scripts/notices.ts";
import { count, run } from "../../scripts/test.ts";
import { pinnedVersion, supported } from "../../standalone/envoy/version.ts";
import { root, succeed } from "../support/command.ts";

Deno.test("scripts: deno.jsr.json is deno.json without the links", async () => {
  const text = await Deno.readTextFile(`${root}deno.json`);
  assertEquals(await Deno.readTextFile(`${root}deno.jsr.json`), jsrConfig(text), "run deno task jsr-config");
  const config = JSON.parse(jsrConfig(text));
  assertEquals([config.links, config.lock, config.imports], [undefined, false, JSON.parse(text).imports]);
});

Deno.test("scripts: every minor version of Envoy that is said to work is tested", () => {
  const minors = [...olderWheels.map(({ version }) => version), pinnedVersion]
    .map((version) => Number(version.split(".")[1]));
  const { from, to } = supported;
  assertEquals(minors, Array.from({ length: to - from + 1 }, (_, i) => from + i));
});

Deno.test("scripts: counts what JUnit reports, whatever the tests print", () => {
  const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="5" failures="2" errors="0" time="0.028">
    <testsuite name="./x_test.ts" tests="5" disabled="1" errors="0" failures="2">
        <testcase name="ok" classname="./x_test.ts" time="0.000" line="1" col="6">
        </testcase>
        <testcase name="short"/>
        <testcase name="bad &lt;failure" classname="./x_test.ts" time="0.001" line="2" col="6">
            <failure message="Uncaught Error: &lt;/testcase&gt;">Error: &lt;/testcase&gt;
    at file:///x_test.ts:2:42</failure>
        </testcase>
        <testcase name="not now" classname="./x_test.ts" time="0.000" line="3" col="11">
            <skipped/>
        </testcase>
        <testcase name="steps &gt; two" classname="./x_test.ts" time="0.000" line="4" col="74">
            <error message="x">y</error>
        </testcase>
    </testsuite>
</testsuites>`;
  assertEquals(count(report), { passed: 2, failed: 2, ignored: 1 });
  assertEquals(count(""), { passed: 0, failed: 0, ignored: 0 });
});

Deno.test("scripts: a stage that takes too long ends with all that it has started", async () => {
  const folder = await Deno.makeTempDir(), alive = `${folder}/alive`;
  await succeed(["mkfifo", alive]);
  // In a group of their own, as Envoys are. Until the last of them has gone the pipe has no end.
  const script = 'exec 3>"$0"; sleep 600 & echo $$ >&3; wait';
  await Deno.writeTextFile(
    `${folder}/hanging_test.ts`,
    `Deno.test("hangs", async () => {
      const args = ["-c", ${JSON.stringify(script)}, ${JSON.stringify(alive)}];
      await new Deno.Command("sh", { args, detached: true }).spawn().status;
    });`,
  );
  const limit = new AbortController();
  const stage = { name: "hanging", args: ["--no-check", `${folder}/hanging_test.ts`] };
  const ran = run(stage, {}, folder, limit.signal);
  const reader = (await Deno.open(alive)).readable.pipeThrough(new TextDecoderStream()).getReader();
  const pid = Number((await reader.read()).value);
  limit.abort();
  const { passed, failed } = await ran;
  assertEquals({ passed, failed }, { passed: 0, failed: 1 });
  let outlived = false;
  const timer = setTimeout(() => {
    outlived = true;
    Deno.kill(-pid, "SIGTERM");
  }, 10_000);
  assertEquals((await reader.read()).done, true);
  clearTimeout(timer);
  assertEquals(outlived, false, "something was left");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("scripts: the packages of a lock, each version once", () => {
  const npm = {
    "zod@4.6.7": {},
    "@scope/b@1.0.0_zod@4.6.7": {},
    "@scope/b@1.0.0": {},
    "a@2.0.0": {},
    "a@10.0.0": {},
  };
  assertEquals(packagesOf({ npm }).map(({ name, version }) => `${name} ${version}`), [
    "@scope/b 1.0.0",
    "a 10.0.0",
    "a 2.0.0",
    "zod 4.6.7",
  ]);
});

Deno.test("scripts: every dependency that is named is noticed", async () => {
  const { imports }: { readonly imports: { readonly [name: string]: string } } = JSON.parse(
    await Deno.readTextFile(`${root}deno.json`),
  );
  const notices = await Deno.readTextFile(`${root}THIRD_PARTY_NOTICES`);
  for (const name of Object.keys(imports)) {
    assert(notices.includes(`${name} `), `run deno task notices: ${name}`);
  }
});
