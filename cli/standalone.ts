/**
 * `gatehouse standalone`: everything on this machine, with one command.
 *
 * @module
 */
import { type Command, Option } from "commander";
import { systemClock } from "../controllers/runtime/clock.ts";
import type { Io } from "./io.ts";
import { UsageError } from "./io.ts";
import { count } from "./local.ts";
import {
  dataOption,
  defaultData,
  logFormatOption,
  logLevelOption,
  nodeOption,
  placeOf,
  type PlaceOptions,
  port,
  repeated,
  zoneOption,
} from "./options.ts";
import { openLog } from "./process_log.ts";
import { painter, shellWord } from "./style.ts";
import { until } from "./until.ts";

interface Options extends PlaceOptions {
  readonly data: string;
  readonly apply?: readonly string[];
  readonly apiPort: number;
  readonly addresses?: string;
  readonly envoy?: string;
  readonly concurrency?: number;
  readonly channel: "standard" | "experimental";
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly logFormat: "auto" | "text" | "json";
}

export function registerStandalone(program: Command, io: Io): void {
  program.command("standalone")
    .description("Run a gateway on this machine: an API server, the operator, an Envoy for each Gateway")
    .addOption(dataOption())
    .option("--apply <path>", "apply these manifests instead of the example; may be repeated", repeated)
    .option("--api-port <port>", "port of the API server; 0 lets the system choose", port, 6443)
    .option(
      "--addresses <pool>",
      "addresses that Gateways may have: a CIDR, or addresses separated by commas",
    )
    .option("--envoy <path>", "the Envoy to run; default: $ENVOY, PATH, then one that is fetched")
    .option("--concurrency <n>", "worker threads of each Envoy", count, 2)
    .addOption(
      new Option("--channel <channel>", "channel of the Gateway API to serve")
        .choices(["standard", "experimental"]).default("experimental"),
    )
    .addOption(zoneOption()).addOption(nodeOption())
    .addOption(logLevelOption().default("warn")).addOption(logFormatOption())
    .addHelpText(
      "after",
      `
The first start writes an example: a Gateway, a route, an echo backend. What is written stays in --data and is there again after
the next start. Ctrl-C lets requests finish and stops everything; a second one does not wait.

Examples:
  gatehouse standalone
  gatehouse standalone --apply manifests/ --addresses 127.0.2.0/24
  gatehouse standalone --data /var/lib/gatehouse --api-port 16443`,
    )
    .action(async (options: Options) => {
      const { openDataDirectory } = await import("./data_directory.ts");
      const { connect } = await import("./connect.ts");
      const { applyFirst, startEcho } = await import("./example.ts");
      const { ApiProcess } = await import("./api_process.ts");
      const { Readiness } = await import("./readiness.ts");
      const log = openLog(io, options), paint = painter(io.outIsTerminal, io.env);

      const data = await openDataDirectory(options.data);
      // The API server starts while the rest of the program is read.
      await using stack = new AsyncDisposableStack();
      const starting = ApiProcess.start({ ...options, data, clock: systemClock, io })
        .then((process) => stack.use(process));
      const reading = import("./local_operator.ts").then(async ({ findParts, startLocal }) => ({
        parts: await findParts(options, data, io),
        startLocal,
      }));
      await Promise.allSettled([starting, reading]);
      const { parts, startLocal } = await reading, api = await starting;
      const kube = await connect(io, { kubeconfig: api.kubeconfig }, { component: "standalone", log });
      await applyFirst(kube, { data, paths: options.apply ?? [], io });
      await using _echo = await startEcho(kube, { log, signal: io.signal });
      const readiness = new Readiness();
      await using local = await startLocal({
        ...parts,
        data,
        ...options.concurrency !== undefined && { concurrency: options.concurrency },
        config: placeOf(options),
        kube,
        log,
        hurry: io.hurry,
        settled: (operator) => readiness.settled(operator),
      });
      const stop = AbortSignal.any([io.signal, local.scope.signal, api.ended]);
      await readiness.reached(local.operator, { signal: stop, progress: (line) => io.err(line) });
      if (!stop.aborted) {
        const where = options.data === defaultData ? "" : ` --data ${shellWord(options.data)}`;
        const status = `${io.invocation} status${where}`;
        io.out(readiness.describe(local.operator, { kubeconfig: api.kubeconfig, status, paint }));
      }
      await until(stop);
      if (!io.signal.aborted) {
        if (local.scope.signal.aborted) await local.scope.join();
        throw new UsageError(`The API server cannot be started again: ${api.lastWords}`, { status: 1 });
      }
      io.err("stopping: letting requests finish");
    });
}
