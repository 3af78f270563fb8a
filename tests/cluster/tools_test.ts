/** The programs of others that tests use do run. */
import { assertStringIncludes } from "@std/assert";
import { cacheDirectory } from "../../standalone/envoy/find.ts";
import { root, succeed } from "../support/command.ts";
import { helm, promtool } from "../tools/programs.ts";

const options = {
  cache: `${cacheDirectory((name) => Deno.env.get(name), `${root}.gatehouse`)}/cluster`,
  progress: (line: string) => Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`)),
};

Deno.test("tools: Helm lints a chart", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/Chart.yaml`, "apiVersion: v2\nname: a\nversion: 0.1.0\n");
  await Deno.writeTextFile(`${folder}/values.yaml`, "");
  await Deno.mkdir(`${folder}/templates`);
  assertStringIncludes(
    await succeed([await helm(options), "lint", folder], { env: { HOME: folder } }),
    "0 chart(s) failed",
  );
  await Deno.remove(folder, { recursive: true });
});

Deno.test("tools: promtool checks rules", async () => {
  const rules = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(rules, 'groups: [{ name: a, rules: [{ alert: A, expr: "up == 0" }] }]\n');
  assertStringIncludes(await succeed([await promtool(options), "check", "rules", rules]), "1 rules found");
  await Deno.remove(rules);
});
