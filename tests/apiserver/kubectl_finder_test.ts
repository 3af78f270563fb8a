/** Which kubectl the tests take. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { findKubectl } from "../tools/kubectl.ts";

async function fake(folder: string, version: string): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  const path = `${folder}/kubectl`;
  const answer = JSON.stringify({ clientVersion: { gitVersion: `v${version}` } });
  await Deno.writeTextFile(path, `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
  return path;
}

Deno.test("kubectl: the named one, else one on PATH that is not too old, else the cached one", async () => {
  const root = await Deno.makeTempDir();
  const old = await fake(`${root}/old`, "1.31.9");
  const good = await fake(`${root}/good`, "1.33.1-dispatcher");
  await Deno.mkdir(`${root}/broken`);
  await Deno.writeTextFile(`${root}/broken/kubectl`, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const said: string[] = [];
  const find = (env: Record<string, string>) =>
    findKubectl({ env: (name) => env[name], progress: (line) => said.push(line) });

  const path = [`${root}/none`, `${root}/broken`, `${root}/old`, `${root}/good`].join(":");
  assertEquals(await find({ PATH: path }), good);
  assertStringIncludes(said.join("\n"), `kubectl 1.31.9 is too old: ${old}`);
  assertEquals(await find({ PATH: path, KUBECTL: old }), old, "who names one gets that one");
  await assertRejects(() => find({ KUBECTL: `${root}/none/kubectl` }), Error, "Cannot run kubectl");
  const cached = await fake(`${root}/cache/gatehouse`, "1.32.3");
  await Deno.rename(cached, `${root}/cache/gatehouse/kubectl-1.32.3`);
  assertEquals(
    await find({ PATH: `${root}/old`, XDG_CACHE_HOME: `${root}/cache` }),
    `${root}/cache/gatehouse/kubectl-1.32.3`,
  );
  await Deno.remove(root, { recursive: true });
});
