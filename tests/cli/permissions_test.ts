/**
 * What commands may do once they run, whatever they were granted.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { unneededBy } from "../../cli/permissions.ts";
import { gatehouse, root, run, succeed } from "../support/command.ts";

Deno.test("every command says what it can do without", async () => {
  const help = await succeed(gatehouse("--help"));
  const names = [...help.matchAll(/^ {2}([a-z-]+) .*?\S/gm)].map(([, name]) => name!)
    .filter((name) => !["gatehouse", "help"].includes(name));
  assertEquals(names.length, 12);
  for (const name of names) assertEquals(unneededBy(name, {}).includes("ffi"), true, name);
});

Deno.test("plugins of a kubeconfig may be run, but not in a cluster", () => {
  const runs = (command: string, options: Parameters<typeof unneededBy>[1]) =>
    !unneededBy(command, options).includes("run");
  assertEquals([runs("operator", {}), runs("operator", { kubeconfig: "a" })], [false, true]);
  assertEquals([runs("uninstall", { inCluster: true }), runs("uninstall", {})], [false, true]);
  assertEquals([runs("status", {}), runs("translate", {})], [true, false]);
});

Deno.test("a command has given up what it does not need before it begins", async () => {
  // It reads a file, and by then the rest is gone.
  const script = `
    import { run } from ${JSON.stringify(`${root}cli/program.ts`)};
    const names = ["read", "net", "run", "write", "ffi"];
    const io = {
      out() {}, err() {}, env: {}, read: async () => {
        const states = await Promise.all(names.map((name) => Deno.permissions.query({ name })));
        console.log(names.filter((_, i) => states[i].state === "granted").join());
        return "";
      },
    };
    await run(["translate", "-"], io);
  `;
  const { out, err } = await run([Deno.execPath(), "eval", "--quiet", script], { cwd: root });
  assertMatch(out, /^read\n/, err);
});
