/**
 * Verifies in one go what a machine without JSR and the releases of Deno cannot: that the real packages fit, that an executable
 * can be made of them, and that traffic flows through it. A step runs whatever else has failed, unless it needs what that
 * one makes.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people

interface Step {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** The step that makes what this one tries. */
  readonly needs?: string;
}

const config = "--config=deno.jsr.json";
const steps: readonly Step[] = [
  { name: "types against the packages from JSR", args: ["check", config, "main.ts", "tests/", "scripts/"] },
  { name: "tests against the packages from JSR", args: ["run", "--allow-all", "scripts/test.ts", config] },
  { name: "compile", args: ["task", "compile"] },
  {
    name: "first traffic through the executable",
    args: ["test", "--allow-all", "tests/e2e/first_traffic_test.ts"],
    env: { GATEHOUSE: `${Deno.cwd()}/build/gatehouse` },
    needs: "compile",
  },
];

const results: string[] = [], failed: string[] = [];
for (const { name, args, env = {}, needs } of steps) {
  if (needs !== undefined && failed.includes(needs)) {
    failed.push(name);
    results.push(`NOT VERIFIED  ${name} (not tried, since it needs: ${needs})`);
    continue;
  }
  console.log(`\n# ${name}: deno ${args.join(" ")}`);
  const { success } = await new Deno.Command(Deno.execPath(), { args: [...args], env }).spawn().status;
  if (!success) failed.push(name);
  results.push(`${success ? "verified    " : "NOT VERIFIED"}  ${name}`);
}
console.log(`\n${results.join("\n")}`);
Deno.exit(failed.length > 0 ? 1 : 0);
