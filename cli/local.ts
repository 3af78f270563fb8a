/**
 * `gatehouse local`: the operator against any API server, with Envoys on this machine.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import { connect, type ConnectOptions } from "./connect.ts";
import type { Io } from "./io.ts";
import {
  contextOption,
  dataOption,
  kubeconfigOption,
  logFormatOption,
  logLevelOption,
  nodeOption,
  placeOf,
  type PlaceOptions,
  zoneOption,
} from "./options.ts";
import { openLog } from "./process_log.ts";
import { until } from "./until.ts";

interface Options extends ConnectOptions, PlaceOptions {
  readonly data: string;
  readonly addresses?: string;
  readonly envoy?: string;
  readonly concurrency?: number;
  readonly controllerName?: string;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly logFormat: "auto" | "text" | "json";
}

export function registerLocal(program: Command, io: Io): void {
  program.command("local")
    .description("Run the operator against an API server, with an Envoy on this machine for each Gateway")
    .addOption(kubeconfigOption()).addOption(contextOption()).addOption(dataOption())
    .option(
      "--addresses <pool>",
      "addresses that Gateways may have: a CIDR, or addresses separated by commas",
    )
    .option("--envoy <path>", "the Envoy to run; default: $ENVOY, PATH, then one that is fetched")
    .option("--concurrency <n>", "worker threads of each Envoy", count)
    .option("--controller-name <name>", "serve GatewayClasses with this controllerName instead of ours")
    .addOption(zoneOption()).addOption(nodeOption())
    .addOption(logLevelOption()).addOption(logFormatOption())
    .addHelpText(
      "after",
      `
Examples:
  gatehouse local --kubeconfig ~/.kube/config --context kind-dev
  gatehouse local --data /var/lib/gatehouse --addresses 192.168.7.0/24`,
    )
    .action(async (options: Options) => {
      const { findParts, startLocal } = await import("./local_operator.ts");
      const log = openLog(io, options);
      const { openDataDirectory } = await import("./data_directory.ts");
      const data = await openDataDirectory(options.data);
      const parts = await findParts(options, data, io);
      const kube = await connect(io, options, { component: "operator", log });
      await using local = await startLocal({
        ...parts,
        data,
        ...options.concurrency !== undefined && { concurrency: options.concurrency },
        config: {
          ...placeOf(options),
          ...options.controllerName !== undefined && { controllerName: options.controllerName },
        },
        kube,
        log,
        hurry: io.hurry,
      });
      await until(AbortSignal.any([io.signal, local.scope.signal]));
    });
}

/** More than any machine has processors; Envoy would take the number by its word. */
const mostThreads = 1024;

/** Parses a number of threads. */
export function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > mostThreads) {
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${mostThreads}.`);
  }
  return value;
}
