/**
 * The commands of `gatehouse`. Each lives in a file of its own and loads what it needs only when it runs, so that `--help`
 * and `version` answer at once and touch nothing.
 *
 * @module
 */
import { Command, CommanderError } from "commander";
import { ConnectionError, KubeError } from "../kube/errors.ts";
import { Interrupted, type Io, UsageError } from "./io.ts";
import { dropPermissions, unneededBy } from "./permissions.ts";
import { painter } from "./style.ts";
import { registerApiserver } from "./apiserver.ts";
import { registerCompletion } from "./completion.ts";
import { registerEcho } from "./echo.ts";
import { registerExpose } from "./expose.ts";
import { registerLocal } from "./local.ts";
import { registerOperator } from "./operator.ts";
import { registerRemoveFinalizers } from "./remove_finalizers.ts";
import { registerStandalone } from "./standalone.ts";
import { registerStatus } from "./status.ts";
import { registerTranslate } from "./translate.ts";
import { registerUninstall } from "./uninstall.ts";
import { registerVersion } from "./version.ts";

/** Builds the tree of commands. */
export function program(io: Io): Command {
  const gatehouse = new Command("gatehouse")
    .description("A Kubernetes Gateway API operator that programs Envoy.")
    .addHelpText(
      "after",
      `
Examples:
  gatehouse standalone                          a gateway on this machine, no cluster needed
  gatehouse expose web --port 80 --to 127.0.0.1:3000
  gatehouse status                              every object, its conditions, every proxy
  gatehouse translate gateway.yaml route.yaml   what would be served, offline`,
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text.trimEnd()),
      getOutHasColors: () => io.outIsTerminal,
      getErrHasColors: () => io.errIsTerminal,
    })
    .helpCommand(true)
    .hook("preAction", (_, command) => dropPermissions(unneededBy(command.name(), command.opts())))
    .showHelpAfterError("(run with --help for usage)");
  for (
    const register of [
      registerStandalone,
      registerStatus,
      registerTranslate,
      registerExpose,
      registerLocal,
      registerOperator,
      registerApiserver,
      registerRemoveFinalizers,
      registerUninstall,
      registerEcho,
      registerCompletion,
      registerVersion,
    ]
  ) register(gatehouse, io);
  for (const command of gatehouse.commands) {
    command.copyInheritedSettings(gatehouse);
  }
  return gatehouse;
}

/** Runs one command line. Resolves with the exit status: 0 success, 1 failure, 2 wrong usage, 128 + n ended by signal n. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const paint = painter(io.errIsTerminal, io.env);
  try {
    await program(io).parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Interrupted) {
      return { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 }[error.by];
    }
    io.err(paint("red", "error: ") + explain(error));
    return error instanceof UsageError ? error.status : 1;
  }
}

/** What a user or the API server has to do with in its own words; anything else with its causes and where it happened. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof KubeError) return error.message;
  if (error instanceof ConnectionError) {
    const hint = /refused/i.test(error.message) ? "; does it run? `gatehouse standalone` starts one" : "";
    return error.message + hint;
  }
  const lines = [error instanceof UsageError ? error.message : error.stack ?? error.message];
  for (
    let cause = error.cause;
    cause !== undefined;
    cause = cause instanceof Error ? cause.cause : undefined
  ) {
    lines.push(`  caused by: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  return lines.join("\n");
}
