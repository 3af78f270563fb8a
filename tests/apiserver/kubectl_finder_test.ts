/** Which kubectl the tests take. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  clusterMinors,
  findKubectl,
  kubernetesVersion,
  type Minors,
  standaloneMinors,
} from "../tools/kubectl.ts";

async function fake(folder: string, version: string): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  const path = `${folder}/kubectl`;
  const answer = JSON.stringify({ clientVersion: { gitVersion: `v${version}` } });
  await Deno.writeTextFile(path, `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
  return path;
}

Deno.test("kubectl: the named one, else one on PATH of a version that will do, else one that is built", async () => {
  const root = await Deno.makeTempDir();
  const old = await fake(`${root}/old`, "1.31.9");
  const good = await fake(`${root}/good`, "1.33.1-dispatcher");
  await Deno.mkdir(`${root}/broken`);
  await Deno.writeTextFile(`${root}/broken/kubectl`, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const said: string[] = [];
  const find = (env: Record<string, string>, minors: Minors = standaloneMinors) =>
    findKubectl({
      env: (name) => env[name],
      minors,
      progress: (line) => said.push(line),
      build: () => Promise.resolve("/built"),
    });

  const path = [`${root}/none`, `${root}/broken`, `${root}/old`, `${root}/good`].join(":");
  assertEquals(await find({ PATH: path }), good);
  assertStringIncludes(said.join("\n"), `kubectl 1.31.9 is not 1.32 or later: ${old}`);
  assertEquals(await find({ PATH: path, KUBECTL: old }), old, "who names one gets that one");
  await assertRejects(() => find({ KUBECTL: `${root}/none/kubectl` }), Error, "Cannot run kubectl");
  assertEquals(await find({ PATH: `${root}/old` }), "/built");

  // https://kubernetes.io/releases/version-skew-policy/#kubectl
  const server = Number(kubernetesVersion.split(".")[1]);
  for (const minor of [-2, -1, 0, 1, 2].map((skew) => server + skew)) {
    const there = await fake(`${root}/${minor}`, `1.${minor}.0`), near = Math.abs(minor - server) <= 1;
    assertEquals(await find({ PATH: `${root}/${minor}` }, clusterMinors), near ? there : "/built");
  }
  await Deno.remove(root, { recursive: true });
});

Deno.test("kubectl: who finds none and cannot build one hears what to do", async () => {
  const build = () => Promise.reject(new Error("no Go"));
  const found = findKubectl({ env: () => undefined, minors: clusterMinors, progress: () => {}, build });
  const { message } = await assertRejects(() => found, Error);
  assertStringIncludes(
    message,
    `install kubectl 1.${clusterMinors.from} to 1.${clusterMinors.to}, or set $KUBECTL`,
  );
});

Deno.test("kubectl: the one that is built is of the test cluster's version", async () => {
  const goMod = (module: string) => Deno.readTextFile(new URL(`../${module}/go.mod`, import.meta.url));
  const kubernetes = /^\tk8s\.io\/kubernetes v(\S+)$/m.exec(await goMod("cluster/lab"));
  assertEquals(kubernetes?.[1], kubernetesVersion);
  // Its libraries have the version 0.37.2 where Kubernetes has 1.37.2.
  const kubectl = /^require k8s\.io\/kubectl v0(\S+)$/m.exec(await goMod("tools/kubectl"));
  assertEquals(`1${kubectl?.[1]}`, kubernetesVersion);
});
