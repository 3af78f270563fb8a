/**
 * The image that people build holds, byte for byte, what the tests in a cluster run.
 *
 * @module
 */
import { assert, assertStringIncludes } from "@std/assert";
import { root, succeed } from "../support/command.ts";
import { tools } from "./support/helm.ts";
import { allImages } from "./support/images.ts";

Deno.test("the bundle is the same, wherever it is made", async () => {
  const containerfile = await Deno.readTextFile(`${root}deploy/Containerfile`);
  assertStringIncludes(containerfile, "\nRUN deno task bundle ");
  // As COPY does it: the tree elsewhere, without what no builder is handed.
  const elsewhere = await Deno.makeTempDir({ prefix: "gatehouse-bundle-" });
  try {
    const entries = (await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name);
    const left = (await Deno.readTextFile(`${root}.dockerignore`)).trim().split("\n");
    const copied = entries.filter((name) => !left.includes(name));
    await succeed(["cp", "--recursive", ...copied.map((name) => root + name), elsewhere]);
    const path = `${Deno.execPath().replace(/\/[^/]*$/, "")}:/usr/bin:/bin`;
    await succeed([Deno.execPath(), "task", "--quiet", "bundle"], {
      cwd: elsewhere,
      env: { PATH: path, HOME: Deno.env.get("HOME") ?? elsewhere, NO_COLOR: "1" },
    });
    const made = await Deno.readFile(`${elsewhere}/build/gatehouse.js`);
    const { "localhost/gatehouse": image } = await allImages(tools);
    const [layer] = image!.layers, run = await Deno.readFile(layer! + image!.entrypoint.at(-1)!);
    assert(made.length > 100_000);
    assert(!new TextDecoder().decode(made).includes("../../"), "nothing in it tells of this machine");
    assert(made.length === run.length && made.every((byte, i) => byte === run[i]), "the bytes differ");
  } finally {
    await Deno.remove(elsewhere, { recursive: true });
  }
});
