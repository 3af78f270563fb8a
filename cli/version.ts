/**
 * `gatehouse version`.
 *
 * @module
 */
import type { Command } from "commander";
import manifest from "../deno.json" with { type: "json" };
import type { Io } from "./io.ts";
import { outputOption } from "./options.ts";

/** This program's version. */
export const version: string = manifest.version;

/** What this build is made for. Checked against real parts by the tests. */
export const supported = {
  gatewayApi: "1.4 to 1.7",
  envoy: "1.37 to 1.40",
} as const;

export function registerVersion(program: Command, io: Io): void {
  program.command("version")
    .description("Print the version and what it works with")
    .addOption(outputOption("text", "json"))
    .addHelpText("after", "\nExamples:\n  gatehouse version\n  gatehouse version -o json")
    .action((options: { readonly output: string }) => {
      const facts = { version, ...supported, deno: Deno.version.deno };
      io.out(
        options.output === "json"
          ? JSON.stringify(facts, null, 2) + "\n"
          : `gatehouse ${version} (Gateway API ${supported.gatewayApi}, Envoy ${supported.envoy}, Deno ${facts.deno})\n`,
      );
    });
}
