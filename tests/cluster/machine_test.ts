/** What is said of a machine that lacks what the test cluster needs. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { prepareMachine } from "./support/machine.ts";

const programs = { go: "golang-go", nft: "nftables", ip: "iproute2", nsenter: "util-linux", ldd: "libc-bin" };

/** A folder for PATH with these shell scripts. */
async function folderOf(scripts: { readonly [name: string]: string }): Promise<string> {
  const folder = await Deno.makeTempDir();
  for (const [name, script] of Object.entries(scripts)) {
    await Deno.writeTextFile(`${folder}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return folder;
}

const others = { nft: "", ip: "", nsenter: "", ldd: "" };

async function problemOf(path: string): Promise<string> {
  const said: string[] = [];
  const { message } = await assertRejects(() => prepareMachine((line) => said.push(line), path), Error);
  return [...said, message].join("\n");
}

Deno.test("machine: where there is nothing, not even apt, all is named that has to be installed", async () => {
  assertEquals(
    await problemOf(""),
    `The test cluster needs ${Object.keys(programs).join(", ")} (Debian: ${
      Object.values(programs).join(", ")
    })`,
  );
});

Deno.test("machine: what is missing is installed with apt, and told if it is missing still", async () => {
  const folder = await folderOf({ ...others, "apt-get": `echo "$@" >>"\${0%/*}/asked"` });
  assertEquals(
    await problemOf(folder),
    "installing golang-go with apt\nThe test cluster needs go (Debian: golang-go)",
  );
  assertEquals(
    await Deno.readTextFile(`${folder}/asked`),
    "update -qq\ninstall -y -qq --no-install-recommends golang-go\n",
  );
  await Deno.remove(folder, { recursive: true });
});

Deno.test("machine: a Go that neither builds the cluster nor fetches one that does is refused, with what to do", async () => {
  // What 1.19 says, Debian 12's.
  const words = "go.mod:3: invalid go version '1.26.0': must match format 1.23";
  const folder = await folderOf({
    ...others,
    go: `[ "$1" != env ] || { echo go1.19.8; exit; }\necho "${words}" >&2\nexit 1`,
  });
  const problem = await problemOf(folder);
  for (const part of [`${folder}/go is go1.19.8`, "Install Go 1.26.0 or later", "GOTOOLCHAIN=local", words]) {
    assertStringIncludes(problem, part);
  }
  await Deno.writeTextFile(`${folder}/go`, "#!/bin/sh\necho gatehouse.dev/lab\n");
  await prepareMachine(() => {}, folder);
  await Deno.remove(folder, { recursive: true });
});
