/**
 * `gatehouse apiserver`: a Kubernetes-style API server for one machine.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { systemClock } from "../controllers/runtime/clock.ts";
import type { Io } from "./io.ts";
import { UsageError } from "./io.ts";
import { dataOption, logFormatOption, logLevelOption, port } from "./options.ts";
import { openLog } from "./process_log.ts";
import { until } from "./until.ts";

interface Options {
  readonly data: string;
  readonly port: number;
  readonly channel: "standard" | "experimental";
  readonly untilStdinEnds?: boolean;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly logFormat: "auto" | "text" | "json";
}

export function registerApiserver(program: Command, io: Io): void {
  program.command("apiserver")
    .description("Serve the Kubernetes API of a standalone gateway")
    .addOption(dataOption())
    .option("--port <port>", "port on 127.0.0.1; 0 lets the system choose", port, 6443)
    .addOption(
      new Option("--channel <channel>", "channel of the Gateway API to serve")
        .choices(["standard", "experimental"]).default("experimental"),
    )
    .addOption(new Option("--until-stdin-ends", "stop when standard input is closed").hideHelp())
    .addOption(logLevelOption()).addOption(logFormatOption())
    .addHelpText(
      "after",
      `
It listens on loopback only. The kubeconfig in the data directory holds the one client certificate that it trusts.

Examples:
  gatehouse apiserver --data .gatehouse --port 6443
  kubectl --kubeconfig .gatehouse/kubeconfig get namespaces`,
    )
    .action(async (options: Options) => {
      const [{ serveApi }, { typedModel }] = await Promise.all([
        import("../standalone/apiserver/serve.ts"),
        import("../standalone/apiserver/model.ts"),
      ]);
      const log = openLog(io, options);
      await using server = await serveApi({
        dataDir: options.data,
        port: options.port,
        channel: options.channel,
        model: typedModel(),
        clock: systemClock,
        log,
      }).catch((error) => {
        throw explained(error, options.port);
      });
      io.out(`API server listens on ${server.url}\n`);
      io.out(`  export KUBECONFIG=${server.kubeconfig}\n`);
      const parent = options.untilStdinEnds ? [io.stdinEnds()] : [];
      await until(io.signal, Promise.race([server.join(), ...parent]));
    });
}

/** What keeps the server from starting, where that is for the user to change. */
function explained(error: Error & { readonly code?: string }, port: number): Error {
  const refusal = (reason: string) =>
    new UsageError(
      `Cannot listen on 127.0.0.1:${port}: ${reason}; choose another port (apiserver --port, standalone --api-port)`,
      { status: 1 },
    );
  if (["DataError", "WriteError"].includes(error.name)) return new UsageError(error.message, { status: 1 });
  if (error.code === "EADDRINUSE") return refusal("another process does");
  if (error.code === "EACCES") return refusal("it may not be bound without privileges");
  return error;
}
