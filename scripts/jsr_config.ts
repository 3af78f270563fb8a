/**
 * Writes `deno.jsr.json`: the configuration of a machine that reaches JSR, where the real packages take the place of the
 * stand-ins. `--check` compares instead of writing.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a script that talks to people

/** What both configurations share, so that they cannot drift apart. */
const shared = [
  "name",
  "version",
  "exports",
  "license",
  "nodeModulesDir",
  "imports",
  "compilerOptions",
  "test",
  "exclude",
];

/** The text of `deno.jsr.json` for that of `deno.json`. */
export function jsrConfig(denoJson: string): string {
  const config: { readonly [key: string]: unknown } = JSON.parse(denoJson);
  const kept = Object.fromEntries(Object.entries(config).filter(([key]) => shared.includes(key)));
  return JSON.stringify({ ...kept, lock: false }, undefined, 2) + "\n";
}

if (import.meta.main) {
  const wanted = jsrConfig(await Deno.readTextFile("deno.json"));
  if (!Deno.args.includes("--check")) await Deno.writeTextFile("deno.jsr.json", wanted);
  else if (wanted !== await Deno.readTextFile("deno.jsr.json")) {
    console.error("deno.jsr.json is out of step with deno.json: run deno task jsr-config");
    Deno.exit(1);
  }
}
