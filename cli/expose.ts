/**
 * `gatehouse expose`: make a server that runs outside of Kubernetes a Service that routes can name.
 *
 * @module
 */
import type { Command } from "commander";
import { stringify } from "yaml";
import { kindOf } from "../crds/mod.ts";
import { connect } from "./connect.ts";
import type { Io } from "./io.ts";
import { UsageError } from "./io.ts";
import { contextOption, dataOption, kubeconfigOption, port } from "./options.ts";
import { write } from "./write.ts";

interface Options {
  readonly port: number;
  readonly to: readonly string[];
  readonly namespace: string;
  readonly dryRun?: boolean;
  readonly data: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function registerExpose(program: Command, io: Io): void {
  program.command("expose")
    .description("Write a Service and an EndpointSlice for a server that runs elsewhere")
    .argument("<name>", "name of the Service")
    .requiredOption("--port <port>", "port of the Service", port)
    .requiredOption("--to <address:port...>", "where the server listens; several share the traffic")
    .option("-n, --namespace <namespace>", "namespace of the Service", "default")
    .option("--dry-run", "print the objects instead of writing them")
    .addOption(dataOption()).addOption(kubeconfigOption()).addOption(contextOption())
    .addHelpText(
      "after",
      `
Examples:
  gatehouse expose web --port 80 --to 127.0.0.1:3000
  gatehouse expose web --port 80 --to 10.0.0.5:3000 --to 10.0.0.6:3000 -n shop
  gatehouse expose web --port 80 --to 127.0.0.1:3000 --dry-run | kubectl apply -f -`,
    )
    .action(async (name: string, options: Options) => {
      const { exposeManifests } = await import("../standalone/expose.ts");
      const result = exposeManifests(name, options);
      if ("error" in result) throw new UsageError(result.error);
      if (options.dryRun) {
        io.out(result.objects.map((object) => stringify(object)).join("---\n"));
        return;
      }
      const kube = await connect(io, options);
      for (const object of result.objects) {
        const [group] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : [""];
        const kind = kindOf(group!, object.kind)!;
        io.out(`${kind.singular}/${object.metadata.name} ${await write(kube, kind, object, io.signal)}\n`);
      }
    });
}
