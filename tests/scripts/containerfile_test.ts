/** What cannot be built here is at least of one mind with what is installed, tested and documented. */
import { assert, assertEquals } from "@std/assert";
import { parse } from "yaml";
import { root } from "../support/command.ts";

const read = (file: string): Promise<string> => Deno.readTextFile(root + file);

Deno.test("containerfile: the image that is documented is the one that is installed, and no stranger's", async () => {
  const { image } = parse(await read("deploy/helm/gatehouse/values.yaml"));
  const { appVersion } = parse(await read("deploy/helm/gatehouse/Chart.yaml"));
  const name = `${image.repository}:${appVersion}`;
  assert(
    name.startsWith("localhost/"),
    "a name without a registry is one on Docker Hub, and anybody's there",
  );
  for (const file of ["README.md", "docs/on-a-cluster.md", "deploy/Containerfile"]) {
    const tags = [...(await read(file)).matchAll(/podman build .*?-t (\S+)/g)].map(([, tag]) => tag);
    assert(tags.length > 0, file);
    assertEquals(tags.filter((tag) => tag !== name), [], file);
  }
});

Deno.test("containerfile: no builder is handed what belongs to this machine", async () => {
  // The one name that Docker reads; Podman and Buildah do, too.
  const left = (await read(".dockerignore")).trim().split("\n");
  for (const line of (await read(".gitignore")).trim().split("\n")) {
    assert(left.includes(line.replaceAll(/^\/|\/$/g, "")), `${line} is in no commit, and in no image`);
  }
  assert(left.includes(".git"));
});

Deno.test("containerfile: both images run with the same rights, and Deno in the version of the tests", async () => {
  const text = (await read("deploy/Containerfile")).replaceAll("\\\n", " ");
  const flags = (line: RegExp) => {
    const [, words = ""] = line.exec(text) ?? [];
    return words.split(/[\s"[\],]+/).filter((word) => /^--(allow|deny|no-prompt)/.test(word)).toSorted();
  };
  const compiled = flags(/^RUN deno compile (.*)$/m);
  assertEquals(compiled, [
    "--allow-env",
    "--allow-net",
    "--allow-read=/var/run/secrets",
    "--allow-sys=hostname",
    "--no-prompt",
  ]);
  assertEquals(flags(/^ENTRYPOINT (.*"run".*)$/m), compiled);
  const [, deno] = /^ARG DENO=(.*)$/m.exec(text) ?? [];
  assertEquals(deno, /^deno_version=(.*)$/m.exec(await read(".ci/run"))![1]);
});

Deno.test("containerfile: V8 and malloc are set alike in both images, and alike wherever it runs without one", async () => {
  const text = await read("deploy/Containerfile"), { tasks } = JSON.parse(await read("deno.json"));
  const malloc = ["MALLOC_MMAP_THRESHOLD_=65536", "MALLOC_TRIM_THRESHOLD_=131072"];
  const [first, second, ...others] = [...text.matchAll(/^ENV (.*)$/gm)]
    .map(([, words = ""]) => words.match(/MALLOC\S+/g));
  assertEquals([first, second, others], [malloc, malloc, []]);
  for (const task of ["standalone", "gatehouse"]) {
    assertEquals(tasks[task].command.match(/MALLOC\S+/g), malloc, task);
  }
  const flags = (text: string) => [...text.matchAll(/--v8-flags=([^\s"]+)/g)].map(([, flags]) => flags);
  const [compiled, bundled, ...none] = flags(text);
  assert(compiled);
  assertEquals([bundled, none], [compiled, []]);
  const [standalone] = flags(tasks.standalone.command);
  assert(standalone);
  for (const task of ["gatehouse", "compile"]) {
    assertEquals(flags(tasks[task].command), [standalone], task);
  }
  const [, own = ""] = /^const memoryFlags = (.*?)\.join/ms.exec(await read("main.ts")) ?? [];
  assertEquals([...own.matchAll(/"(--[^"]+)"/g)].map(([, flag]) => flag).join(), standalone);
});
